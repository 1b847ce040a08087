//===- QuantizationErrors.cpp - The error of quantising a tensor
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/QuantizationErrors.h"

#include "ActivationError.h"
#include "WeightErrors.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/FloatTwin.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Propagate/CodeMismatch.h"
#include "mpopt/Propagate/CodeSums.h"
#include "mpopt/Propagate/Masks.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Propagate/OperandErrors.h"
#include "mpopt/Ranges/Analysis/ExpectedCodes.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/QuantizationSupport.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

bool QuantizationErrors::judges(Value value) {
  if (!isJudged) {
    auto module =
        value.getParentBlock()->getParentOp()->getParentOfType<ModuleOp>();
    isJudged = module && getPrecision(module).isAsIs() && isQuantized(module);
  }
  return *isJudged;
}

//===----------------------------------------------------------------------===//
// Numbers that codes stand for already
//===----------------------------------------------------------------------===//

static bool areSameNumbers(Value lhs, Value rhs) {
  if (lhs == rhs)
    return true;
  if (!lhs || !rhs)
    return getSplatConstant(lhs ? lhs : rhs) == 0.0;
  std::optional<double> number = getSplatConstant(lhs);
  return number && number == getSplatConstant(rhs);
}

std::optional<WrongBorder> mpopt::findWrongBorder(mp::PadOp op) {
  std::optional<double> code =
      op.getValue() ? getSplatConstant(op.getValue()) : std::optional(0.0);
  if (op.getMode() != stringifyEnum(mp::PadMode::Constant) || code != 0.0)
    return std::nullopt;
  for (Operation *user : op.getResult().getUsers()) {
    auto numbers = dyn_cast<mp::DequantizeOp>(user);
    std::optional<double> zero = numbers && numbers.getZeroPoint()
                                     ? getSplatConstant(numbers.getZeroPoint())
                                     : std::nullopt;
    // A maximum takes the least code for none.
    if (zero && *zero != 0 &&
        !llvm::all_of(numbers.getResult().getUsers(),
                      llvm::IsaPred<mp::MaxPoolOp>))
      return WrongBorder{numbers.getResult(), numbers.getScale(),
                         numbers.getZeroPoint(), *zero};
  }
  return std::nullopt;
}

