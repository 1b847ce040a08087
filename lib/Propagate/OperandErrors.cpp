//===- OperandErrors.cpp - The error of scaling operands
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/OperandErrors.h"

#include "ActivationError.h"
#include "ScaleGroups.h"

#include "mpopt/Dialect/Calibration.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Ranges/Analysis/ExpectedCodes.h"
#include "mpopt/Ranges/Value/TransferContext.h"
#include "mpopt/Ranges/Weights/ScaledWeights.h"

#include "llvm/ADT/DenseMap.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Normal numbers
//===----------------------------------------------------------------------===//

/// Let numbers x = m 2^e have a logarithm that is uniform over more than a
/// binade, as a scale from a largest element has: the unit is 2 u |x| / m and
/// E m^-2 = 3 / (8 ln 2), so that the error's square (2 u 2^e)^2 / 12 is
/// u^2 x^2 / (8 ln 2). (kRoundingSquare is of numbers within one binade.)
static constexpr double kScaledSquare = 1 / (8 * std::numbers::ln2);

double mpopt::roundingSquareOf(double mean, double variance,
                               const StorageFormat &format) {
  double square =
      storageErrorOf(mean, variance, format, /*whole=*/false, false).square;
  double all = mean * mean + variance;
  if (!format.floats)
    return std::min(square, all);
  double u = format.floats->unitRoundoff();
  return std::min(square + (kScaledSquare - kRoundingSquare) * u * u * all,
                  all);
}

double mpopt::scalingSquareOf(double mean, double variance,
                              const StorageFormat &format) {
  double clipped =
      storageErrorOf(mean, variance, format, /*whole=*/false, true).square -
      storageErrorOf(mean, variance, format, /*whole=*/false, false).square;
  return roundingSquareOf(mean, variance, format) + std::max(clipped, 0.0);
}

/// P(|x| > edge) of normal x, and its slope by the edge.
static std::pair<double, double> tailBeyond(double mean, double variance,
                                            double edge) {
  if (!(variance > 0))
    return {std::fabs(mean) > edge, 0};
  double deviation = std::sqrt(variance);
  double below = (-edge - mean) / deviation, above = (mean - edge) / deviation;
  double lower = normalShareBelow(below);
  double upper = mean == 0 ? lower : normalShareBelow(above);
  return {lower + upper,
          -(normalDensity(below) + normalDensity(above)) / deviation};
}

static double shareBeyond(double mean, double variance, double edge) {
  return tailBeyond(mean, variance, edge).first;
}

