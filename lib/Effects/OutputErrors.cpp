//===- OutputErrors.cpp - The errors of outputs by each tensor
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First order: an error d of a tensor x changes an output by g d, g its
// gradient. Roundings of different elements are independent, and so are those
// of different tensors: squares add up. Numbers that are lost have a sign, and
// add up as the gradient's elements do.
//
//===----------------------------------------------------------------------===//

#include "OutputErrors.h"

#include "Contention.h"
#include "OwnSlope.h"
#include "Parts.h"
#include "PostDominators.h"
#include "TensorEffect.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/Branches.h"
#include "mpopt/Propagate/LoopStates.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

using namespace mlir;
using namespace mpopt;

/// Backward graphs have so many ops for each op of the model, or for those of a
/// small model. Outputs past that are not looked at.
static constexpr size_t kMostPasses = 8, kMostOps = 1 << 11;

//===----------------------------------------------------------------------===//
// Parts of outputs
//===----------------------------------------------------------------------===//

/// The outputs whose gradients are computed, in parts: the first, as far as
/// their graphs are small enough in sum.
static std::vector<Part> chooseParts(ArrayRef<OutputEffect> outputs) {
  std::vector<Part> chosen;
  Value first = outputs.front().value;
  Block *body = first.getParentBlock();
  size_t left = std::max(kMostPasses * body->getOperations().size(), kMostOps);
  for (auto [index, output] : llvm::enumerate(outputs)) {
    SmallVector<Value> parts = findParts(output.value);
    auto count = [&] {
      size_t ops = 0;
      for (Value part : parts)
        ops += countOpsBehind(part);
      return ops;
    };
    // As many outputs as possible, before there are parts of one.
    if (parts.size() > 1 && count() > left / 2)
      parts = {output.value};
    size_t ops = count();
    if (ops > left)
      break;
    left -= ops;
    for (Value value : parts) {
      Part part;
      part.output = index;
      part.value = value;
      chosen.push_back(std::move(part));
    }
  }
  return chosen;
}

/// The elements that do not differ by channel alone: the last axis has the
/// channels of tokens and of samples, the second one those of images.
static double countRows(Value value) {
  MaybeShape shape = getShape(value);
  if (!shape || shape->size() < 2)
    return countElements(value);
  int64_t channels = shape->size() > 3 ? (*shape)[1] : shape->back();
  return countElements(value) / double(std::max<int64_t>(channels, 1));
}

/// True if the elements are integers or truth values in another type.
static bool isOfWhole(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && getOpKind(op) == OpKind::Copy && op->getNumOperands() == 1 &&
         isa<FloatType>(getElementType(op->getOperand(0))))
    op = op->getOperand(0).getDefiningOp();
  return op && getOpKind(op) == OpKind::Copy && op->getNumOperands() == 1 &&
         isa<IntegerType>(getElementType(op->getOperand(0)));
}

/// The same, without those that have no error.
static std::vector<Part> findParts(ArrayRef<OutputEffect> outputs,
                                   const RangeAnalysis &ranges) {
  std::vector<Part> parts = chooseParts(outputs);
  // A part of zeros alone, beside others, has no error, unless codes made them.
  llvm::erase_if(parts, [&](const Part &part) {
    return part.value != outputs[part.output].value &&
           ranges.preRounding(part.value).constant() == 0.0 &&
           !hasRole(part.value.getDefiningOp(), Role::Quantization);
  });
  return parts;
}

static SmallVector<Value> getValues(ArrayRef<Part> parts) {
  return llvm::map_to_vector(parts,
                             [](const Part &part) { return part.value; });
}

static SmallVector<Value> getValues(ArrayRef<Part *> parts) {
  return llvm::map_to_vector(parts,
                             [](const Part *part) { return part->value; });
}

/// True if storing makes 0 of all elements, which are not.
static bool isAllLost(Value value, const RangeAnalysis &ranges) {
  return ranges.of(value).constant() == 0.0 &&
         ranges.preRounding(value).constant() != 0.0;
}

