//===- Assumptions.cpp - What is taken for granted about inputs
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Driver/Assumptions.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"
#include "mpopt/Report/Keys.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

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
  assumption.source = range->fromData ? "data" : "option";
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

llvm::Expected<std::vector<Assumption>>
mpopt::makeAssumptions(const Options &options, ModuleOp module) {
  std::vector<Assumption> assumptions;
  std::map<std::string, InputRange> unused = options.inputs;
  auto functions = module.getOps<func::FuncOp>();
  if (!functions.empty())
    for (BlockArgument input : (*functions.begin()).getArguments()) {
      std::string name = getInputName(input);
      auto range = options.inputs.find(name);
      bool named = range != options.inputs.end();
      unused.erase(name);
      Type type = getElementType(input);
      if (named)
        if (llvm::Error error =
                checkShapes(range->second, name, getShape(input)))
          return error;
      if (named || isa<FloatType>(type))
        assumptions.push_back(
            assume(name, named ? &range->second : nullptr, options.assumed));
      else if (isa<IntegerType>(type))
        assumptions.push_back(assumeInteger(input));
    }
  if (!unused.empty())
    return llvm::createStringError("--input: the model has no input '" +
                                   unused.begin()->first + "'");
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
    // The analysis derives the model's own assumptions itself.
    if (!assumption || assumption->source == "model")
      continue;
    SmallVector<NamedAttribute> entries;
    auto add = [&](StringRef key, Attribute value) {
      entries.push_back(builder.getNamedAttr(key, value));
    };
    add("lo", builder.getF64FloatAttr(assumption->bound.lo));
    add("hi", builder.getF64FloatAttr(assumption->bound.hi));
    add("source", builder.getStringAttr(assumption->source));
    auto given = inputs.find(assumption->input);
    bool byElement = given != inputs.end() && given->second.elements;
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
    NamedAttrList list(attributes[input.getArgNumber()]);
    list.set("mp.assume", builder.getDictionaryAttr(entries));
    attributes[input.getArgNumber()] = list.getDictionary(module.getContext());
  }
  function.setAllArgAttrs(attributes);
}
