//===- WeightErrors.cpp - The error of weights whose codes a file has
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WeightErrors.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/FloatTwin.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Propagate/CodeMismatch.h"
#include "mpopt/Propagate/IntegerProduct.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/QuantizationSupport.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

double mpopt::clippedSquare(double deviation) {
  double z = 1 / deviation;
  double inside = 1 - 2 * normalShareBelow(-z);
  return deviation * deviation * (inside - 2 * z * normalDensity(z)) + 1 -
         inside;
}

double mpopt::deviationBeforeClipping(double ratio) {
  // It is a third for uniform numbers up to the end, less for normal ones that
  // no end clips, and somewhat more for the few of a small tensor.
  constexpr double kEven = 0.45;
  if (!(ratio > kEven) || ratio > 1)
    return 0;
  // Beyond, nine codes in ten are the last ones.
  double lo = 0.3, hi = 8;
  for (int step = 0; step < 40; ++step) {
    double middle = (lo + hi) / 2;
    (clippedSquare(middle) < ratio ? lo : hi) = middle;
  }
  return lo;
}

/// The magnitude at which weights of integer codes are clipped on both sides.
static double endOf(const StorageFormat &format) {
  return std::min(-format.ends().lo, format.ends().hi);
}

/// The error of weights by the numbers that their codes stand for; `reach`:
/// their deviation before, relative to the magnitude at which they are clipped.
static StorageError errorOfWeight(const StorageFormat &format, double reach,
                                  ArrayRef<Likely> in) {
  StorageFormat scaled = format.scaled(std::fabs(in[1].mean), in[2].mean);
  double step = in[1].mean * in[1].mean + in[1].variance;
  StorageError error = {0, step / 12};
  if (format.floats)
    error = storageErrorOf(in[0].mean, in[0].variance, scaled, false, false);
  double square = std::pow(reach * endOf(scaled), 2);
  if (square > 0)
    error.square += storageErrorOf(0, square, scaled).square -
                    storageErrorOf(0, square, scaled, false, false).square;
  return error;
}

static FloatRange noBound(ArrayRef<FloatRange>) { return FloatRange::point(0); }

static double zeroPointOf(mp::DequantizeOp op, const RangeAnalysis &ranges) {
  return op.getZeroPoint() ? ranges.of(op.getZeroPoint()).hull().mean : 0;
}

/// Removes the codes, of elements from `first` on, of channels that have none
/// past 1 (MP604): those that share a scale with larger ones collapse to 0,
/// which says nothing of exact zeros.
static void dropCollapsed(mp::DequantizeOp op, double zero, int64_t first,
                          std::vector<double> &codes) {
  std::optional<int64_t> axis = findSharedAxis(op);
  if (!axis)
    return;
  MaybeShape dims = getShape(op.getResult());
  int64_t inner = 1;
  for (int64_t dim : ArrayRef(*dims).drop_front(*axis + 1))
    inner *= dim;
  auto channelOf = [&](size_t index) {
    return (first + int64_t(index)) / inner % (*dims)[*axis];
  };
  llvm::DenseSet<int64_t> live;
  for (auto [index, code] : llvm::enumerate(codes))
    if (std::fabs(code - zero) > 1)
      live.insert(channelOf(index));
  size_t kept = 0;
  for (size_t index = 0; index < codes.size(); ++index)
    if (live.contains(channelOf(index)))
      codes[kept++] = codes[index];
  codes.resize(kept);
}

/// True if every code of an index of the axis is the zero point.
static bool isDeadChannel(const WeightView &codes, size_t axis, int64_t channel,
                          double zero) {
  constexpr int64_t kPiece = 256;
  double piece[kPiece];
  int64_t size = codes.shape[axis], inner = 1;
  for (int64_t dim : ArrayRef(codes.shape).drop_front(axis + 1))
    inner *= dim;
  for (int64_t row = channel * inner; row < codes.size(); row += size * inner)
    for (int64_t first = 0; first < inner; first += kPiece) {
      MutableArrayRef<double> read(piece, std::min(kPiece, inner - first));
      codes.read(row + first, read);
      if (llvm::any_of(read, [&](double code) { return code != zero; }))
        return false;
    }
  return true;
}