/// The first value on the way of an output of which nothing is estimated.
/// Integers decide where every float has an estimate.
static Value findUnestimated(Value value, const RangeAnalysis &ranges) {
  auto find = [&](Operation *op, bool isInteger) {
    auto operand = llvm::find_if(op->getOperands(), [&](Value operand) {
      return isa<IntegerType>(getElementType(operand)) == isInteger &&
             !ranges.of(operand).hasLikely();
    });
    return operand == op->operand_end() ? Value() : *operand;
  };
  while (Operation *op = value.getDefiningOp()) {
    Value operand = find(op, /*isInteger=*/false);
    if (!operand)
      operand = find(op, /*isInteger=*/true);
    if (!operand)
      break;
    value = operand;
  }
  return value;
}

/// `Gather_3` (Gather), as far as the model has names for it.
static std::string describeOp(Operation *op) {
  std::string name = getOpName(op), type = getOpType(op);
  return "`" + name + "`" + (name == type ? "" : " (" + type + ")");
}

static std::string describeValue(Value value) {
  std::string name = getTensorName(value);
  Operation *op = value.getDefiningOp();
  return name.empty() && op ? "the result of " + describeOp(op)
                            : "`" + name + "`";
}

static Unknown describeUnestimated(Value value, const RangeAnalysis &ranges) {
  value = findUnestimated(value, ranges);
  std::string name = getTensorName(value);
  Operation *op = value.getDefiningOp();
  if (!op && isa<IntegerType>(getElementType(value)))
    return {"`" + name + "` may be any whole number", name};
  std::string what = "nothing is estimated of " + describeValue(value);
  if (op && !name.empty())
    what += ", the result of " + describeOp(op);
  return {what, "", op};
}

/// Why the gradient of an output by `place` has no estimate.
static Unknown describeUnestimated(Value place, Value gradient,
                                   const OutputGradients &gradients,
                                   const RangeAnalysis &ranges) {
  auto [op, value] = gradients.findUnestimated(gradient);
  if (value && !ranges.of(value).hasLikely())
    return describeUnestimated(value, ranges);
  if (op)
    return {"nothing is estimated of the gradient of " + describeOp(op), "",
            op};
  return {"nothing is estimated of the gradient of " + describeValue(place)};
}

static Unknown describeLacking(Operation *op) {
  if (!op)
    return {"an op on the way to it has no gradient"};
  return {describeOp(op) + " has no gradient", "", op};
}

/// An output of which nothing but 0 is expected: quantisation took its largest
/// value, or it is none.
static void judgeLost(OutputEffect &output, ArrayRef<Part *> parts) {
  if (llvm::none_of(parts, [](const Part *part) { return part->isLost; }))
    return;
  output.rms = output.error = 1;
  output.byCause.emplace();
  (*output.byCause)[size_t(QuantizationCause::Activations)] = 1;
}

double mpopt::withLimit(double linear) {
  return std::sqrt(-2 * std::expm1(-linear * linear / 2));
}

double mpopt::withoutLimit(double rms) {
  // Beyond, the estimate tells nothing but that nothing is left.
  constexpr double kAll = 1 - 1e-6;
  return std::sqrt(-2 * std::log1p(-std::min(rms * rms / 2, kAll)));
}

/// The error of an output by each cause, from the squares of all its elements,
/// those of all errors and those of the errors by each cause. `even`: the
/// largest error as if no row was hit by more than others.
static void splitByCause(OutputEffect &output, ByCause byCause, double squares,
                         double errors, double even, bool isScaled) {
  // The clipped part is missing: without quantisation the output is larger by
  // it, and errors are parts of that. Scales that are taken from the numbers
  // clip next to nothing.
  double lost = byCause[size_t(QuantizationCause::Saturation)];
  double part = isScaled ? 1 : std::sqrt(squares / (squares + lost));
  *output.rms *= part;
  *output.error *= part;
  for (auto &[value, square] : output.squares)
    square *= part * part;
  for (EffectSlice &slice : output.slices)
    slice.error *= part;
  // After the part: a limited error says nothing of how large a part it is.
  // The stored output reaches that part of the exact one's range.
  double limit = 1 + (output.limit - 1) * part;
  output.error = std::min(*output.error, limit);
  for (EffectSlice &slice : output.slices)
    slice.error = std::min(slice.error, limit);
  for (auto [cause, square] : llvm::enumerate(byCause))
    square = (QuantizationCause(cause) == QuantizationCause::Saturation
                  ? *output.error
                  : std::min(even, *output.error)) *
             std::min(std::sqrt(square / errors), 1.0);
  output.byCause = byCause;
}

