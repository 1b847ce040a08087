//===- Assumptions.cpp - What is taken for granted about inputs
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Driver/Assumptions.h"

#include "mpopt/Adjoint/Loss.h"
#include "mpopt/Dialect/MaskUse.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"
#include "mpopt/Report/Keys.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace mpopt;

static constexpr Interval kDefaultBound = {-10, 10};
static constexpr double kDefaultMean = 0, kDefaultStd = 1;

// A bound alone says no more than that: uniform on it, or the default where an
// end is infinite.
static void setUniform(Assumption &assumption) {
  auto [lo, hi] = assumption.bound;
  if (std::isinf(lo) || std::isinf(hi)) {
    assumption.mean = kDefaultMean;
    assumption.std = kDefaultStd;
    return;
  }
  assumption.mean = lo / 2 + hi / 2;
  assumption.std = (hi / 2 - lo / 2) / std::sqrt(3.0);
}

// The assumption that the model itself implies for an integer input.
static Assumption assumeInteger(BlockArgument input) {
  IntegerInput described = describeInteger(input);
  Assumption assumption{getInputName(input), described.bound, NAN, NAN, "model",
                        described.why};
  if (described.expected) {
    Interval declared = std::exchange(assumption.bound, *described.expected);
    setUniform(assumption);
    assumption.bound = declared;
  }
  return assumption;
}

// A float that only a mask can be.
static std::optional<Assumption> assumeMask(BlockArgument input) {
  std::optional<std::string> use = findMaskUse(input);
  if (!use)
    return std::nullopt;
  return Assumption{getInputName(input), {0, 1}, 1, 0, "model", *use};
}

// True if the model's own assumption of the input is that it is a mask.
static bool isMask(BlockArgument input) {
  return isa<FloatType>(getElementType(input)) ? findMaskUse(input).has_value()
                                               : describeInteger(input).isMask;
}

static Assumption assume(StringRef name, const InputRange *range,
                         const std::optional<Interval> &assumed) {
  Assumption assumption{name.str(),  kDefaultBound, kDefaultMean,
                        kDefaultStd, "default",     ""};
  if (assumed) {
    assumption.bound = *assumed;
    assumption.source = "option";
    setUniform(assumption);
  }
  if (!range)
    return assumption;
  assumption.source = range->fromData     ? "data"
                      : range->fromConfig ? "config"
                                          : "option";
  assumption.byElement = range->elements != nullptr;
  if (range->bound) {
    assumption.bound = *range->bound;
    setUniform(assumption);
  }
  if (range->mean) {
    assumption.mean = *range->mean;
    assumption.std = *range->std;
  }
  return assumption;
}

// As NumPy has it. An input whose rank is open takes no array.
static bool broadcastsTo(ArrayRef<int64_t> bounds, const MaybeShape &input) {
  if (!input || bounds.size() > input->size())
    return false;
  ArrayRef<int64_t> dims = ArrayRef(*input).take_back(bounds.size());
  return llvm::all_of(llvm::zip(bounds, dims), [](auto pair) {
    auto [bound, dim] = pair;
    return bound == 1 || dim < 0 || bound == dim;
  });
}

// One value of the input, or several: with one axis more in front, or one
// behind the other in the first axis.
static bool isSampleOf(ArrayRef<int64_t> sample, const MaybeShape &input) {
  if (!input)
    return true;
  if (sample.size() == input->size() + 1)
    sample = sample.drop_front();
  if (sample.size() != input->size())
    return false;
  for (auto [axis, given, dim] : llvm::enumerate(sample, *input))
    if (dim >= 0 && given != dim && (axis != 0 || dim == 0 || given % dim != 0))
      return false;
  return true;
}

static std::string printShape(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "(";
  llvm::interleaveComma(shape, os, [&](int64_t dim) {
    if (dim < 0)
      os << "?";
    else
      os << dim;
  });
  os << ")";
  return text;
}

// An error if the shapes of a file's bounds or sample contradict the input's.
static llvm::Error checkShapes(const InputRange &range, StringRef name,
                               const MaybeShape &input) {
  if (range.elements && !broadcastsTo(range.elements->shape, input))
    return llvm::createStringError("--input: the bounds for '" + name +
                                   "' do not broadcast to the input's shape");
  if (range.sample && !isSampleOf(*range.sample, input))
    return llvm::createStringError(
        "--input: the sample for '" + name + "' has the shape " +
        printShape(*range.sample) + ", the input " + printShape(*input));
  return llvm::Error::success();
}

/// Adds what is taken for granted of one input.
static llvm::Error assumeInput(BlockArgument input, const Options &options,
                               std::vector<Assumption> &assumptions) {
  std::string name = getInputName(input);
  auto range = options.inputs.find(name);
  bool named = range != options.inputs.end();
  Type type = getElementType(input);
  if (named)
    if (llvm::Error error = checkShapes(range->second, name, getShape(input)))
      return error;
  // How often classes are right does not say which there are.
  bool described = named && range->second.hasValues();
  std::optional<Assumption> mask;
  if (!described && !options.assumed && isa<FloatType>(type))
    mask = assumeMask(input);
  if (mask)
    assumptions.push_back(std::move(*mask));
  else if (described || isa<FloatType>(type))
    assumptions.push_back(
        assume(name, named ? &range->second : nullptr, options.assumed));
  else if (isa<IntegerType>(type))
    assumptions.push_back(assumeInteger(input));
  return llvm::Error::success();
}

