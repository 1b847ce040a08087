//===- WholeShifts.cpp - What quantisation moves as a whole
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WholeShifts.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/CodeMismatch.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Ranges/Analysis/ChangedModule.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "mlir/IR/IRMapping.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Weights with a scale for each channel.
static constexpr size_t kMostScales = 1 << 14;

/// True if the clipped part of the error is one that moves what is clipped: a
/// tenth of the elements' size.
static bool clipsMuch(Value codes, const AbstractValue &numbers,
                      QuantizationErrors &errors) {
  constexpr double kMuch = 0.01;
  auto error = errors.errorOf(codes);
  return error && error->error.hasLikely() &&
         error->clipped * meanSquare(error->error) >
             kMuch * meanSquare(numbers);
}

/// A copy of a module, and how it differs.
class WithoutCause::Copy {
public:
  explicit Copy(ModuleOp module)
      : module(cast<ModuleOp>(module->clone(mapping))) {
    for (auto [from, to] : mapping.getValueMap())
      change.originals[to] = from;
  }

  void exempt(mp::DequantizeOp op, mp::QuantizeOp from);
  void exempt(mp::FakeQuantizeOp op) {
    replace(op.getResult(), op.getInput(), /*rectifies=*/false);
  }
  void readAsWritten(mp::DequantizeOp op, mp::QuantizeOp from);
  void mend(mp::DequantizeOp bias, ArrayRef<double> numbers);
  void rescale(mp::DequantizeOp op, ArrayRef<double> scales);

  void compute(const RangeAnalysis &base) {
    manager = std::make_unique<ModuleAnalysisManager>(*module, nullptr);
    AnalysisManager analyses = *manager;
    reuseRanges(analyses, base, change, Recompute::Reached);
    ranges = &analyses.getAnalysis<RangeAnalysis>();
  }
  const AbstractValue &estimate(Value original) const {
    return ranges->preRounding(mapping.lookup(original));
  }
  /// True if a quantiser clips its numbers as they are here.
  bool clipsMuch(mp::QuantizeOp op, QuantizationErrors &errors) const {
    return ::clipsMuch(mapping.lookup(op.getResult()), estimate(op.getInput()),
                       errors);
  }
  const RangeAnalysis &analysis() const { return *ranges; }

private:
  void replace(Value result, Value by, bool rectifies);
  void adopt(Value original, Operation *op);

  IRMapping mapping;
  OwningOpRef<ModuleOp> module;
  ChangedModule change;
  std::unique_ptr<ModuleAnalysisManager> manager;
  const RangeAnalysis *ranges = nullptr;
};

void WithoutCause::Copy::replace(Value result, Value by, bool rectifies) {
  Value its = mapping.lookup(result), exact = mapping.lookup(by);
  OpBuilder builder(its.getDefiningOp());
  Location where = its.getLoc();
  Operation *made =
      rectifies ? mp::ReluOp::create(builder, where, its.getType(), exact)
                      .getOperation()
                : mp::IdentityOp::create(builder, where, its.getType(), exact)
                      .getOperation();
  adopt(result, made);
}

/// Has the op's result stand for the value.
void WithoutCause::Copy::adopt(Value original, Operation *op) {
  Value its = mapping.lookup(original), made = op->getResult(0);
  change.changed.insert(op);
  change.originals.erase(its);
  change.originals[made] = original;
  mapping.map(original, made);
  its.replaceAllUsesWith(made);
}

void WithoutCause::Copy::exempt(mp::DequantizeOp op, mp::QuantizeOp from) {
  auto format = storageFormatOf(from);
  replace(op.getResult(), from.getInput(),
          format &&
              mpopt::rectifies(from.getInput(), from.getZeroPoint(), *format));
}

void WithoutCause::Copy::readAsWritten(mp::DequantizeOp op,
                                       mp::QuantizeOp from) {
  auto its = mapping.lookup(op.getResult()).getDefiningOp<mp::DequantizeOp>();
  its.getScaleMutable().assign(mapping.lookup(from.getScale()));
  if (from.getZeroPoint())
    its.getZeroPointMutable().assign(mapping.lookup(from.getZeroPoint()));
  else
    its.getZeroPointMutable().clear();
  change.changed.insert(its);
}