/// Adds the errors of a part, in units of `unit`; the largest one.
static double addLargest(OutputEffect &output, Part &part, double unit) {
  const OutputSize &size = *part.size;
  double error = largestError(part, size.count, size.peak(), output.sums) *
                 size.rms / unit;
  output.error = std::max(*output.error, error);
  double peak = size.peak() * size.rms / unit;
  for (auto [value, square] : part.squares) {
    double &known = output.squares[value];
    known = std::max(known, square * peak * peak);
  }
  return error;
}

/// How far apart two elements can be. The stored output is within its range,
/// and the exact one as far as nothing flushes: no error is larger, however far
/// first order goes. Where all is lost, the error is the largest value.
static double widthOf(Value output, const RangeAnalysis &ranges) {
  Cell range = ranges.preRounding(output).hull();
  return std::min(range.hi - range.lo, range.likelyHi - range.likelyLo);
}

/// Sums up the parts of an output.
static void judge(OutputEffect &output, ArrayRef<Part *> parts,
                  const RangeAnalysis &ranges, bool isScaled) {
  if (parts.empty()) {
    output.unknown = {"the model has too many outputs to look at each"};
    return;
  }
  for (const Part *part : parts)
    if (!part->isKnown()) {
      output.unknown = part->unknown;
      return;
    }
  double most = 0, errors = 0, squares = 0, even = 0;
  ByCause byCause = {};
  for (const Part *part : parts) {
    const OutputSize &size = *part->size;
    double all = size.count * size.rms * size.rms;
    most = std::max(most, size.most);
    errors += all * part->sum;
    for (auto [sum, square] : llvm::zip(byCause, part->byCause))
      sum += all * square;
    squares += all;
  }
  output.rms = output.error = 0;
  if (most == 0)
    return judgeLost(output, parts);
  // The exact output and the stored one are both as large as that.
  output.rms = std::min(std::sqrt(errors / squares), 2.0);
  output.limit = std::max(1.0, widthOf(output.value, ranges) / most);
  output.sums.push_back({});
  bool isQuantized =
      llvm::any_of(byCause, [](double square) { return square > 0; });
  if (isQuantized && parts.size() > 1)
    output.slices = findSlices(output.value, getValues(parts));
  for (auto [index, part] : llvm::enumerate(parts)) {
    double unit = output.slices.empty() ? most : part->size->most;
    // Nothing but zeros is left of a block that is lost.
    double error = part->isLost ? 1 : 0;
    even = std::max(even, error);
    if (unit > 0) {
      error = addLargest(output, *part, unit);
      even = std::max(even, part->even * part->size->rms / unit);
    }
    if (output.slices.empty())
      continue;
    output.slices[index].error = error;
    output.error = std::max(*output.error, output.slices[index].error);
  }
  if (isScaled && *output.rms > 0) {
    double limited = withLimit(*output.rms) / *output.rms;
    *output.rms *= limited;
    *output.error *= limited;
  }
  if (isQuantized)
    return splitByCause(output, byCause, squares, errors, even, isScaled);
  output.error = std::min(*output.error, output.limit);
}

//===----------------------------------------------------------------------===//
// Errors by each tensor
//===----------------------------------------------------------------------===//

static ErrorMoments &runOver(Block &body, ErrorMoments &moments) {
  moments.run(body);
  return moments;
}

