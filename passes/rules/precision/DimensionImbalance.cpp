//===- DimensionImbalance.cpp - MP305: channels of very different size
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judged by the expected size of each channel, where it arises: not again
// behind elementwise ops, and not for constants. A quarter of the channels must
// be small: single dead channels are harmless, and usual in trained networks.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/OverflowSites.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_DIMENSIONIMBALANCE
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Imbalance {
  int64_t axis;
  /// Root mean squares.
  double largest, small;
  /// How many channels are that small, of how many.
  size_t few, channels;
  double ratio() const { return largest / small; }
};

struct DimensionImbalance
    : mpopt::impl::DimensionImbalanceBase<DimensionImbalance> {
  void check(ModuleOp) override {
    const auto &ranges = getAnalysis<RangeAnalysis>();
    found.clear();
    forEachOp([&](Operation *op) {
      if (isa<RangeOpInterface>(op) && !isa<mp::ConstantOp>(op))
        for (Value result : op->getResults())
          judge(op, result, ranges);
    });
  }

private:
  std::optional<Imbalance> measure(Value value, const RangeAnalysis &ranges);
  std::optional<Imbalance> find(Value value, const RangeAnalysis &ranges);
  void judge(Operation *op, Value value, const RangeAnalysis &ranges);

  /// The imbalances found so far: where an op has one, its operands are asked
  /// for theirs.
  llvm::DenseMap<Value, Imbalance> found;
};
} // namespace

static double getSize(const Cell &cell) {
  return std::sqrt(cell.mean * cell.mean + cell.variance);
}

/// False if the sizes of all groups lie within a factor of `least`, and so
/// those of channels, whatever groups they consist of. Half the factor leaves
/// room for roundings.
static bool mayDiffer(const Cells &cells, double least) {
  double largest = 0, small = kInfinity;
  for (const Cell &cell : cells) {
    double square = cell.mean * cell.mean + cell.variance;
    largest = std::max(largest, square);
    small = std::min(small, square);
    if (std::isnan(square))
      return true;
  }
  return !(largest < small * least * least / 4);
}

std::optional<Imbalance>
DimensionImbalance::measure(Value value, const RangeAnalysis &ranges) {
  if (!isLowPrecision(getElementType(value)))
    return std::nullopt;
  const AbstractValue &known = ranges.of(value);
  // A row of numbers has no channels; axis 0 counts examples.
  if (!known.hasLikely() || known.rank() < 2)
    return std::nullopt;
  double least = threshold("imbalance-ratio");
  if (!mayDiffer(known.cells(), least))
    return std::nullopt;
  for (size_t axis = 1; axis < known.rank(); ++axis) {
    if (known.dims()[axis] < 2)
      continue;
    AbstractValue channels = known.keeping({int64_t(axis)});
    SmallVector<double> sizes;
    for (const Cell &cell : channels.cells())
      if (double size = getSize(cell); !cell.empty() && size > 0)
        sizes.push_back(size);
    if (sizes.size() < 2)
      continue;
    auto quarter = sizes.begin() + (sizes.size() - 1) / 4;
    std::nth_element(sizes.begin(), quarter, sizes.end());
    double largest = *llvm::max_element(sizes);
    Imbalance imbalance{
        int64_t(axis), largest, *quarter,
        size_t(llvm::count_if(
            sizes, [&](double size) { return largest >= least * size; })),
        sizes.size()};
    if (imbalance.ratio() >= least)
      return imbalance;
  }
  return std::nullopt;
}

/// The imbalance of an input or of a computed value; nothing for constants.
std::optional<Imbalance> DimensionImbalance::find(Value value,
                                                  const RangeAnalysis &ranges) {
  if (isConstant(value))
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (op ? !isa<RangeOpInterface>(op)
         : !isa<FunctionOpInterface>(value.getParentBlock()->getParentOp()))
    return std::nullopt;
  if (auto known = found.find(value); known != found.end())
    return known->second;
  std::optional<Imbalance> imbalance = measure(value, ranges);
  if (imbalance)
    found.try_emplace(value, *imbalance);
  return imbalance;
}

/// True if the op passes on an imbalance of its operand.
static bool passesOn(Operation *op) {
  return op->hasTrait<OpTrait::SameOperandsAndResultType>() ||
         hasRole(op, Role::CopiesElements | Role::Arithmetic |
                         Role::KeepsMagnitude | Role::KeepsZeros |
                         Role::Rectifier);
}

void DimensionImbalance::judge(Operation *op, Value value,
                               const RangeAnalysis &ranges) {
  std::optional<Imbalance> imbalance = find(value, ranges);
  if (!imbalance)
    return;
  // Probabilities are meant to differ, and squares do twice as much.
  if (getSquared(op) || hasRole(op, Role::Softmax | Role::Probability))
    return;
  Value before;
  for (Value operand : op->getOperands())
    if (find(operand, ranges))
      before = operand;
  bool argument = isa_and_nonnull<BlockArgument>(before);
  // The imbalance of an input is reported once, at the first op that reads it.
  if (before && passesOn(op) && !argument)
    return;
  if (argument && *before.getUsers().begin() != op && passesOn(op))
    return;
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  // Half of the digits: what is just below the smallest normal number keeps
  // nearly all.
  double least = std::ldexp(format.minNormal, -int(format.digits) / 2);
  bool loses = imbalance->small < least;
  FindingBuilder finding = report(op, value);
  finding.severity(loses ? Severity::Warning : Severity::Note)
      .likely()
      .message(formatNumber(double(imbalance->few)) + " of " +
               formatNumber(double(imbalance->channels)) + " channels (axis " +
               std::to_string(imbalance->axis) +
               ") are smaller than the largest by a factor of " +
               formatNumber(threshold("imbalance-ratio")) +
               " and more: typical magnitudes " +
               formatNumber(imbalance->small) + " and " +
               formatNumber(imbalance->largest) +
               (loses ? ", the small ones below " + formatNumber(least) +
                            ", where " + format.name.str() +
                            " keeps less than half of its digits"
                      : ""));
  finding.watchChannels(value, imbalance->axis);
  addRange(finding, value, ranges);
  fixByKeeping(finding, getElementType(value),
               "the tensor up to the op that brings its channels to one size");
}