/// Makes the scale 0 of a channel whose integer codes all stand for 0. A scale
/// is that of the channel's largest number, so that there was none and the
/// scale is arbitrary: ONNX Runtime writes 1, which is no step of its errors.
static void dropDeadScales(Value codes, Value scale, Value zeroPoint,
                           const StorageFormat &format,
                           const RangeAnalysis &ranges, AbstractValue &scales) {
  std::optional<WeightView> view = ranges.context().weights(codes);
  auto steps = readElements(scale, ranges),
       zeros = readElements(zeroPoint, ranges);
  if (!view || view->splat || !steps || steps->size() < 2 || !zeros ||
      format.block || format.floats || !format.axis)
    return;
  auto axis = normalizeAxis(*format.axis, int64_t(view->shape.size()));
  if (!axis || view->shape[*axis] != int64_t(steps->size()) ||
      (zeros->size() != 1 && zeros->size() != steps->size()))
    return;
  std::vector<Cell> cells;
  for (auto [channel, step] : llvm::enumerate(*steps))
    cells.push_back(
        cells::point(isDeadChannel(*view, *axis, int64_t(channel),
                                   (*zeros)[zeros->size() == 1 ? 0 : channel])
                         ? 0
                         : step));
  AbstractValue::Dims dims(view->shape.size(), 1);
  dims[*axis] = cells.size();
  AbstractValue live(dims, cells);
  live.copyFlags(scales);
  scales = live.limited(ranges.context().groupLimit());
}

/// Codes out of the middle of a weight; none of those that are all the same,
/// nor of channels that are.
static std::vector<double> readCodes(mp::DequantizeOp op,
                                     const RangeAnalysis &ranges) {
  // As many as tell a share of a tenth.
  constexpr int64_t kMostRead = 1 << 12;
  std::optional<WeightView> view = ranges.context().weights(op.getInput());
  if (!view || view->splat || view->size() == 0)
    return {};
  std::vector<double> codes(std::min(view->size(), kMostRead));
  int64_t first = (view->size() - int64_t(codes.size())) / 2;
  view->read(first, codes);
  dropCollapsed(op, zeroPointOf(op, ranges), first, codes);
  return codes;
}

/// The share of a weight's elements that were no exact zeros, as those beside a
/// filter's band and pruned ones are: codes of 0 past those of normal numbers
/// with the root mean square of the others.
static double shareOfLive(mp::DequantizeOp op, const RangeAnalysis &ranges) {
  std::vector<double> codes = readCodes(op, ranges);
  if (codes.empty())
    return 1;
  double zero = zeroPointOf(op, ranges);
  double zeros = 0, square = 0;
  for (double code : codes) {
    zeros += code == zero;
    square += (code - zero) * (code - zero);
  }
  double count = double(codes.size()), live = count - zeros;
  if (!(live > 0))
    return 1;
  double half = 0.5 / std::sqrt(square / live);
  double expected = 1 - 2 * normalShareBelow(-half);
  // With z zeros among n elements, (z - e n) / (1 - e) had no other number.
  return 1 - std::max(0.0, zeros / count - expected) / (1 - expected);
}

/// True if the number is that of the code by which its scale was chosen.
static bool isAtEnd(ArrayRef<Likely> in, const StorageFormat &format) {
  // A product of two numbers in binary32.
  constexpr double kRounded = 1 - 1e-6;
  Interval ends = format.scaled(std::fabs(in[1].mean), in[2].mean).ends();
  double number = in[0].mean, most = number < 0 ? -ends.lo : ends.hi;
  double step = std::fabs(in[1].mean);
  // Symmetric codes leave the least one out.
  return std::fabs(number) >= (most - (number < 0 ? step : 0)) * kRounded;
}

std::optional<int64_t> mpopt::findSharedAxis(mp::DequantizeOp op) {
  MaybeShape scales = getShape(op.getScale()), shape = getShape(op.getResult());
  if (!isConstant(op.getInput()) || !scales || getNumElements(scales) != 1 ||
      !shape)
    return std::nullopt;
  for (OpOperand &use : op.getResult().getUses()) {
    if (auto axis = findChannelAxis(use, int64_t(shape->size())))
      return axis;
    // Each row of a table is one token's.
    auto gather = dyn_cast<mp::GatherOp>(use.getOwner());
    if (use.getOperandNumber() == 0 && shape->size() > 1 &&
        (isa<mp::EmbeddingOp>(use.getOwner()) ||
         (gather && gather.getAxis() == 0)))
      return 0;
  }
  return std::nullopt;
}