OutputErrors::OutputErrors(ModuleOp module, const RangeAnalysis &ranges,
                           const NonFinite &nonFinite,
                           ArrayRef<OutputEffect> outputs)
    : body(*findReturn(module)->getBlock()), ranges(ranges),
      nonFinite(nonFinite), parts(::findParts(outputs, ranges)),
      storage(ranges), quantization(ranges), moments(ranges),
      gradients(module, ranges, runOver(body, moments), getValues(parts)),
      decisions(ranges, moments) {
  if (ChangedDecisions::hasChoices(body))
    decisions.run(body);
  if (!parts.empty() && quantization.judges(parts.front().value))
    for (size_t cause = 0; cause < kQuantizationCauses.size(); ++cause)
      causes.emplace_back(module, ranges, quantization,
                          QuantizationCause(cause));
  for (auto [index, part] : llvm::enumerate(parts)) {
    part.size = sizeOf(part.value, ranges);
    part.rows = countRows(part.value);
    part.isOfWhole = isOfWhole(part.value);
    if (!part.size)
      part.setUnknown(describeUnestimated(part.value, ranges));
    else if (gradients.lacks(index))
      part.setUnknown(describeLacking(gradients.lacking(index)));
  }
}

void OutputErrors::addAll() {
  llvm::for_each(body.getArguments(), [&](Value value) { add(value); });
  forEachLiveOp(body, ranges, [&](Operation *op) {
    llvm::for_each(op->getResults(), [&](Value value) { add(value); });
  });
}

std::optional<AbstractValue> OutputErrors::errorOf(Source &source,
                                                   Value gradient) {
  if (source.isScaled)
    source.quantized = quantization.errorOf(
        source.value, gradients.analysis().of(gradient).dims());
  if (source.quantized)
    return source.quantized->error;
  return withSteps(
      source.isStored
          ? storage.errorOf(source.place, source.lost,
                            gradients.analysis().of(gradient).dims())
          : std::nullopt,
      source.crossed.square);
}

void OutputErrors::add(Value value) {
  if (getScaledOperand(value)) {
    Source source = {value, value};
    source.isScaled = true;
    return add(source);
  }
  if (auto quantized = quantization.errorOf(value)) {
    Source source = {value, quantized->place ? quantized->place : value};
    source.quantized = std::move(quantized);
    add(source);
  }
  // Rounding to codes that are floats is the quantisation.
  bool isCode = isa_and_nonnull<mp::QuantizeOp>(value.getDefiningOp()) &&
                quantization.judges(value);
  if (isa<FloatType>(getElementType(value)) && !isCode)
    addStored(value);
}

void OutputErrors::addStored(Value value) {
  Source source = {value, value, nonFinite.lostOf(value),
                   decisions.errorOf(value)};
  if (source.crossed.square == 0)
    source.crossed = moments.stepAt(value);
  source.isStored = storage.rounds(value) || source.lost.share > 0;
  source.unknown = decisions.unknownBehind(value);
  if (!source.isStored && source.crossed.square == 0 && !source.unknown)
    return;
  // The steps of a function round as its result does.
  if (Value result = gradients.composite(value.getDefiningOp()))
    source.place = result;
  add(source);
}

void OutputErrors::add(Source source) {
  std::optional<std::optional<AbstractValue>> error;
  for (auto [index, part] : llvm::enumerate(parts)) {
    Value gradient = gradients.gradient(index, source.place);
    if (!gradient || !part.isKnown())
      continue;
    if (source.unknown) {
      part.setUnknown({"the change of its choice by errors of " +
                           describeValue(source.unknown) + " is not estimated",
                       "", source.unknown.getDefiningOp()});
      continue;
    }
    if (!error)
      error = errorOf(source, gradient);
    if (!*error)
      return;
    if (std::optional<double> square =
            squareIn(part, index, source, gradient, **error))
      addTo(part, index, source, **error, *square);
  }
}

