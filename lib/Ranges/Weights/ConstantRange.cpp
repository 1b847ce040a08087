//===- ConstantRange.cpp - What the values of a constant are
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One streaming pass, of large constants by vector code on all threads. Values
// that the op reads as Inf or NaN set flags and count in no bound; the pass for
// them is the one of small constants.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/ConstantRange.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Weights/Kernels/SharedSums.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"

#include <cmath>
#include <limits>

using namespace mpopt;
using namespace mlir;

namespace {
/// The statistics of one group in a pass.
struct Tally {
  double lo = kInfinity, hi = -kInfinity, sum = 0, squares = 0;
  int64_t count = 0;

  void add(double value) {
    lo = std::min(lo, value);
    hi = std::max(hi, value);
    sum += value;
    squares += value * value;
    ++count;
  }
  Cell get() const {
    if (count == 0)
      return Cell{kInfinity, -kInfinity};
    double mean = std::min(std::max(sum / count, lo), hi);
    double variance = std::max(0.0, squares / count - mean * mean);
    return Cell{lo, hi, mean, lo == hi ? 0 : variance, lo, hi};
  }
};

/// The flags of a value, filled in as elements go by.
struct Flags {
  bool nan = false, posInf = false, negInf = false, integral = true;
  double minNonZero = kInfinity;

  /// Adds an element; true if it is finite.
  bool add(double value) {
    if (!std::isfinite(value)) {
      nan |= std::isnan(value);
      posInf |= value > 0;
      negInf |= value < 0;
      return false;
    }
    double magnitude = std::fabs(value);
    if (magnitude != 0 && magnitude < minNonZero)
      minNonZero = magnitude;
    integral = integral && value == std::trunc(value);
    return true;
  }
  void set(AbstractValue &value) const {
    value.nan = nan;
    value.posInf = posInf;
    value.negInf = negInf;
    value.integral = integral;
    // All zero: no element has a smaller magnitude than anything.
    value.minNonZero = std::isinf(minNonZero)
                           ? std::numeric_limits<double>::max()
                           : minNonZero;
    value.source = LikelySource::Weight;
  }
};
} // namespace

/// Elements form `outer` runs of `groups` runs of `inner` elements.
static AbstractValue summarizeElements(const WeightView &weights,
                                       AbstractValue::Dims dims, int64_t groups,
                                       int64_t inner) {
  std::vector<Tally> tallies(groups);
  Flags flags;
  // Elements that are read at a time: 32 KiB of doubles, a first-level cache.
  constexpr int64_t kBlock = 4096;
  double block[kBlock];
  int64_t size =
      weights.splat ? std::min<int64_t>(weights.size(), 1) : weights.size();
  int64_t group = 0, left = inner;
  for (int64_t first = 0; first < size; first += kBlock) {
    MutableArrayRef<double> part(block, std::min(kBlock, size - first));
    weights.read(first, part);
    for (size_t i = 0; i < part.size();) {
      // Up to the end of the group's run.
      size_t end = i + std::min<int64_t>(left, part.size() - i);
      left -= end - i;
      Tally &tally = tallies[group];
      for (; i < end; ++i)
        if (flags.add(part[i]))
          tally.add(part[i]);
      if (left == 0) {
        left = inner;
        group = group + 1 == groups ? 0 : group + 1;
      }
    }
  }
  std::vector<Cell> cells;
  cells.reserve(groups);
  for (const Tally &tally : tallies)
    cells.push_back(weights.splat ? tallies.front().get() : tally.get());
  AbstractValue value(std::move(dims), cells);
  flags.set(value);
  return value;
}

//===----------------------------------------------------------------------===//
// Large constants
//===----------------------------------------------------------------------===//

/// From so many elements on the kernels are worth their start.
static constexpr int64_t kLarge = 1 << 11;

static Cell getCell(const GroupStats &stats) {
  auto [lo, hi] = stats.range;
  double mean = std::min(std::max(stats.mean, lo), hi);
  return Cell{lo, hi, mean, lo == hi ? 0 : stats.variance, lo, hi};
}

