//===- Assumptions.cpp - What is taken for granted about inputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/Assumptions.h"

#include "mpopt/Adjoint/Loss.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/MaskUse.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"
#include "mpopt/Report/Keys.h"
#include "mpopt/Support/Spelling.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace mpopt;

// Where nothing is declared: standard normal numbers, ten deviations wide.
static constexpr Interval kDefaultBound = {-10, 10};
static constexpr double kDefaultMean = 0, kDefaultStd = 1;

// Inputs that an error lists: they fit on a line.
static constexpr size_t kMostNames = 6;

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
  std::optional<MaskInput> use = findMaskUse(input);
  if (!use)
    return std::nullopt;
  return Assumption{
      getInputName(input), {0, 1}, double(use->kept), 0, "model", use->why};
}

// A float that is quantised before all else: its scale was taken from what was
// met, and the last codes stand for the ends of that.
static std::optional<Assumption> assumeCodes(BlockArgument input) {
  std::optional<Interval> span;
  for (Operation *user : input.getUsers()) {
    auto quantize = dyn_cast<mp::QuantizeOp>(user);
    auto format = quantize ? storageFormatOf(quantize) : std::nullopt;
    std::optional<double> scale =
        format ? getSplatConstant(quantize.getScale()) : std::nullopt;
    std::optional<double> zero = format && quantize.getZeroPoint()
                                     ? getSplatConstant(quantize.getZeroPoint())
                                     : std::optional(0.0);
    if (!scale || !(*scale > 0) || std::isinf(*scale) || !zero ||
        format->floats)
      return std::nullopt;
    Interval ends = format->scaled(*scale, *zero).ends();
    span = span ? hull(*span, ends) : ends;
  }
  if (!span)
    return std::nullopt;
  Assumption assumption{getInputName(input),
                        *span,
                        NAN,
                        NAN,
                        "model",
                        "the codes of its quantiser stand for no more"};
  setUniform(assumption);
  return assumption;
}

// True if the model's own assumption of the input is that it is a mask.
static bool isMask(BlockArgument input) {
  return isa<FloatType>(getElementType(input)) ? findMaskUse(input).has_value()
                                               : describeInteger(input).isMask;
}

// True if an output has a row for each position of a mask, those of padding
// among them, as far as shapes tell.
static bool coversPositions(BlockArgument input) {
  MaybeShape shape = getShape(input);
  if (!shape || shape->empty())
    return true;
  return llvm::any_of(input.getOwner()->getTerminator()->getOperands(),
                      [&](Value output) {
                        MaybeShape its = getShape(output);
                        return !its || llvm::is_contained(*its, shape->back());
                      });
}

// True if 0 and 1 are declared, and no more, of an input that is a mask.
static bool declaresZeroOrOne(BlockArgument input, const InputRange &range) {
  return range.file.empty() && !range.mean && range.bound &&
         *range.bound == Interval{0, 1} && isMask(input);
}