std::optional<double> OutputErrors::squareIn(Part &part, size_t index,
                                             const Source &source,
                                             Value gradient,
                                             const AbstractValue &error) {
  Value place = source.place;
  const GradientAnalysis &analysis = gradients.analysis();
  const AbstractValue &slope = analysis.of(gradient);
  if (!error.hasLikely() || !slope.hasLikely()) {
    part.setUnknown(
        slope.hasLikely()
            ? Unknown{"nothing is estimated of the error of " +
                          describeValue(place),
                      "", place.getDefiningOp()}
            : describeUnestimated(place, gradient, gradients, ranges));
    return std::nullopt;
  }
  double square = squareOf(place, slope, analysis.spread(gradient),
                           analysis.samples(), error);
  if (source.lost.share == 0 && !source.quantized) {
    auto gradientOf = [&](Value of) -> const AbstractValue * {
      Value its = gradients.gradient(index, of);
      return its ? &analysis.of(its) : nullptr;
    };
    square *= OwnSlope(place, gradientOf).factor(ranges, error);
    if (std::optional<LoopState> state = findLoopState(source.value))
      square *= state->growth * state->growth;
  }
  if (!nonFinite.originsOf(source.value).empty())
    square = std::min(square, squareOfAbsorbed(index, source.value));
  if (!std::isfinite(square)) {
    part.setUnknown(
        {"the estimate for " + describeValue(place) + " is infinite", "",
         place.getDefiningOp()});
    return std::nullopt;
  }
  if (part.size->normal > 0)
    return square / part.size->normal;
  // Codes of which one alone is met leave nothing of the exact output.
  if (square != 0 && source.quantized) {
    part.isLost = true;
    return std::nullopt;
  }
  // Where nothing but 0 is expected, each error is past measure, and one of
  // weights that are all lost is not seen behind others that are.
  if (square != 0 || isAllLost(place, ranges))
    part.setUnknown({"nothing but 0 is expected of it"});
  return std::nullopt;
}

double OutputErrors::squareOfAbsorbed(size_t index, Value origin) {
  const GradientAnalysis &analysis = gradients.analysis();
  for (Value value : findPostDominators(origin)) {
    Value gradient = gradients.gradient(index, value);
    AbstractValue lost = ranges.preRounding(value);
    if (!nonFinite.originsOf(value).empty() || !gradient || !lost.hasLikely())
      continue;
    const AbstractValue &slope = analysis.of(gradient);
    // An infinite divisor leaves no more than that of a quotient.
    if (double most = nonFinite.lostOf(value).most;
        most * most < meanSquare(lost.hull()))
      lost = mpopt::errorOf(most * most);
    return slope.hasLikely() ? squareOf(value, slope, analysis.spread(gradient),
                                        analysis.samples(), lost)
                             : kInfinity;
  }
  return kInfinity;
}

void OutputErrors::addTo(Part &part, size_t index, const Source &source,
                         const AbstractValue &error, double square) {
  const StepError &crossed = source.crossed;
  if (crossed.square > 0 && square > 0) {
    double gain = square / meanSquare(error);
    // A choice that changes has one element more and one fewer. Of many in
    // each row the errors are as those of other causes.
    constexpr double kEach = 2;
    double changed = crossed.share * countElements(source.value) / kEach;
    if (isElementwise(source.value, part.value))
      part.steps.push_back({source.value, crossed.square * gain,
                            crossed.width * crossed.width * gain,
                            crossed.share});
    else if (changed < part.rows && decisions.countsWorstRun(source.value) &&
             decisions.errorOf(source.value).square > 0)
      part.hits.push_back({source.value, square, changed});
  }
  if (source.quantized) {
    auto give = [&](QuantizationCause cause, double share) {
      part.byCause[size_t(cause)] += share * square;
    };
    // The largest error of a rounding to even steps is half of one.
    constexpr double kPeak = 3;
    if (isa<IntegerType>(getElementType(source.value)) && square > 0 &&
        source.quantized->clipped == 0 &&
        isElementwise(source.value, part.value))
      part.steps.push_back({source.value, square, kPeak * square, 1});
    if (source.quantized->hits > 0 && square > 0) {
      double unseen = source.quantized->unseen;
      part.hits.push_back({source.value, square * (unseen > 0 ? unseen : 1),
                           source.quantized->hits});
    }
    if (source.quantized->isOfWeights) {
      give(QuantizationCause::Weights, 1);
    } else {
      double past = source.quantized->clipped + source.quantized->unseen;
      give(QuantizationCause::Activations, 1 - past);
      give(QuantizationCause::Saturation, past);
    }
  }
  part.sum += square;
  if (square > 0)
    part.squares[source.value] += square;
  bool isRounding = source.isStored && source.lost.share == 0 &&
                    crossed.square == 0 && !source.quantized;
  if (isRounding && square > 0) {
    addProportional(part, source, square,
                    findProportional(source.value, part.value));
    addHits(part, index, source, square);
  }
  if (source.quantized && source.quantized->clipped == 0 && square > 0)
    addProportional(part, source, square,
                    findExponential(source.value, part.value));
}