/// Newton's method on the logarithm of the number beyond, which is about
/// concave; where a step leaves the bracket, it is halved.
double mpopt::expectedLargest(ArrayRef<ScaleMember> members) {
  double hi = 0;
  // No number of a tensor is expected so far out.
  constexpr double kFar = 10;
  for (const ScaleMember &member : members)
    hi = std::max(hi, std::fabs(member.mean) +
                          kFar * std::sqrt(std::max(member.variance, 0.0)));
  double lo = 0, at = hi / 2;
  // A thousandth of the largest is more than is known of it.
  constexpr unsigned kSteps = 24;
  constexpr double kSame = 1e-4;
  for (unsigned step = 0; step < kSteps && hi - lo > kSame * hi; ++step) {
    double beyond = 0, slope = 0;
    for (const ScaleMember &member : members) {
      auto [share, its] = tailBeyond(member.mean, member.variance, at);
      beyond += member.count * share;
      slope += member.count * its;
    }
    (beyond > std::numbers::ln2 ? lo : hi) = at;
    double next = at - std::log(beyond / std::numbers::ln2) * beyond / slope;
    if (std::fabs(next - at) <= kSame * at)
      return next;
    at = next > lo && next < hi ? next : (lo + hi) / 2;
  }
  return hi;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The axes of a constant whose indices `dims` tells apart.
static AbstractValue::Dims chooseGroups(const ScaledWeights &weights,
                                        ArrayRef<int64_t> dims) {
  ArrayRef<int64_t> shape = weights.shape();
  AbstractValue::Dims groups(shape.size(), 1);
  if (dims.size() != shape.size())
    return groups;
  SmallVector<int64_t> asked(dims);
  if (weights.isSwapped())
    std::swap(asked[asked.size() - 1], asked[asked.size() - 2]);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (asked[axis] == shape[axis])
      groups[axis] = shape[axis];
  return groups;
}

namespace {
/// The group among `dims` of elements of `shape`, one after the other.
class GroupWalk {
public:
  GroupWalk(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims)
      : shape(shape), place(shape.size(), 0), strides(shape.size(), 0) {
    for (size_t axis = shape.size(), stride = 1; axis-- > 0;)
      if (dims[axis] > 1) {
        strides[axis] = stride;
        stride *= size_t(dims[axis]);
      }
  }

  size_t at(size_t axis) const { return size_t(place[axis]); }
  size_t group() const { return now; }
  void next() {
    for (size_t axis = shape.size(); axis-- > 0;) {
      now += strides[axis];
      if (++place[axis] < shape[axis])
        return;
      now -= strides[axis] * size_t(shape[axis]);
      place[axis] = 0;
    }
  }

private:
  ArrayRef<int64_t> shape;
  SmallVector<int64_t> place;
  SmallVector<size_t> strides;
  size_t now = 0;
};
} // namespace

/// The elements between two that are next to each other along the axis.
static size_t countBehind(ArrayRef<int64_t> dims, std::optional<size_t> axis) {
  size_t count = 1;
  if (axis)
    for (int64_t dim : dims.drop_front(*axis + 1))
      count *= size_t(dim);
  return count;
}

static OperandError errorOfWeights(const ScaledWeights &weights,
                                   ArrayRef<int64_t> asked,
                                   ArrayRef<double> sizes) {
  OperandError result;
  ArrayRef<int64_t> shape = weights.shape();
  AbstractValue::Dims dims = chooseGroups(weights, asked);
  std::optional<size_t> axis = weights.layout().firstContracted();
  // An index that the gradient does not tell apart counts as the operand does
  // that it meets.
  if (!axis || dims[*axis] != 1 || int64_t(sizes.size()) != shape[*axis])
    sizes = {};
  size_t count = axis ? size_t(shape[*axis]) : 1;
  std::vector<StorageError> errors(countGroups(dims));
  result.along.resize(count);
  double clipped = 0, flushed = 0, nonZero = 0;
  GroupWalk walk(shape, dims);
  for (auto [index, value] : llvm::enumerate(weights.values())) {
    const StorageFormat &format = weights.formatOf(index);
    double stored = format.round(value), error = stored - value;
    size_t at = axis ? walk.at(*axis) : 0;
    errors[walk.group()].add({error, error * error},
                             sizes.empty() ? 1 : sizes[at]);
    NumberAndError &along = result.along[at];
    along.square += value * value;
    along.error += error * error;
    nonZero += value != 0;
    flushed += value != 0 && stored == 0;
    constexpr double kRounded = 1 + 0x1p-20; // of a scale in FP32
    clipped += std::fabs(value) > format.ends().maxAbs() * kRounded;
    walk.next();
  }
  double size = double(weights.values().size());
  std::vector<Cell> cells;
  for (StorageError error : errors) {
    double each = double(errors.size()) / std::max(size, 1.0);
    error.mean *= each;
    error.square *= each;
    cells.push_back({0, 0, error.mean,
                     std::max(0.0, error.square - error.mean * error.mean), 0,
                     0});
  }
  for (NumberAndError &along : result.along) {
    along.square *= double(result.along.size()) / std::max(size, 1.0);
    along.error *= double(result.along.size()) / std::max(size, 1.0);
  }
  result.error = AbstractValue(dims, cells);
  result.error.source = LikelySource::Weight;
  if (weights.isSwapped()) {
    SmallVector<int64_t> order(shape.size());
    for (size_t axis = 0; axis < order.size(); ++axis)
      order[axis] = int64_t(axis);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    result.error = result.error.transposed(order);
  }
  if (nonZero > 0) {
    result.clipped = clipped / nonZero;
    result.flushed = flushed / nonZero;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// The scale group of a group of elements, as far as it tells them apart.
static uint64_t keyOf(const ScaledOperand &operand, ArrayRef<int64_t> at,
                      ArrayRef<int64_t> dims) {
  const OperandScaling &scaling = operand.scaling;
  if (scaling.grain == OperandScaling::Grain::Tensor)
    return 0;
  uint64_t key = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    int64_t index = at[axis];
    if (operand.layout.axes[axis] == AxisPart::Contracted)
      index = scaling.grain == OperandScaling::Grain::Row
                  ? 0
                  : index * operand.layout.taps / scaling.size;
    key = key * uint64_t(dims[axis]) + uint64_t(index);
  }
  return key;
}

/// The elements of one group that share a scale.
static double countOf(const ScaledOperand &operand, ArrayRef<int64_t> dims) {
  MaybeShape shape = getShape(operand.input);
  const OperandScaling &scaling = operand.scaling;
  double count = double(operand.layout.taps);
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (operand.layout.axes[axis] == AxisPart::Contracted && dims[axis] == 1)
      count *= double(std::max<int64_t>((*shape)[axis], 1));
  return scaling.grain == OperandScaling::Grain::Row
             ? count
             : std::min(count, double(scaling.size));
}

ScaleGroups::ScaleGroups(const ScaledOperand &operand, ArrayRef<int64_t> dims,
                         TransferContext &ctx) {
  size_t groups = countGroups(dims);
  each = operand.scaling.grain == OperandScaling::Grain::Tensor
             ? ctx.elementsPerGroup(operand.input, groups)
             : countOf(operand, dims);
  llvm::DenseMap<uint64_t, size_t> known;
  SmallVector<int64_t> at(dims.size(), 0);
  for (size_t group = 0; group < groups; ++group) {
    auto [entry, isNew] =
        known.try_emplace(keyOf(operand, at, dims), known.size());
    scaleOf.push_back(entry->second);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++at[axis] < dims[axis])
        break;
      at[axis] = 0;
    }
  }
  count = known.size();
}

