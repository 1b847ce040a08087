//===- ScaledWeights.cpp - Weights as products read them
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/ScaledWeights.h"

#include "mpopt/Ranges/Weights/Dequantized.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

std::optional<ScaledWeights> ScaledWeights::of(const ScaledOperand &operand,
                                               TransferContext &ctx) {
  if (!operand.isWeight)
    return std::nullopt;
  ScaledWeights weights;
  std::optional<WeightView> view =
      ctx.matrixWeights(operand.input, weights.swapped);
  if (!view || view->size() > kMostRead ||
      view->shape.size() != operand.layout.axes.size())
    return std::nullopt;
  weights.parts = operand.layout;
  size_t rank = view->shape.size();
  if (weights.swapped)
    std::swap(weights.parts.axes[rank - 1], weights.parts.axes[rank - 2]);
  weights.dims = view->shape;
  weights.elements = readAll(*view);
  weights.elements.resize(size_t(view->size()), weights.elements.empty()
                                                    ? 0
                                                    : weights.elements.front());
  weights.group(operand.scaling);
  return weights;
}

int64_t ScaledWeights::countOf(AxisPart part) const {
  int64_t count = 1;
  for (auto [dim, its] : llvm::zip_equal(dims, parts.axes))
    count *= its == part ? dim : 1;
  return count;
}

/// The elements along an axis that share a scale, of those that are left of a
/// group of rows and of a part of a row.
static int64_t countAlike(AxisPart axis, int64_t rows, int64_t columns) {
  return axis == AxisPart::Batch ? 1 : axis == AxisPart::Row ? rows : columns;
}

/// Numbers of the scale groups of elements, and a format for each.
void ScaledWeights::group(const OperandScaling &scaling) {
  using Grain = OperandScaling::Grain;
  std::vector<Interval> spans;
  double most = 0;
  for (double element : elements)
    most = std::max(most, std::fabs(element));
  if (scaling.grain == Grain::Tensor) {
    spans = {{0, 0}};
    for (double element : elements)
      spans[0] = hull(spans[0], element);
  } else {
    constexpr int64_t kWhole = int64_t(1) << 62; // longer than any row
    int64_t along = scaling.grain == Grain::Row ? kWhole : scaling.size;
    int64_t across = scaling.grain == Grain::Tile ? scaling.size : 1;
    int64_t rows = llvm::divideCeil(countOf(AxisPart::Row), across);
    int64_t inners = llvm::divideCeil(countOf(AxisPart::Contracted), along);
    constexpr uint32_t kNone = UINT32_MAX; // no group has that many others
    // By batch, then row, then part of a row.
    std::vector<uint32_t> known(
        size_t(countOf(AxisPart::Batch) * rows * inners), kNone);
    groups.resize(elements.size());
    SmallVector<int64_t> at(dims.size(), 0);
    size_t last = dims.size() - 1;
    for (size_t element = 0; element < elements.size();) {
      // The indices of the batch, within it of the row, and along the row.
      int64_t batch = 0, row = 0, inner = 0;
      for (size_t axis = 0; axis <= last; ++axis) {
        int64_t &index = parts.axes[axis] == AxisPart::Batch ? batch
                         : parts.axes[axis] == AxisPart::Row ? row
                                                             : inner;
        index = index * dims[axis] + at[axis];
      }
      uint32_t &group =
          known[size_t((batch * rows + row / across) * inners + inner / along)];
      if (group == kNone) {
        group = uint32_t(spans.size());
        spans.push_back({0, 0});
      }
      int64_t run = std::min(countAlike(parts.axes[last], across - row % across,
                                        along - inner % along),
                             dims[last] - at[last]);
      for (size_t end = element + size_t(run); element < end; ++element) {
        groups[element] = group;
        spans[group] = hull(spans[group], elements[element]);
      }
      at[last] += run - 1;
      for (size_t axis = dims.size(); axis-- > 0;) {
        if (++at[axis] < dims[axis])
          break;
        at[axis] = 0;
      }
    }
  }
  for (const Interval &span : spans) {
    formats.push_back(scaling.of(span, most));
    zeros += span.maxAbs() == 0 ? 1 / double(spans.size()) : 0;
  }
}

std::vector<double> ScaledWeights::scales() const {
  std::vector<double> scales;
  for (const StorageFormat &format : formats)
    scales.push_back(format.scale);
  return scales;
}

double ScaledWeights::growth() const {
  double growth = 1;
  for (auto [index, element] : llvm::enumerate(elements))
    if (element != 0 && std::isfinite(element))
      growth = std::max(growth, std::fabs(formatOf(index).round(element)) /
                                    std::fabs(element));
  return growth;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

StorageGrowth mpopt::growthOf(const OperandScaling &scaling, bool isStatic) {
  StorageFormat codes = scaling.codes();
  // One that is rounded to a power of two is up to twice as large.
  double scale = std::ldexp(1 / codes.codes.hi, isStatic ? kMostHeadroom : 1);
  if (codes.floats)
    return {1 + codes.floats->unitRoundoff(), scale * codes.step() / 2};
  // That of the number, and that of the zero point, by which ends move; a range
  // of both signs has twice the largest magnitude.
  double span = codes.codes.hi - codes.codes.lo;
  return {1, std::ldexp(2 / span, isStatic ? kMostHeadroom : 1)};
}

/// By how much the other operand becomes larger.
static double growthOfOther(const ScaledOperand &operand,
                            TransferContext &ctx) {
  mp::CastOp other = operand.other();
  std::optional<ScaledOperand> its =
      other ? getScaledOperand(other.getResult()) : std::nullopt;
  if (!its || !its->isWeight)
    return 1;
  if (auto weights = ScaledWeights::of(*its, ctx))
    return weights->growth();
  // Half of the smallest number, and somewhat more, becomes that number.
  constexpr double kMost = 2;
  return kMost;
}

AbstractValue mpopt::storedRange(const ScaledOperand &operand,
                                 const AbstractValue &exact,
                                 TransferContext &ctx) {
  AbstractValue value = AbstractValue::boundedLike(exact);
  if (!ctx.needsBounds())
    return value;
  StorageGrowth growth = growthOf(operand.scaling, operand.isStatic);
  double factor = growth.factor;
  if (!operand.isWeight)
    factor *= growthOfOther(operand, ctx);
  double added = growth.ofLargest * exact.magnitudes().bound * factor;
  bool keepsSigns = operand.scaling.codes().floats || exact.hull().lo >= 0;
  for (CellRef cell : value.mutableCells()) {
    if (cell.empty())
      continue;
    double lo = std::min(cell.lo, 0.0), hi = std::max(cell.hi, 0.0);
    cell.lo = lo < 0 || !keepsSigns ? lo * factor - added : 0;
    cell.hi = hi > 0 || !keepsSigns ? hi * factor + added : 0;
  }
  if (!std::isfinite(added))
    return value;
  if (exact.norm)
    value.claimNorm(exact.norm->axis,
                    exact.norm->bound * factor +
                        std::sqrt(double(exact.norm->count)) * added,
                    exact.norm->count);
  if (exact.rowSum && keepsSigns)
    value.claimRowSum(exact.rowSum->axis, 0,
                      exact.rowSum->hi * factor +
                          double(exact.rowSum->count) * added,
                      exact.rowSum->count);
  return value;
}