/// Roundings of rows whose gradient is 0 do not count, nor do the weights'
/// there: a step of a recurrence whose gates are all saturated has such rows.
void OutputErrors::addHits(Part &part, size_t index, const Source &source,
                           double square) const {
  const GradientAnalysis &analysis = gradients.analysis();
  SmallVector<Value, 4> hit = {source.place};
  for (Operation *reader : source.place.getUsers())
    if (source.place.getDefiningOp<mp::ConstantOp>())
      hit.push_back(reader->getOperand(0));
  for (Value value : hit) {
    Value gradient = gradients.gradient(index, value);
    MaybeShape shape = getShape(value);
    std::optional<int64_t> count = getNumElements(shape);
    double none = gradient ? analysis.spread(gradient).zeroRows : 0;
    if (none <= 0 || none >= 1 || !count || !shape->back())
      continue;
    part.hits.push_back(
        {source.value, square,
         -std::log(none) * double(*count) / double(shape->back())});
    return;
  }
}

/// Roundings are as large as what is rounded. Next to the largest element the
/// error is as large as its root mean square says of all: the largest of many
/// is farther out only where few elements are near the largest one.
void OutputErrors::addProportional(Part &part, const Source &source,
                                   double square, Value scale) {
  if (!scale || part.size->most <= part.size->peak() * part.size->rms)
    return;
  std::optional<OutputSize> size =
      scale == part.value ? part.size : sizeOf(scale, ranges);
  if (!size || size->rms == 0)
    return;
  double far = size->most / size->rms;
  part.proportional.values.push_back(source.value);
  part.proportional.all += square;
  part.proportional.largest += square * far * far;
}

void OutputErrors::addShifts(OutputEffect &output,
                             ArrayRef<Part *> parts) const {
  for (auto [cause, without] : llvm::enumerate(causes)) {
    double rms = 0, largest = 0, size = 0, most = 0;
    for (auto [index, part] : llvm::enumerate(parts)) {
      std::optional<WholeShift> shift = without.shiftOf(part->value);
      double count = part->size ? part->size->count : 0;
      if (!shift || count == 0)
        continue;
      rms += count * shift->rms * shift->rms;
      size += count * shift->exactRms * shift->exactRms;
      most = std::max(most, shift->exactMost);
      largest = std::max(largest, shift->largest);
      if (!output.slices.empty()) {
        double &error = output.slices[index].error;
        error = std::max(error, shift->largest / shift->exactMost);
        output.error = std::max(*output.error, error);
      }
    }
    if (!(size > 0))
      continue;
    double error = output.slices.empty() ? largest / most : *output.error;
    output.rms = std::max(*output.rms, std::sqrt(rms / size));
    if (!output.byCause)
      output.byCause.emplace();
    double &by = (*output.byCause)[cause];
    if (!(error > by))
      continue;
    // Each has its part of what independent errors are short of.
    double more = error * error - by * by;
    for (Value value : without.sources())
      output.squares[value] += more / double(without.sources().size());
    by = error;
    output.error = std::max(*output.error, error);
  }
}

void OutputErrors::judge(MutableArrayRef<OutputEffect> outputs) {
  addAll();

  std::vector<Contention> contentions =
      findContentions(body, ranges, gradients, moments);
  for (auto [index, part] : llvm::enumerate(parts))
    if (part.isKnown())
      addContended(contentions, index, gradients, part, part.size->normal);
  for (auto [index, output] : llvm::enumerate(outputs)) {
    SmallVector<Part *> own;
    for (Part &part : parts)
      if (part.output == index)
        own.push_back(&part);
    ::judge(output, own, ranges,
            getPrecision(body.getParentOp()->getParentOfType<ModuleOp>())
                    .operands != nullptr);
    if (output.error)
      addShifts(output, own);
  }
}