namespace {
/// The scales of an operand of which moments are known.
class ExpectedScales {
public:
  ExpectedScales(const ScaledOperand &operand, const ExpectedNumbers &numbers,
                 TransferContext &ctx);

  /// The format in which the group's elements are stored, for a largest element
  /// that is `larger` times as large as expected.
  StorageFormat formatOf(size_t group, double larger = 1) const {
    Interval span = spans[groups.scaleOf[group]];
    return operand.scaling.of({span.lo * larger, span.hi * larger},
                              most * larger);
  }
  Interval span(size_t group) const { return spans[groups.scaleOf[group]]; }

private:
  const ScaledOperand &operand;
  ScaleGroups groups;
  std::vector<Interval> spans;
  double most = 0;
};
} // namespace

/// Without the zeros among them.
static Cell withoutZeros(const Cell &cell, double zero) {
  if (zero == 0)
    return cell;
  Cell live = cell;
  live.mean = 0;
  // Moments are about 0 where all elements are.
  live.variance = meanSquare(cell) / std::max(1 - zero, 1e-6);
  return live;
}

ExpectedScales::ExpectedScales(const ScaledOperand &operand,
                               const ExpectedNumbers &numbers,
                               TransferContext &ctx)
    : operand(operand), groups(operand, numbers.value.dims(), ctx) {
  const AbstractValue &value = numbers.value;
  bool ofTensor = operand.scaling.grain == OperandScaling::Grain::Tensor;
  std::vector<SmallVector<ScaleMember>> members(groups.count);
  Interval all = {0, 0};
  double each = groups.each * (1 - numbers.zero);
  for (size_t group = 0; group < value.groups(); ++group) {
    Cell cell = withoutZeros(value.cell(group), numbers.zero);
    all = hull(all, Interval{cell.likelyLo, cell.likelyHi});
    members[groups.scaleOf[group]].push_back({each, cell.mean, cell.variance});
  }
  if (numbers.largest > all.maxAbs())
    all = Interval::symmetric(numbers.largest);
  if (numbers.calibrated && ofTensor)
    all = *numbers.calibrated;
  most = all.maxAbs();
  for (ArrayRef<ScaleMember> list : members) {
    if (ofTensor) {
      spans.push_back(all);
      continue;
    }
    double largest = std::min(expectedLargest(list), most);
    spans.push_back({-largest, largest});
  }
}