/// The scale of each channel is that of its largest number, as far as its codes
/// tell that.
static void tryScales(mp::DequantizeOp op, const StorageFormat &format,
                      const RangeAnalysis &ranges, QuantizationError &error) {
  std::optional<int64_t> axis = findSharedAxis(op);
  const AbstractValue &x = ranges.preRounding(op.getResult());
  if (!axis || format.floats || size_t(*axis) >= x.rank() ||
      x.dims()[*axis] < 2)
    return;
  size_t inner = 1;
  for (int64_t dim : x.dims().drop_front(*axis + 1))
    inner *= size_t(dim);
  AbstractValue::Dims dims(x.rank(), 1);
  dims[*axis] = x.dims()[*axis];
  std::vector<double> largest(x.dims()[*axis], 0);
  for (size_t group = 0; group < x.groups(); ++group) {
    Cell numbers = x.cell(group);
    double &most = largest[group / inner % largest.size()];
    most = std::max({most, -numbers.likelyLo, numbers.likelyHi});
  }
  double end = std::min(-format.codes.lo, format.codes.hi),
         shared = meanSquare(error.error);
  std::vector<Cell> cells;
  for (double most : largest)
    cells.push_back(
        {0, 0, 0, std::min(shared, std::pow(most / end, 2) / 12), 0, 0});
  LikelySource source = error.error.source;
  error.error = AbstractValue(dims, cells);
  error.error.source = source;
}

/// The float model says how large an error is, and scales which part of it is a
/// channel's.
static void matchFloatModel(Operation *op, AbstractValue &error) {
  auto exact = op->getAttrOfType<FloatAttr>(kWeightErrorAttr);
  double expected = meanSquare(error);
  if (!exact || !(expected > 0))
    return;
  double factor = exact.getValueAsDouble() / expected;
  for (CellRef cell : error.mutableCells()) {
    cell.mean *= std::sqrt(factor);
    cell.variance *= factor;
  }
}

std::optional<QuantizationError>
mpopt::errorOfCodes(mp::DequantizeOp op, const RangeAnalysis &ranges,
                    StringRef tried) {
  auto format = storageFormatOf(op);
  if (!format || !isConstant(op.getInput()))
    return std::nullopt;
  TransferContext &ctx = ranges.context();
  QuantizationError result;
  result.isOfWeights = true;
  double reach = reachBeforeClipping(op, ranges);
  double live = format->floats ? 1 : shareOfLive(op, ranges);
  SmallVector<AbstractValue, 3> operands =
      alignQuantization(ranges.preRounding(op.getResult()), op.getScale(),
                        op.getZeroPoint(), *format, ctx);
  dropDeadScales(op.getInput(), op.getScale(), op.getZeroPoint(), *format,
                 ranges, operands[1]);
  result.error = mapGroups(ctx, operands, noBound, [&](ArrayRef<Likely> in) {
    StorageError error = errorOfWeight(*format, reach, in);
    error.square *= live;
    // No quantiser gives a negative scale: it turns the weight's sign.
    if (in[1].mean < 0)
      error = {-2 * in[0].mean, 4 * (in[0].mean * in[0].mean + in[0].variance)};
    // The largest number sets the scale, of which it is a multiple.
    if (in[0].variance == 0 && isAtEnd(in, *format))
      error = {};
    return toLikely(error);
  });
  matchFloatModel(op, result.error);
  if (tried == kTriedChannels)
    tryScales(op, *format, ranges, result);
  // Steps are twice as wide.
  if (tried == kTriedReducedRange)
    for (CellRef cell : result.error.mutableCells())
      cell.variance *= 4;
  return result;
}

/// The share of a weight's codes that are at an end, of which symmetric codes
/// leave the least one out; 0 where all are the same, which nothing clipped.
static double shareAtEnds(mp::DequantizeOp op, const StorageFormat &format,
                          const RangeAnalysis &ranges) {
  std::vector<double> codes = readCodes(op, ranges);
  double lo = format.codes.lo + (format.floats ? 0 : 1);
  auto isAtEnd = [&](double code) {
    return code <= lo || code >= format.codes.hi;
  };
  return codes.empty() || llvm::all_equal(codes)
             ? 0
             : double(llvm::count_if(codes, isAtEnd)) / double(codes.size());
}