/// The same by the kernels, where they can.
static std::optional<AbstractValue>
summarizeLarge(const WeightView &weights, AbstractValue::Dims dims,
               int64_t groups, int64_t inner, KeptLosses losses) {
  std::optional<WeightTensor> tensor = getTensor(weights);
  // Groups may come again and again.
  bool inOneRun = groups * inner == weights.size();
  if (!tensor || tensor->bits() % 8 != 0 || (inner != 1 && !inOneRun))
    return std::nullopt;
  SummaryRequest request;
  request.weights = *tensor;
  request.byColumn = inner == 1;
  request.columns = request.byColumn ? groups : inner;
  request.rows = weights.size() / request.columns;
  if (losses.format && tensor->format && !tensor->storage &&
      losses.format->losesValuesOf(*tensor->format)) {
    request.target = losses.format;
    request.channel = channelOf(weights.shape);
  }
  WeightSummary summary = summarizeWeight(request);
  if (losses.memo)
    keepLosses(request, summary.losses, *losses.memo);
  if (summary.flags)
    return std::nullopt;
  std::vector<Cell> cells;
  cells.reserve(groups);
  for (const GroupStats &group : summary.groups)
    cells.push_back(getCell(group));
  AbstractValue value(std::move(dims), cells);
  Flags all;
  all.integral = summary.integral;
  all.minNonZero = summary.minNonZero;
  all.set(value);
  return value;
}

//===----------------------------------------------------------------------===//
// All constants
//===----------------------------------------------------------------------===//

namespace {
class Summarizer {
public:
  Summarizer(const WeightView &weights, KeptLosses losses)
      : weights(weights), losses(losses) {}

  /// Elements form `outer` runs of `groups` runs of `inner` elements.
  AbstractValue summarize(AbstractValue::Dims dims, int64_t groups,
                          int64_t inner) const {
    if (weights.size() >= kLarge)
      if (auto value = summarizeLarge(weights, dims, groups, inner, losses))
        return std::move(*value);
    return summarizeElements(weights, std::move(dims), groups, inner);
  }
  AbstractValue whole() const {
    return summarize(AbstractValue::Dims(weights.shape.size(), 1), 1,
                     std::max<int64_t>(1, weights.size()));
  }
  AbstractValue along(int64_t axis) const {
    AbstractValue::Dims dims(weights.shape.size(), 1);
    dims[axis] = weights.shape[axis];
    int64_t inner = 1;
    for (int64_t dim : ArrayRef(weights.shape).drop_front(axis + 1))
      inner *= dim;
    return summarize(dims, dims[axis], inner);
  }

private:
  const WeightView &weights;
  KeptLosses losses;
};
} // namespace

AbstractValue mpopt::summarizeWeights(const WeightView &weights, size_t limit,
                                      KeptLosses losses) {
  Summarizer summarizer(weights, losses);
  int64_t size = weights.size(), rank = weights.shape.size();
  if (weights.splat || size <= 1 || rank == 0)
    return summarizer.whole();
  if (size <= std::min<int64_t>(limit, kElementwiseConstant))
    return summarizer.summarize(
        AbstractValue::Dims(weights.shape.begin(), weights.shape.end()), size,
        1);
  int64_t axis = rank >= 4 ? 0 : rank - 1;
  if (size_t(weights.shape[axis]) > limit)
    return summarizer.whole();
  return summarizer.along(axis);
}

double mpopt::leastRowMaximum(const WeightView &weights, double sign) {
  if (weights.shape.empty() || weights.size() == 0)
    return -kInfinity;
  int64_t columns = weights.shape.back();
  // Elements that are read once more: 64 MiB of FP32.
  constexpr int64_t kMost = 1 << 24;
  if (columns <= 0 || weights.size() > kMost)
    return -kInfinity;
  std::vector<double> row(columns);
  double least = kInfinity;
  for (int64_t first = 0; first < weights.size() && least > -kInfinity;
       first += columns) {
    weights.read(first, row);
    double largest = -kInfinity;
    for (double element : row)
      largest = std::max(largest, sign * element);
    least = std::min(least, largest);
    if (weights.splat)
      break;
  }
  return least;
}