/// The share of the largest of the elements that share a scale: it is as likely
/// one of the group as its tail has of all that is larger.
static double shareOfLargest(const Cell &cell, const ExpectedScales &scales,
                             size_t group) {
  return shareBeyond(cell.mean, cell.variance, scales.span(group).maxAbs()) /
         std::numbers::ln2;
}

/// E[x^2; |x| > edge] of normal x.
static double squareBeyond(double mean, double variance, double edge) {
  if (!(variance > 0))
    return std::fabs(mean) > edge ? mean * mean : 0;
  double deviation = std::sqrt(variance), square = 0;
  for (double side : {mean, -mean}) {
    double at = (edge - side) / deviation;
    square += (side * side + variance) * normalShareBelow(-at) +
              (2 * side + deviation * at) * deviation * normalDensity(at);
  }
  return square;
}

/// The reduction of a group's squared error by the largest of the elements that
/// share a scale, which has the last code: roundingSquareOf leaves out the part
/// of a normal number beyond that code, which is less where few share it. A
/// scale that is stored in E4M3 itself moves the largest by the rounding of
/// that.
static double squareOfLargest(const Cell &cell, const ExpectedScales &scales,
                              const OperandScaling &scaling, size_t group,
                              const StorageFormat &format) {
  bool ofCodes = scaling.rounding == OperandScaling::Rounding::Codes;
  if (!format.floats || scaling.grain == OperandScaling::Grain::Tensor ||
      (scaling.rounding != OperandScaling::Rounding::None && !ofCodes))
    return 0;
  double u = format.floats->unitRoundoff(),
         largest = scales.span(group).maxAbs(),
         left =
             ofCodes ? FloatFormat::byName("f8E4M3FN")->unitRoundoff() / u : 0;
  // The largest of normal numbers is above its median t by 0.21 / t of their
  // variance on average (Gumbel: the mean is at 0.577, the median at 0.367).
  constexpr double kMeanOfSquare = 2 * (0.5772 - 0.3665);
  double square = largest * largest + kMeanOfSquare * cell.variance,
         its = square * shareOfLargest(cell, scales, group),
         beyond =
             squareBeyond(cell.mean, cell.variance, format.overflowFrom().hi);
  return kScaledSquare * u * u * std::max(1 - left * left, 0.0) *
         std::max(its - beyond, 0.0);
}

/// The expected share of elements past the last number, and the square of what
/// clipping them changes, where a power of two is the scale by exponents alone:
/// over largest elements whose logarithm is even within a binade.
static std::pair<double, double>
clippedBy(const Cell &cell, const ExpectedScales &scales, size_t group) {
  // A binade in eighths, as many as E4M3 has numbers.
  constexpr unsigned kPoints = 8;
  double share = 0, square = 0, largest = scales.span(group).maxAbs();
  for (unsigned point = 0; point < kPoints; ++point) {
    double larger = std::exp2((point + 0.5) / kPoints);
    double end = scales.formatOf(group, larger).ends().maxAbs() / larger;
    if (!(largest > end))
      continue;
    // The largest itself, and of the others those between.
    double between =
        std::max(0.0, shareBeyond(cell.mean, cell.variance, end) -
                          shareBeyond(cell.mean, cell.variance, largest));
    double one = shareOfLargest(cell, scales, group), past = largest - end;
    share += (one + between) / kPoints;
    square += past * past * (one + between / 3) / kPoints;
  }
  return {share, square};
}