llvm::Expected<std::vector<Assumption>>
mpopt::makeAssumptions(const Options &options, ModuleOp module) {
  std::vector<Assumption> assumptions;
  std::map<std::string, InputRange> unused = options.inputs;
  auto functions = module.getOps<func::FuncOp>();
  if (!functions.empty())
    for (BlockArgument input : (*functions.begin()).getArguments()) {
      unused.erase(getInputName(input));
      if (llvm::Error error = assumeInput(input, options, assumptions))
        return error;
    }
  // Others may be targets of a loss that is attached later.
  if (!unused.empty() && !options.train)
    return llvm::createStringError("--input: the model has no input '" +
                                   unused.begin()->first + "'");
  return assumptions;
}

/// The range that a loss implies for its target, where nothing is declared.
static void assumeByLoss(Assumption &assumption, StringRef loss) {
  if (assumption.source != "default")
    return;
  std::optional<LossKind> kind = findLossKind(loss);
  if (!kind)
    return;
  switch (*kind) {
  case LossKind::BceWithLogits:
  case LossKind::Focal:
  case LossKind::Kl:
    assumption.bound = {0, 1};
    return setUniform(assumption);
  case LossKind::Hinge:
    assumption.bound = {-1, 1};
    return setUniform(assumption);
  default:
    return;
  }
}

llvm::Expected<std::vector<Assumption>>
mpopt::makeTargetAssumptions(const Options &options, func::FuncOp function,
                             unsigned first) {
  std::vector<Assumption> assumptions;
  std::set<std::string> names;
  for (BlockArgument argument : function.getArguments()) {
    names.insert(getInputName(argument));
    if (argument.getArgNumber() < first)
      continue;
    size_t before = assumptions.size();
    if (llvm::Error error = assumeInput(argument, options, assumptions))
      return error;
    auto loss = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      kLossTargetAttr);
    if (loss && assumptions.size() > before)
      assumeByLoss(assumptions.back(), loss.getValue());
  }
  for (const auto &[name, range] : options.inputs)
    if (!range.fromConfig && !names.count(name))
      return llvm::createStringError(
          "--input: the model has no input, and its loss no target '" + name +
          "'");
  return assumptions;
}

void mpopt::setAssumptions(ArrayRef<Assumption> assumptions,
                           const std::map<std::string, InputRange> &inputs,
                           ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return;
  func::FuncOp function = *functions.begin();
  llvm::StringMap<const Assumption *> byName;
  for (const Assumption &assumption : assumptions)
    byName[assumption.input] = &assumption;
  Builder builder(module.getContext());
  // All at once: one by one would make as many lists of all.
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (BlockArgument input : function.getArguments()) {
    const Assumption *assumption = byName.lookup(getInputName(input));
    if (!assumption)
      continue;
    auto given = inputs.find(assumption->input);
    bool isGiven = given != inputs.end();
    bool hasShares =
        isGiven && (given->second.zipf || given->second.frequencies);
    // The analysis derives the model's own assumptions itself, but for masks:
    // passes rewrite what shows them.
    bool derived = assumption->source == "model";
    bool mask = derived && isMask(input);
    if (derived && !mask && (!hasShares || std::isnan(assumption->mean)))
      continue;
    SmallVector<NamedAttribute> entries;
    auto add = [&](StringRef key, Attribute value) {
      entries.push_back(builder.getNamedAttr(key, value));
    };
    add("lo", builder.getF64FloatAttr(assumption->bound.lo));
    add("hi", builder.getF64FloatAttr(assumption->bound.hi));
    add("source", builder.getStringAttr(derived ? StringRef("default")
                                                : assumption->source));
    if (mask)
      add(kMaskKey, builder.getUnitAttr());
    bool byElement = isGiven && given->second.elements;
    if (!byElement || given->second.mean) {
      add("mean", builder.getF64FloatAttr(assumption->mean));
      add(keys::kStd, builder.getF64FloatAttr(assumption->std));
    }
    if (byElement) {
      const ElementBounds &elements = *given->second.elements;
      auto type = RankedTensorType::get(elements.shape, builder.getF64Type());
      add("lo_elements",
          DenseElementsAttr::get(type, ArrayRef<double>(elements.lo)));
      add("hi_elements",
          DenseElementsAttr::get(type, ArrayRef<double>(elements.hi)));
    }
    if (isGiven && given->second.zipf)
      add("zipf", builder.getF64FloatAttr(*given->second.zipf));
    if (isGiven && given->second.frequencies) {
      const std::vector<double> &shares = *given->second.frequencies;
      auto type =
          RankedTensorType::get({int64_t(shares.size())}, builder.getF64Type());
      add("frequencies",
          DenseElementsAttr::get(type, ArrayRef<double>(shares)));
    }
    NamedAttrList list(attributes[input.getArgNumber()]);
    list.set("mp.assume", builder.getDictionaryAttr(entries));
    attributes[input.getArgNumber()] = list.getDictionary(module.getContext());
  }
  function.setAllArgAttrs(attributes);
}

LogicalResult mpopt::inferFromAssumptions(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return success();
  std::optional<ShapeFacts> facts = findAssumedElements(*functions.begin());
  return facts ? inferAllTypes(module, std::move(*facts)) : success();
}