bool mpopt::isOnGrid(Value x, mp::QuantizeOp grid) {
  // Views between two quantised layers are few; a bound on time alone.
  constexpr unsigned kMost = 64;
  SmallVector<Value> work = {x};
  for (unsigned count = 0; !work.empty(); ++count) {
    if (count == kMost)
      return false;
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getNumOperands() == 0)
      return false;
    if (auto codes = dyn_cast<mp::DequantizeOp>(op)) {
      if (getElementType(codes.getInput()) !=
              getElementType(grid.getResult()) ||
          !areSameNumbers(codes.getScale(), grid.getScale()) ||
          !areSameNumbers(codes.getZeroPoint(), grid.getZeroPoint()))
        return false;
      continue;
    }
    if (hasRole(op, Role::Concatenation))
      llvm::append_range(work, op->getOperands());
    else if (hasRole(op, Role::CopiesElements | Role::Rectifier))
      work.push_back(op->getOperand(0));
    else
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// One number of each group
//===----------------------------------------------------------------------===//

static FloatRange noBound(ArrayRef<FloatRange>) { return FloatRange::point(0); }

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

bool mpopt::rectifies(Value x, Value zeroPoint, const StorageFormat &format) {
  std::optional<double> zero =
      zeroPoint ? getSplatConstant(zeroPoint) : std::optional(0.0);
  Operation *maker = getMaker(x, Peel::CastsAndViews);
  return zero == format.codes.lo && maker && !isa<mp::DequantizeOp>(maker) &&
         !isConstant(x);
}

static StringRef triedOn(Operation *op) {
  auto tried = op->getAttrOfType<StringAttr>(kTriedFixAttr);
  return tried ? tried.getValue() : StringRef();
}

std::optional<StorageFormat> mpopt::spanExpected(mp::QuantizeOp op, bool isWide,
                                                 const RangeAnalysis &ranges) {
  auto format = storageFormatOf(op);
  const AbstractValue &x = ranges.preRounding(op.getInput());
  if (!format || format->floats || !x.hasLikely())
    return std::nullopt;
  if (isWide)
    format = StorageFormat::integers(16, format->codes.lo < 0);
  Cell all = x.hull();
  if (auto scores = findMaskedScores(op.getInput(), ranges))
    all = scores->live;
  bool cuts = rectifies(op.getInput(), op.getZeroPoint(), *storageFormatOf(op));
  double lo = cuts ? 0 : std::min(all.likelyLo, 0.0),
         hi = std::max(all.likelyHi, 0.0);
  // Without a zero point codes stand for as much on both sides.
  if (!op.getZeroPoint() && format->codes.lo < 0) {
    lo = std::min(lo, -hi) * format->codes.lo / -format->codes.hi;
    hi = -lo * format->codes.hi / -format->codes.lo;
  }
  double scale = (hi - lo) / (format->codes.hi - format->codes.lo);
  if (!(scale > 0) || !std::isfinite(scale))
    return std::nullopt;
  return format->scaled(scale, std::nearbyint(format->codes.lo - lo / scale));
}

/// True if so many numbers are expected past what a calibration saw that their
/// mean square is about what is met: the root of a sum of n squares of
/// exponentially distributed overshoots deviates by 1.1 / sqrt(n) of itself, a
/// third at 10. A calibration of K evaluations leaves one end of a tensor a
/// chance of 1 / K in each.
bool QuantizationErrors::expectsUnseen(Value value) {
  if (!isUnseenExpected) {
    constexpr double kEnough = 10;
    double tensors = 0;
    auto module =
        value.getParentBlock()->getParentOp()->getParentOfType<ModuleOp>();
    module.walk([&](mp::QuantizeOp op) {
      tensors += !isConstant(op.getInput()) && !isOnGrid(op.getInput(), op);
    });
    isUnseenExpected = tensors * kRuns / kCalibration >= kEnough;
  }
  return *isUnseenExpected;
}

/// True if ops make the scale of `x` itself, which no end clips then.
static bool isMeasured(Value x, Value scale) {
  // A magnitude, its largest one, a floor, a quotient, and casts and views.
  constexpr size_t kMost = 32;
  SmallVector<Value> work = {scale};
  for (size_t at = 0; at < work.size() && at < kMost; ++at) {
    if (work[at] == x)
      return true;
    if (Operation *op = work[at].getDefiningOp())
      llvm::append_range(work, op->getOperands());
  }
  return false;
}

/// True if the scale is more likely that of the range of numbers without 0,
/// whose zero point is past the first code and was cut to it: codes then reach
/// as far as the range is wide, and not to its end.
static bool leavesOutZero(const Cell &numbers, const StorageFormat &scaled) {
  Interval ends = scaled.ends();
  // A smaller offset is within the error of the range.
  constexpr double kOffset = 0.25;
  return ends.lo == 0 && numbers.lo > kOffset * ends.hi &&
         numbers.likelyHi > std::sqrt(ends.hi * (ends.hi + numbers.lo));
}

/// More than any number is past an end.
static constexpr double kNeverPast = 1e300;

/// The factor by which numbers have to be expected past an end before that is
/// believed.
template <typename Op>
static double trustIn(Op op, const Cell &numbers, const StorageFormat &format,
                      const RangeAnalysis &ranges) {
  if (isMeasured(op.getInput(), op.getScale()))
    return kNeverPast;
  double scale = std::fabs(ranges.of(op.getScale()).hull().mean);
  double zero =
      op.getZeroPoint() ? ranges.of(op.getZeroPoint()).hull().mean : 0;
  if (scale > 0 && leavesOutZero(numbers, format.scaled(scale, zero)))
    return 1;
  return getTrust(op.getInput(), op.getScale());
}

template <typename Op>
static std::optional<QuantizationError>
errorOfNumbers(Op op, StorageFormat format, const RangeAnalysis &ranges,
               bool expectsUnseen,
               std::optional<StorageFormat> tried = std::nullopt) {
  TransferContext &ctx = ranges.context();
  AbstractValue x = ranges.preRounding(op.getInput());
  // A softmax drops the others.
  if (auto scores = findMaskedScores(op.getInput(), ranges)) {
    x = AbstractValue(AbstractValue::Dims(x.rank(), 1), scores->live);
    x.source = LikelySource::Propagated;
  }
  ActivationError errors(ctx.elementsPerGroup(op.getInput(), x.groups()),
                         trustIn(op, x.hull(), format, ranges),
                         rectifies(op.getInput(), op.getZeroPoint(), format));
  if (expectsUnseen && !isConstant(op.getInput()) && !format.floats)
    errors.expectUnseen({x.hull().lo, x.hull().hi}, x.groups());
  QuantizationError result;
  result.error = mapGroups(
      ctx, alignQuantization(x, op.getScale(), op.getZeroPoint(), format, ctx),
      noBound, [&](ArrayRef<Likely> in) {
        return toLikely(errors.of(
            in[0],
            tried ? *tried : format.scaled(std::fabs(in[1].mean), in[2].mean)));
      });
  result.clipped = errors.clippedShare();
  result.unseen = errors.unseenShare();
  result.hits = errors.unseenCount();
  result.isOfWeights = isConstant(op.getInput());
  return result;
}

/// The values that a missing rectifier would have set to 0.
static QuantizationError errorOfRectifier(Value value,
                                          const RangeAnalysis &ranges) {
  QuantizationError result;
  const AbstractValue &x = ranges.preRounding(value);
  result.error =
      mapGroups(ranges.context(), {x}, noBound, [&](ArrayRef<Likely> in) {
        double deviation = std::sqrt(in[0].variance);
        double z = deviation > 0 ? -in[0].mean / deviation
                                 : (in[0].mean < 0 ? kInfinity : -kInfinity);
        // E x and E x^2 over x < 0.
        double share = normalShareBelow(z), density = normalDensity(z);
        double mean = in[0].mean * share - deviation * density;
        double square = (in[0].mean * in[0].mean + in[0].variance) * share -
                        in[0].mean * deviation * density;
        return toLikely({mean, std::max(square, 0.0)});
      });
  return result;
}

static QuantizationError errorOfSquare(double square, bool isKnown,
                                       size_t rank) {
  QuantizationError result;
  result.error =
      AbstractValue(AbstractValue::Dims(rank, 1), Cell{0, 0, 0, square, 0, 0});
  if (isKnown)
    result.error.source = LikelySource::Propagated;
  return result;
}

/// The width of a step is the scale's second result.
static QuantizationError errorOfDynamic(mp::DynamicQuantizeOp op,
                                        const RangeAnalysis &ranges) {
  const AbstractValue &scale = ranges.of(op.getScale());
  return errorOfSquare(meanSquare(scale) / 12, scale.hasLikely(),
                       ranges.of(op.getValues()).rank());
}

/// The mean square of the errors of weights with a scale of 1: of whole numbers
/// even within half a step, of a table of 16 numbers in [-1, 1] as if these
/// were even.
static double squareOfStep(StringRef code) {
  constexpr double kTableStep = 2.0 / 15;
  return (code == "int" ? 1 : kTableStep * kTableStep) / 12;
}

/// A sum over k of numbers times errors of weights.
static QuantizationError errorOfProduct(mp::MatMulNBitsOp op,
                                        const RangeAnalysis &ranges) {
  const AbstractValue &x = ranges.preRounding(op.getInput()),
                      &scale = ranges.of(op.getScales());
  double square = meanSquare(scale) * squareOfStep(op.getCode());
  if (auto exact = op->getAttrOfType<FloatAttr>(kWeightErrorAttr))
    square = exact.getValueAsDouble();
  QuantizationError result = errorOfSquare(
      double(op.getK()) * meanSquare(x) * square,
      x.hasLikely() && scale.hasLikely(), ranges.of(op.getResult()).rank());
  result.isOfWeights = true;
  return result;
}

static QuantizationError errorOfRows(mp::GatherBlockQuantizedOp op,
                                     const RangeAnalysis &ranges) {
  const AbstractValue &scale = ranges.of(op.getScales());
  QuantizationError result =
      errorOfSquare(meanSquare(scale) * squareOfStep("int"), scale.hasLikely(),
                    ranges.of(op.getResult()).rank());
  result.isOfWeights = true;
  return result;
}

/// The numbers of a border of codes that is no code of 0.
static std::optional<QuantizationError>
errorOfBorder(mp::PadOp op, const RangeAnalysis &ranges) {
  std::optional<WrongBorder> border = findWrongBorder(op);
  auto elements = getNumElements(getShape(op.getResult())),
       inner = getNumElements(getShape(op.getInput()));
  if (!border || !elements || !inner || *elements <= 0)
    return std::nullopt;
  double share = 1 - double(*inner) / double(*elements);
  double number = -border->zero * ranges.of(border->scale).hull().mean;
  QuantizationError result =
      errorOfSquare(share * number * number, /*isKnown=*/true,
                    ranges.of(border->numbers).rank());
  result.place = border->numbers;
  return result;
}

/// The numbers that codes stand for where they are read, less those for which
/// they were written, without what all have in common (WholeShifts.h); nothing
/// where these are the same.
static std::optional<QuantizationError>
errorOfMismatch(mp::DequantizeOp op, mp::QuantizeOp from,
                const RangeAnalysis &ranges) {
  if (from->hasAttr(kTriedFixAttr) || op->hasAttr(kTriedFixAttr) ||
      !findMismatch(op, from, ranges))
    return std::nullopt;
  double read = ranges.of(op.getScale()).hull().mean,
         written = ranges.of(from.getScale()).hull().mean;
  if (!(read > 0) || !std::isfinite(written))
    return std::nullopt;
  QuantizationError result;
  result.error =
      mapGroups(ranges.context(), {ranges.preRounding(op.getResult())}, noBound,
                [&](ArrayRef<Likely> in) {
                  double gain = 1 - written / read;
                  return toLikely({0, gain * gain * in[0].variance});
                });
  return result;
}

/// The error of sums in kernels whose pairs saturate or whose accumulators
/// wrap.
static std::optional<QuantizationError>
errorOfSum(Operation *op, const RangeAnalysis &ranges) {
  auto codes = findCodes(op, ranges.target().codes().widestBits);
  std::optional<CodeSumError> error =
      codes ? errorOfSums(op, *codes, ranges) : std::nullopt;
  if (!error)
    return std::nullopt;
  QuantizationError result;
  result.error = std::move(error->error);
  result.hits = error->hits;
  result.clipped = 1;
  if (auto product = findIntegerProduct(op))
    result.place = product->numbers;
  return result;
}

std::optional<QuantizationError>
QuantizationErrors::errorOf(Value value, ArrayRef<int64_t> dims) {
  using Result = std::optional<QuantizationError>;
  if (auto operand = getScaledOperand(value)) {
    OperandError known = mpopt::errorOf(*operand, ranges, dims);
    return QuantizationError{std::move(known.error), known.byClipping,
                             operand->isWeight};
  }
  if (!value.getDefiningOp() || !judges(value))
    return std::nullopt;
  StringRef tried = triedOn(value.getDefiningOp());
  if (tried == kTriedFloats)
    return std::nullopt;
  if (value.getDefiningOp()->hasAttr(kLostRectifierAttr))
    return errorOfRectifier(value, ranges);
  return llvm::TypeSwitch<Operation *, Result>(value.getDefiningOp())
      .Case([&](mp::QuantizeOp op) -> Result {
        auto format = storageFormatOf(op);
        if (!format || isOnGrid(op.getInput(), op))
          return std::nullopt;
        bool isTried = tried == kTriedRange || tried == kTriedWide;
        return errorOfNumbers(
            op, *format, ranges, expectsUnseen(value),
            isTried ? spanExpected(op, tried == kTriedWide, ranges)
                    : std::nullopt);
      })
      .Case([&](mp::FakeQuantizeOp op) {
        return errorOfNumbers(op, *storageFormatOf(op), ranges,
                              /*expectsUnseen=*/false);
      })
      .Case([&](mp::DequantizeOp op) -> Result {
        if (auto from = findWriter(op))
          return errorOfMismatch(op, from, ranges);
        return errorOfCodes(op, ranges, tried);
      })
      .Case([&](mp::CastOp op) { return errorOfCast(op, ranges); })
      .Case([&](mp::DynamicQuantizeOp op) -> Result {
        if (value != op.getValues())
          return std::nullopt;
        return errorOfDynamic(op, ranges);
      })
      .Case([&](mp::MatMulNBitsOp op) -> Result {
        return errorOfProduct(op, ranges);
      })
      .Case([&](mp::GatherBlockQuantizedOp op) -> Result {
        return errorOfRows(op, ranges);
      })
      .Case([&](mp::PadOp op) { return errorOfBorder(op, ranges); })
      .Default([&](Operation *op) -> Result {
        if (Result ofCodes = errorOfConstant(value, ranges))
          return ofCodes;
        if (value != op->getResult(0) || tried == kTriedReducedRange)
          return std::nullopt;
        return errorOfSum(op, ranges);
      });
}