/// The mean square of the probabilities that rounding moves: a 1 is the largest
/// of its scale, which is a code. Where few elements have a row, the logarithm
/// of p / (1 - p) is nearly uniform, the density of p is c / (p (1 - p)) with c
/// = E p (1 - p), and that of p up to u / 2 below 1 is c (ln (2 / u) - 1 + u /
/// 2).
static double squareBelowOne(const Cell &cell, const StorageFormat &format) {
  double square = meanSquare(cell);
  if (!format.floats)
    return square;
  double next = format.floats->unitRoundoff() / 2,
         contended = std::max(cell.mean - square, 0.0);
  return std::min(square, contended * (next - 1 - std::log(next)));
}

/// The share of elements that are no exact zeros, as a rectifier makes them:
/// integers store those as they are.
static double shareOfNonZero(Value value, const RangeAnalysis &ranges) {
  Operation *op = getMaker(value, Peel::CastsAndViews);
  if (!op || !hasRole(op, Role::Rectifier))
    return 1;
  const AbstractValue &x = ranges.preRounding(op->getOperand(0));
  if (!x.hasLikely())
    return 1;
  double share = 0;
  for (const Cell &cell : x.cells())
    share += cell.variance > 0
                 ? normalShareBelow(cell.mean / std::sqrt(cell.variance))
                 : cell.mean > 0;
  return std::max(share / double(x.groups()), 0x1p-10);
}

void mpopt::setAlong(OperandError &result, const ScaledOperand &operand,
                     ArrayRef<NumberAndError> numbers) {
  ArrayRef<int64_t> dims = result.error.dims();
  std::optional<size_t> axis = operand.layout.firstContracted();
  size_t count = axis ? size_t(dims[*axis]) : 1;
  result.along.resize(count);
  size_t inner = countBehind(dims, axis);
  for (auto [group, number] : llvm::enumerate(numbers)) {
    NumberAndError &along = result.along[group / inner % count];
    along.square += number.square * double(count) / double(numbers.size());
    along.error += number.error * double(count) / double(numbers.size());
  }
}

OperandError mpopt::errorOf(const ScaledOperand &operand,
                            const ExpectedNumbers &expected,
                            TransferContext &ctx) {
  const AbstractValue &value = expected.value;
  OperandError result;
  result.error = AbstractValue::like(value);
  if (!value.hasLikely() || value.rank() != operand.layout.axes.size())
    return result;
  result.error.source = LikelySource::Propagated;
  if (expected.targets)
    return errorOfTargets(operand, expected, ctx);
  ExpectedScales scales(operand, expected, ctx);
  bool clips = operand.scaling.rounding == OperandScaling::Rounding::Floor;
  double live = 1 - expected.zero;
  std::vector<NumberAndError> numbers(value.groups());
  MutableCells cells = result.error.mutableCells();
  double all = 0, byClipping = 0;
  Operation *maker = getMaker(operand.input, Peel::CastsAndViews);
  bool ofSoftmax = maker && hasRole(maker, Role::Softmax);
  ActivationError settled(ctx.elementsPerGroup(operand.input, value.groups()),
                          getTrust(operand.input), /*rectifies=*/false);
  for (size_t group = 0; group < value.groups(); ++group) {
    Cell cell = withoutZeros(value.cell(group), expected.zero);
    StorageFormat format = scales.formatOf(group);
    result.flushAt.push_back(format.flushAt());
    double square = live * roundingSquareOf(cell.mean, cell.variance, format);
    square -=
        std::min(square, live * squareOfLargest(cell, scales, operand.scaling,
                                                group, format));
    if (ofSoftmax && meanSquare(cell) > 0)
      square *= squareBelowOne(cell, format) / meanSquare(cell);
    if (expected.calibrated) {
      double before = settled.clippedSquare();
      settled.of({cell.mean, cell.variance, cell.likelyLo, cell.likelyHi},
                 format);
      double its = settled.clippedSquare() - before;
      byClipping += its;
      square += its;
    }
    if (clips) {
      auto [share, its] = clippedBy(cell, scales, group);
      result.clipped += share / double(value.groups());
      byClipping += its;
      square += its;
    }
    // A scale that is stored in E4M3 is too small in half of all groups. What
    // that cuts off, up to 1/16, is less than a code is rounded by.
    if (operand.scaling.rounding == OperandScaling::Rounding::Codes)
      result.clipped +=
          shareOfLargest(cell, scales, group) / 2 / double(value.groups());
    all += square;
    numbers[group] = {live * meanSquare(cell), square};
    cells[group] = Cell{0, 0, 0, square, 0, 0};
  }
  result.byClipping = all > 0 ? byClipping / all : 0;
  setAlong(result, operand, numbers);
  return result;
}