// True if, besides, its padded positions have no part in outputs: those are
// seldom masked, not in every other place.
static bool declaresMask(BlockArgument input, const InputRange &range) {
  return declaresZeroOrOne(input, range) && !coversPositions(input);
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
  assumption.source = !range->file.empty() ? "data"
                      : range->fromConfig  ? "config"
                                           : "option";
  assumption.byElement = range->elements != nullptr;
  if (range->bound) {
    assumption.bound = *range->bound;
    setUniform(assumption);
  }
  if (range->mean) {
    assumption.mean = *range->mean;
    assumption.std = *range->std;
    // A default bound does not cut off declared moments.
    if (!range->bound && !assumed) {
      auto &[lo, hi] = assumption.bound;
      lo = std::min(lo, *range->mean + kDefaultBound.lo * *range->std);
      hi = std::max(hi, *range->mean + kDefaultBound.hi * *range->std);
    }
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
static llvm::Error checkShapes(const NpzShapes &given, StringRef name,
                               const MaybeShape &input) {
  if (given.bounds && !broadcastsTo(*given.bounds, input))
    return llvm::createStringError("--input: the bounds for '" + name +
                                   "' do not broadcast to the input's shape");
  if (given.sample && !isSampleOf(*given.sample, input))
    return llvm::createStringError(
        "--input: the sample for '" + name + "' has the shape " +
        printShape(*given.sample) + ", the input " + printShape(*input));
  return llvm::Error::success();
}

/// Reads the values of the range's file, if there is one, once its shapes fit.
static llvm::Error readValues(InputRange &range, StringRef name,
                              const MaybeShape &input) {
  if (range.file.empty())
    return llvm::Error::success();
  if (llvm::Error error = checkShapes(range.shapes, name, input))
    return error;
  llvm::Expected<NpzRange> values = readNpzRange(range.file, name);
  if (!values)
    return values.takeError();
  range.bound = values->bound;
  range.elements = std::move(values->elements);
  range.frequencies = std::move(values->frequencies);
  range.samples = std::move(values->samples);
  if (values->mean && !range.mean) {
    range.mean = values->mean;
    range.std = values->std;
  }
  return llvm::Error::success();
}

namespace {
/// An input with its assumption, and the range that an option or a
/// configuration declares for it.
struct AssumedInput {
  BlockArgument input;
  Assumption assumption;
  std::optional<InputRange> declared;
};
} // namespace

/// The assumption on one input; null for an input that needs none.
static llvm::Expected<std::optional<AssumedInput>>
assumeInput(BlockArgument input, const Options &options) {
  std::string name = getInputName(input);
  std::optional<InputRange> range;
  if (auto found = options.inputs.find(name); found != options.inputs.end()) {
    range = found->second;
    if (llvm::Error error = readValues(*range, name, getShape(input)))
      return std::move(error);
  }
  Type type = getElementType(input);
  // The frequency of each class does not state which classes there are.
  bool described = range && range->hasValues();
  auto make = [&](Assumption assumption) {
    return AssumedInput{input, std::move(assumption), std::move(range)};
  };
  if (!described && !options.assumed && isa<FloatType>(type))
    if (std::optional<Assumption> own = assumeMask(input);
        own || (own = assumeCodes(input)))
      return make(std::move(*own));
  if (described && declaresMask(input, *range)) {
    Assumption mask = *assumeMask(input);
    mask.source = range->fromConfig ? "config" : "option";
    return make(std::move(mask));
  }
  if (described || isa<FloatType>(type))
    return make(assume(name, range ? &*range : nullptr, options.assumed));
  if (isa<IntegerType>(type))
    return make(assumeInteger(input));
  return std::nullopt;
}

static DenseElementsAttr makeList(ArrayRef<int64_t> shape,
                                  ArrayRef<double> values, Builder &builder) {
  return DenseElementsAttr::get(
      RankedTensorType::get(shape, builder.getF64Type()), values);
}

/// The attribute `mp.assume`; null where the analysis derives the same itself.
static DictionaryAttr describe(const AssumedInput &assumed, Builder &builder) {
  const auto &[input, assumption, declared] = assumed;
  bool hasShares = declared && (declared->zipf || declared->frequencies);
  // The analysis cannot derive masks from the model's own assumptions: passes
  // rewrite the ops that show them.
  bool derived = assumption.source == "model";
  bool mask =
      derived ? isMask(input) : declared && declaresMask(input, *declared);
  if (derived && !mask && !isa<FloatType>(getElementType(input)) &&
      (!hasShares || std::isnan(assumption.mean)))
    return nullptr;
  SmallVector<NamedAttribute> entries;
  auto add = [&](StringRef key, Attribute value) {
    entries.push_back(builder.getNamedAttr(key, value));
  };
  add("lo", builder.getF64FloatAttr(assumption.bound.lo));
  add("hi", builder.getF64FloatAttr(assumption.bound.hi));
  add("source", builder.getStringAttr(derived ? StringRef("default")
                                              : assumption.source));
  if (mask)
    add(kMaskKey, builder.getUnitAttr());
  else if (declared && declaresZeroOrOne(input, *declared))
    add(kIntegralKey, builder.getUnitAttr());
  bool byElement = declared && declared->elements;
  if (!byElement || declared->mean) {
    add("mean", builder.getF64FloatAttr(assumption.mean));
    add(keys::kStd, builder.getF64FloatAttr(assumption.std));
  }
  if (byElement) {
    const ElementBounds &elements = *declared->elements;
    add("lo_elements", makeList(elements.shape, elements.lo, builder));
    add("hi_elements", makeList(elements.shape, elements.hi, builder));
    if (!elements.mean.empty()) {
      add(kMeanElementsKey, makeList(elements.shape, elements.mean, builder));
      add(kStdElementsKey, makeList(elements.shape, elements.std, builder));
    }
  }
  if (declared && declared->samples &&
      isa<FloatType>(getElementType(assumed.input))) {
    const SampleValues &samples = *declared->samples;
    add(kSamplesKey,
        DenseElementsAttr::get(
            RankedTensorType::get(samples.shape, builder.getF32Type()),
            ArrayRef(samples.numbers)));
  }
  if (declared && declared->zipf)
    add("zipf", builder.getF64FloatAttr(*declared->zipf));
  if (declared && declared->frequencies) {
    const std::vector<double> &shares = *declared->frequencies;
    add("frequencies", makeList({int64_t(shares.size())}, shares, builder));
  }
  return builder.getDictionaryAttr(entries);
}

/// Sets `mp.assume` on arguments of `function`; returns the assumptions.
static std::vector<Assumption> declare(std::vector<AssumedInput> inputs,
                                       func::FuncOp function) {
  Builder builder(function.getContext());
  // All at once: one by one would make as many lists of all.
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  std::vector<Assumption> assumptions;
  for (AssumedInput &assumed : inputs) {
    if (DictionaryAttr described = describe(assumed, builder)) {
      DictionaryAttr &own = attributes[assumed.input.getArgNumber()];
      NamedAttrList list(own);
      list.set("mp.assume", described);
      own = list.getDictionary(builder.getContext());
    }
    assumptions.push_back(std::move(assumed.assumption));
  }
  function.setAllArgAttrs(attributes);
  return assumptions;
}

/// The error for an input that the model does not have.
static llvm::Error refuseInput(StringRef name, func::FuncOp function) {
  std::vector<std::string> held;
  for (BlockArgument input : function.getArguments())
    held.push_back(getInputName(input));
  llvm::SmallVector<StringRef> names(held.begin(), held.end());
  std::string hint = suggestNearest(name, names);
  if (hint.empty() && !names.empty())
    hint = " (it has " +
           llvm::join(llvm::ArrayRef(names).take_front(kMostNames), ", ") +
           (names.size() > kMostNames ? " and others)" : ")");
  return llvm::createStringError("--input: the model has no input '" + name +
                                 "'" + hint);
}

llvm::Expected<std::vector<Assumption>>
mpopt::assumeInputs(const Options &options, ModuleOp module) {
  std::vector<AssumedInput> inputs;
  std::set<StringRef> unused;
  for (const auto &[name, range] : options.inputs)
    unused.insert(name);
  func::FuncOp function;
  if (auto functions = module.getOps<func::FuncOp>(); !functions.empty()) {
    function = *functions.begin();
    for (BlockArgument input : function.getArguments()) {
      unused.erase(getInputName(input));
      llvm::Expected<std::optional<AssumedInput>> assumed =
          assumeInput(input, options);
      if (!assumed)
        return assumed.takeError();
      if (*assumed)
        inputs.push_back(std::move(**assumed));
    }
  }
  // Others may be targets of a loss that is attached later.
  if (!unused.empty() && !options.train)
    return refuseInput(*unused.begin(), function);
  return function ? declare(std::move(inputs), function)
                  : std::vector<Assumption>();
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
  case LossKind::Bce:
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
mpopt::assumeTargets(const Options &options, func::FuncOp function,
                     unsigned first) {
  std::vector<AssumedInput> targets;
  std::set<std::string> names;
  for (BlockArgument argument : function.getArguments()) {
    names.insert(getInputName(argument));
    if (argument.getArgNumber() < first)
      continue;
    llvm::Expected<std::optional<AssumedInput>> assumed =
        assumeInput(argument, options);
    if (!assumed)
      return assumed.takeError();
    if (!*assumed)
      continue;
    auto loss = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      kLossTargetAttr);
    if (loss)
      assumeByLoss((*assumed)->assumption, loss.getValue());
    targets.push_back(std::move(**assumed));
  }
  for (const auto &[name, range] : options.inputs)
    if (!range.fromConfig && !names.count(name))
      return llvm::createStringError(
          "--input: the model has no input, and its loss no target '" + name +
          "'");
  return declare(std::move(targets), function);
}

LogicalResult mpopt::inferFromAssumptions(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return success();
  std::optional<ShapeFacts> facts = findAssumedElements(*functions.begin());
  return facts ? inferAllTypes(module, std::move(*facts)) : success();
}