static Value makeNumbers(OpBuilder &builder, Location where,
                         ArrayRef<double> numbers) {
  std::vector<float> elements(numbers.begin(), numbers.end());
  SmallVector<int64_t, 1> shape;
  if (elements.size() > 1)
    shape.push_back(int64_t(elements.size()));
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  return mp::ConstantOp::create(
             builder, where, type,
             DenseElementsAttr::get(type, ArrayRef<float>(elements)))
      .getResult();
}

void WithoutCause::Copy::rescale(mp::DequantizeOp op, ArrayRef<double> scales) {
  auto its = mapping.lookup(op.getResult()).getDefiningOp<mp::DequantizeOp>();
  OpBuilder builder(its);
  Value made = makeNumbers(builder, its.getLoc(), scales);
  its.getScaleMutable().assign(made);
  change.changed.insert(made.getDefiningOp());
  change.changed.insert(its);
}

void WithoutCause::Copy::mend(mp::DequantizeOp op, ArrayRef<double> numbers) {
  Value its = mapping.lookup(op.getResult());
  OpBuilder builder(its.getDefiningOp());
  Value made = makeNumbers(builder, its.getLoc(), numbers);
  change.changed.insert(made.getDefiningOp());
  auto stands =
      mp::IdentityOp::create(builder, its.getLoc(), made.getType(), made);
  adopt(op.getResult(), stands);
}

/// The scales of a weight's numbers as they were: those of clipped ones are
/// larger by a gain, and those that their dtype made 0 were even below half of
/// its least number. Empty where they are the file's.
static std::vector<double> findScales(mp::DequantizeOp numbers,
                                      const RangeAnalysis &ranges) {
  // Most elements are the same.
  constexpr double kSame = 1.02;
  const FloatFormat *format =
      getFloatFormat(getElementType(numbers.getScale()));
  auto scales = readElements(numbers.getScale(), ranges);
  if (!scales || !format || scales->size() > kMostScales ||
      numbers.getBlockSize() != 0)
    return {};
  double reach = reachBeforeClipping(numbers, ranges),
         gain = reach > 0 ? reach / std::sqrt(clippedSquare(reach)) : 1;
  if (!(gain > kSame) && !llvm::is_contained(*scales, 0.0))
    return {};
  for (double &scale : *scales)
    scale = scale == 0 ? format->flushAt / 2 : scale * gain;
  return *scales;
}

/// True if the op gives the numbers that the quantiser reads.
static bool isWholePair(mp::DequantizeOp op, mp::QuantizeOp from) {
  return op.getInput() == from.getResult() &&
         op.getResult().getType() == from.getInput().getType() &&
         !from->hasAttr(kTriedFixAttr);
}

/// True if the quantiser reads what no op has made.
static bool readsInput(Value codes) {
  auto op = codes.getDefiningOp<mp::QuantizeOp>();
  return op && !getMaker(op.getInput(), Peel::CastsAndViews);
}

/// The pairs that clip what no earlier one has clipped: where inputs were too
/// small when a network was calibrated, so were those of all its layers, of
/// which ranges meet the numbers that are left.
void WithoutCause::exemptHidden(ModuleOp module) {
  SmallVector<std::pair<mp::DequantizeOp, mp::QuantizeOp>> rest;
  Copy open(module);
  module.walk([&](mp::DequantizeOp op) {
    auto from = findWriter(op);
    if (!from || !isWholePair(op, from))
      return;
    open.exempt(op, from);
    if (!llvm::is_contained(moved, from.getResult()))
      rest.emplace_back(op, from);
  });
  open.compute(ranges);
  QuantizationErrors errors(open.analysis());
  for (auto [op, from] : rest)
    if (open.clipsMuch(from, errors))
      copy->exempt(op, from);
}