/// Integers store the exact zeros that a rectifier makes as they are.
static OperandError errorOfActivation(const ScaledOperand &operand,
                                      const RangeAnalysis &ranges) {
  ExpectedNumbers numbers = {ranges.preRounding(operand.input)};
  if (operand.isStatic)
    numbers.calibrated = getCalibrated(operand.input);
  OperandError result = errorOf(operand, numbers, ranges.context());
  double live = operand.scaling.codes().floats
                    ? 1
                    : shareOfNonZero(operand.input, ranges);
  if (live == 1 || !result.error.hasLikely())
    return result;
  for (NumberAndError &along : result.along)
    along.error *= live;
  for (CellRef cell : result.error.mutableCells())
    cell.variance *= live;
  return result;
}

//===----------------------------------------------------------------------===//
// Groups of a gradient
//===----------------------------------------------------------------------===//

/// Mean squares along the first contracted axis, of their own mean: the
/// gradient of the other operand has these sizes. Empty if all indices are one
/// group.
static std::vector<double> sizesAlong(const ScaledOperand &operand,
                                      const RangeAnalysis &ranges) {
  std::vector<double> sizes;
  for (const NumberAndError &number : errorOf(operand, ranges).along)
    sizes.push_back(number.square);
  double mean = 0;
  for (double size : sizes)
    mean += size / double(sizes.size());
  if (sizes.size() < 2 || !(mean > 0))
    return {};
  for (double &size : sizes)
    size /= mean;
  return sizes;
}

/// The sizes of what an operand meets, where groups of a gradient with `dims`
/// do not tell them.
static std::vector<double> findMet(const ScaledOperand &operand,
                                   ArrayRef<int64_t> dims,
                                   const RangeAnalysis &ranges) {
  std::optional<size_t> axis = operand.layout.firstContracted();
  mp::CastOp other = operand.other();
  if (!axis || dims.size() != operand.layout.axes.size() || dims[*axis] != 1 ||
      !other)
    return {};
  auto its = getScaledOperand(other.getResult());
  return its ? sizesAlong(*its, ranges) : std::vector<double>();
}

/// Weighs the errors of an activation by what they meet.
static void weigh(AbstractValue &error, size_t axis, ArrayRef<double> sizes) {
  if (error.rank() <= axis || error.dims()[axis] != int64_t(sizes.size()))
    return;
  size_t inner = countBehind(error.dims(), axis);
  MutableCells cells = error.mutableCells();
  for (size_t group = 0; group < cells.size(); ++group) {
    Cell cell = error.cell(group);
    cell.variance *= sizes[group / inner % sizes.size()];
    cells[group] = cell;
  }
}

OperandError mpopt::errorOf(const ScaledOperand &operand,
                            const RangeAnalysis &ranges,
                            ArrayRef<int64_t> dims) {
  std::vector<double> met = findMet(operand, dims, ranges);
  if (auto weights = ScaledWeights::of(operand, ranges.context())) {
    OperandError result = errorOfWeights(*weights, dims, met);
    result.zeroGroups = weights->zeroGroups();
    return result;
  }
  OperandError result = errorOfActivation(operand, ranges);
  if (!met.empty())
    weigh(result.error, *operand.layout.firstContracted(), met);
  return result;
}