/// The deviation of normal numbers, of the end, of which that share is at the
/// last code of a float format, whose steps are as wide as to tell that from
/// numbers that are even up to it; 0 where their mean square, of the end's, is
/// another one.
static double deviationByShare(const StorageFormat &format, double share,
                               double ratio) {
  constexpr double kMore = 2, kSame = 1.5;
  double even = format.step(format.codes.hi) / format.codes.hi / 2;
  if (!(share > kMore * even) || share >= 1)
    return 0;
  double deviation = -1 / normalQuantile(share / 2);
  double expected = clippedSquare(deviation);
  return expected < kSame * ratio && ratio < kSame * expected ? deviation : 0;
}

double mpopt::reachBeforeClipping(mp::DequantizeOp op,
                                  const RangeAnalysis &ranges) {
  auto format = storageFormatOf(op);
  if (!format || !isConstant(op.getInput()))
    return 0;
  // All channels are taken together: few elements say little.
  double sum = 0, count = 0;
  mapGroups(ranges.context(),
            alignQuantization(ranges.preRounding(op.getResult()), op.getScale(),
                              op.getZeroPoint(), *format, ranges.context()),
            noBound, [&](ArrayRef<Likely> in) {
              double end =
                  endOf(format->scaled(std::fabs(in[1].mean), in[2].mean));
              if (end > 0) {
                sum += (in[0].mean * in[0].mean + in[0].variance) / (end * end);
                ++count;
              }
              return in[0];
            });
  if (count == 0)
    return 0;
  // The largest weight of a scale is at the end by construction.
  double each =
      std::max(double(getNumElements(getShape(op.getResult())).value_or(1)) /
                   double(getNumElements(getShape(op.getScale())).value_or(1)),
               2.0);
  double ratio = (sum / count - 1 / each) / (1 - 1 / each),
         atEnds = shareAtEnds(op, *format, ranges) - 1 / each,
         deviation = deviationBeforeClipping(ratio);
  if (format->floats && deviation == 0)
    return deviationByShare(*format, atEnds, ratio);
  // Clipped weights have the first or the last code; weights that are as large
  // as each other, as those of a norm are, have others or all the same one.
  double clipped = deviation > 0 ? 2 * normalShareBelow(-1 / deviation) : 0;
  return atEnds > clipped / 2 ? deviation : 0;
}

std::optional<QuantizationError>
mpopt::errorOfConstant(Value codes, const RangeAnalysis &ranges) {
  if (!isa<IntegerType>(getElementType(codes)) || !isConstant(codes))
    return std::nullopt;
  for (Operation *user : codes.getUsers()) {
    std::optional<IntegerProduct> product = findIntegerProduct(user);
    if (!product || product->rhs != codes)
      continue;
    StorageFormat format = *storageFormatOf(getElementType(codes));
    format.axis = product->axis;
    TransferContext &ctx = ranges.context();
    QuantizationError result;
    result.isOfWeights = true;
    SmallVector<AbstractValue, 3> operands =
        alignQuantization(ranges.of(codes), product->rhsScale,
                          product->rhsZeroPoint, format, ctx);
    dropDeadScales(codes, product->rhsScale, product->rhsZeroPoint, format,
                   ranges, operands[1]);
    result.error = mapGroups(ctx, operands, noBound, [&](ArrayRef<Likely> in) {
      return toLikely(errorOfWeight(format, /*reach=*/0, in));
    });
    matchFloatModel(codes.getDefiningOp(), result.error);
    return result;
  }
  return std::nullopt;
}

std::optional<QuantizationError>
mpopt::errorOfCast(mp::CastOp op, const RangeAnalysis &ranges) {
  auto format = storageFormatOf(getElementType(op.getInput()));
  if (!format || !isCastOfCodes(op))
    return std::nullopt;
  QuantizationError result;
  result.isOfWeights = true;
  result.error = mapGroups(
      ranges.context(), {ranges.preRounding(op.getResult())}, noBound,
      [&](ArrayRef<Likely> in) {
        return toLikely(errorOfWeight(
            *format, /*reach=*/0, {in[0], Likely::point(1), Likely::point(0)}));
      });
  return result;
}