WithoutCause::WithoutCause(ModuleOp module, const RangeAnalysis &ranges,
                           QuantizationErrors &errors, QuantizationCause cause)
    : ranges(ranges) {
  auto edit = [&](Value value) -> Copy & {
    if (!copy)
      copy = std::make_unique<Copy>(module);
    moved.push_back(value);
    return *copy;
  };
  bool isClip = cause == QuantizationCause::Saturation;
  auto isExempt = [&](mp::DequantizeOp op, mp::QuantizeOp from) {
    if (!isWholePair(op, from))
      return false;
    if (isClip)
      return clipsMuch(from.getResult(), ranges.preRounding(from.getInput()),
                       errors);
    return cause == QuantizationCause::Activations &&
           ranges.of(from.getScale()).constant() == 0.0;
  };
  module.walk([&](Operation *op) {
    if (auto fake = dyn_cast<mp::FakeQuantizeOp>(op)) {
      if (isClip && fake.getType() == fake.getInput().getType() &&
          clipsMuch(fake.getResult(), ranges.preRounding(fake.getInput()),
                    errors))
        edit(fake.getResult()).exempt(fake);
      return;
    }
    auto numbers = dyn_cast<mp::DequantizeOp>(op);
    if (!numbers || !errors.judges(numbers.getResult()) ||
        numbers->hasAttr(kTriedFixAttr))
      return;
    if (auto from = findWriter(numbers)) {
      if (isExempt(numbers, from))
        edit(from.getResult()).exempt(numbers, from);
      else if (cause == QuantizationCause::Activations &&
               findMismatch(numbers, from, ranges))
        edit(numbers.getResult()).readAsWritten(numbers, from);
    } else if (cause == QuantizationCause::Weights) {
      if (auto bias = findExactBias(numbers, ranges); !bias.empty())
        edit(numbers.getResult()).mend(numbers, bias);
      else if (auto scales = findScales(numbers, ranges); !scales.empty())
        edit(numbers.getResult()).rescale(numbers, scales);
    }
  });
  if (copy && isClip && llvm::any_of(moved, readsInput))
    exemptHidden(module);
  if (copy)
    copy->compute(ranges);
}

WithoutCause::~WithoutCause() = default;
WithoutCause::WithoutCause(WithoutCause &&) = default;

std::optional<WholeShift> WithoutCause::shiftOf(Value value) const {
  if (!copy)
    return std::nullopt;
  const AbstractValue &stored = ranges.preRounding(value),
                      &exact = copy->estimate(value);
  if (!stored.hasLikely() || !exact.hasLikely())
    return std::nullopt;
  WholeShift shift;
  auto add = [&](const Cell &is, const Cell &was) {
    double mean = std::fabs(is.mean - was.mean),
           deviation = std::sqrt(was.variance),
           shrunk = std::fabs(std::sqrt(is.variance) - deviation);
    double reach = std::max(was.likelyHi - was.mean, was.mean - was.likelyLo);
    shift.rms += mean * mean + shrunk * shrunk;
    shift.largest = std::max(
        shift.largest,
        mean + (deviation > 0 ? shrunk * std::max(reach / deviation, 1.0)
                              : shrunk));
    shift.exactRms += meanSquare(was);
    shift.exactMost = std::max(
        {shift.exactMost, std::fabs(was.likelyLo), std::fabs(was.likelyHi)});
  };
  size_t groups = exact.dims() == stored.dims() ? exact.groups() : 1;
  if (groups == 1)
    add(stored.hull(), exact.hull());
  else
    for (size_t group = 0; group < groups; ++group)
      add(stored.cell(group), exact.cell(group));
  shift.rms = std::sqrt(shift.rms / double(groups));
  shift.exactRms = std::sqrt(shift.exactRms / double(groups));
  shift.exactMost = std::max(shift.exactMost, shift.exactRms);
  bool isKnown = shift.rms > 0 && shift.exactRms > 0 &&
                 std::isfinite(shift.rms) && std::isfinite(shift.exactRms);
  return isKnown ? std::optional(shift) : std::nullopt;
}
