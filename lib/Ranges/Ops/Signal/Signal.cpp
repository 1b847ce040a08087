//===- Signal.cpp - Ranges of windows and Fourier transforms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// |X[k]| <= sum |x[n]|, reached by a constant (bin 0) and by a tone. A random
// signal of n samples has n times its variance in each bin.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "mpopt/Dialect/Ops/SignalOps.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// True if the tensor's elements may be complex: its dtype is, or its last dim
/// may hold real and imaginary part.
static bool isComplex(Value value) {
  MaybeShape shape = getShape(value);
  return isa<ComplexType>(getElementType(value)) || !shape || shape->empty() ||
         shape->back() != 1;
}

namespace {
/// The samples that are transformed.
struct Frame {
  /// At most so many, of which each lies in `x`.
  double count;
  Cell x;
  bool isComplex;
  /// The sum of their magnitudes and the root of that of their squares, as far
  /// as more is known than `x` says.
  double sum = kInfinity, norm = kInfinity;
  /// How many bins there are, and along which axis of the result.
  std::optional<int64_t> bins = {};
  int64_t axis = 0;
};
} // namespace

/// The transform of a frame, divided by `divisor`.
static AbstractValue transform(const AbstractValue &input, const Frame &frame,
                               double divisor, const FloatFormat &format,
                               Value result) {
  const Cell &x = frame.x;
  double count = frame.count;
  // Real and imaginary part of one bin take from both parts of the samples.
  double parts = frame.isComplex ? 2 : 1, size = bound(x).maxAbs();
  double most = size == 0 ? 0 : std::min(count * size, frame.sum) * parts;
  // Twiddle factors are off by a few units, and each of the sum's products is
  // rounded: a bound for the plain sum covers every fast algorithm with up to
  // as many roundings on a path.
  double error = dotError({&format}, 4 * count * parts + 8, most);
  double reach =
      std::isfinite(most) ? (most + error) / divisor * (1 + 1e-6) : kInfinity;
  if (count == kInfinity && size == 0)
    reach = 0;
  double n = std::isfinite(count) ? std::max(count, 1.0) : 1;
  double variance = n * parts * (x.variance + x.mean * x.mean) / 2;
  double tail = expectedExtreme(4 * n) * std::sqrt(n * parts * x.variance / 2);
  Interval likely =
      hull(Interval::symmetric(tail), {n * x.mean - tail, n * x.mean + tail});
  AbstractValue value(AbstractValue::Dims(TransferContext::rankOf(result), 1),
                      make(Interval::symmetric(reach), x.mean / divisor,
                           variance / divisor / divisor,
                           {likely.lo / divisor, likely.hi / divisor}));
  bool overflows = !std::isfinite(most) || most + error >= format.overflowFrom;
  value.nan = input.mayBeNonFinite() || overflows;
  value.posInf = value.negInf = input.mayBeInf() || overflows;
  value.source =
      input.hasLikely() ? LikelySource::Propagated : LikelySource::Unknown;
  // Parseval: the squares of all bins sum to those of the samples, times the
  // number of bins.
  double norm = std::min(std::sqrt(count) * size, frame.norm);
  std::optional<int64_t> rows = getShape(result)
                                    ? (*getShape(result))[frame.axis]
                                    : std::optional<int64_t>();
  if (frame.bins && rows && std::isfinite(norm))
    ProductResult::setNorm(value, frame.axis, *rows,
                           std::sqrt(double(*frame.bins) * parts) * norm,
                           error);
  return value;
}

static std::optional<int64_t> numberOf(Value value, TransferContext &ctx) {
  if (!value)
    return std::nullopt;
  auto known = ctx.shapes().constants(value);
  return known && known->size() == 1 ? std::optional(known->front())
                                     : std::nullopt;
}

static void transferDFT(mp::DFTOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  if (isa<ComplexType>(getElementType(op.getInput())))
    return ctx.unknown();
  MaybeShape shape = getShape(op.getInput());
  std::optional<int64_t> axis =
      op.getDynamicAxis() ? numberOf(op.getDynamicAxis(), ctx) : op.getAxis();
  std::optional<int64_t> length = numberOf(op.getLength(), ctx);
  double count = kInfinity;
  std::optional<int64_t> at, bins;
  if (shape && axis)
    at = normalizeAxis(*axis, shape->size());
  if (at && (*shape)[*at] >= 0) {
    bins = (*shape)[*at];
    count = double(*bins);
  }
  double divisor = std::isfinite(count) ? std::max(count, 1.0) : 1;
  if (op.getLength()) {
    bins = length;
    // Samples that are added as zeros count in the divisor only.
    count = length ? std::min(count, double(*length)) : count;
    divisor = length ? std::max(1.0, double(*length)) : 1;
  }
  // From one side the other one is mirrored.
  if (op.getInverse() && op.getOnesided()) {
    count = length ? double(*length) : 2 * count;
    divisor = length ? std::max(1.0, double(*length)) : 1;
  }
  if (!op.getInverse())
    divisor = 1;
  bool complex = isComplex(op.getInput());
  if (op.getInverse() && std::isinf(count) && !op.getLength()) {
    // A mean of unknown length: no larger than the samples, but for rounding.
    Cell x = input.hull();
    double unit = kUnknownCount * FloatFormat::f32().unitRoundoff();
    double reach = bound(x).maxAbs() * (complex ? 2 : 1) * (1 + 4 * unit);
    AbstractValue value(
        AbstractValue::Dims(ctx.rankOf(op.getResult()), 1),
        make(Interval::symmetric(reach), 0, x.variance, likelyInterval(x)));
    value.nan = input.mayBeNonFinite();
    value.posInf = value.negInf = input.mayBeInf();
    value.source = input.source;
    return ctx.result(0, std::move(value));
  }
  Frame frame{count, input.hull(), complex};
  if (!op.getInverse() && bins && at) {
    frame.bins = bins;
    frame.axis = *at;
  }
  ctx.result(0, transform(input, frame, divisor,
                          ctx.productFormat(op.getInput()), op.getResult()));
}

static void transferSTFT(mp::STFTOp op, TransferContext &ctx) {
  const AbstractValue &signal = ctx.operand(0);
  double count = kInfinity;
  if (auto length = numberOf(op.getFrameLength(), ctx))
    count = double(*length);
  Frame samples{count, signal.hull(), true};
  samples.bins =
      count < kInfinity ? std::optional(int64_t(count)) : std::nullopt;
  samples.axis = int64_t(ctx.rankOf(op.getResult())) - 2;
  AbstractValue frame = AbstractValue::boundedLike(signal);
  Cell &x = samples.x;
  if (op.getWindow()) {
    const AbstractValue &window = ctx.of(op.getWindow());
    Cell w = window.hull();
    if (std::optional<int64_t> length = ctx.dimOf(op.getWindow(), 0)) {
      count = std::min(count, double(*length));
      if (!samples.bins)
        samples.bins = *length;
      double most = x.absMax();
      samples.norm = mulUp(rowNorm(window, 0, *length), most);
      if (window.groups() == size_t(*length)) {
        samples.sum = 0;
        for (const Cell &each : window.cells())
          samples.sum = addUp(samples.sum, mulUp(each.absMax(), most));
      }
    }
    double mean = x.mean * w.mean;
    double second =
        (x.variance + x.mean * x.mean) * (w.variance + w.mean * w.mean);
    x = make(bound(x) * bound(w), mean, std::max(0.0, second - mean * mean),
             likelyInterval(x) * likelyInterval(w));
    frame.nan |= window.mayBeNonFinite() || signal.mayBeInf();
    frame.posInf |= window.mayBeInf();
    if (!window.hasLikely())
      frame.source = LikelySource::Unknown;
  }
  if (std::isinf(count))
    if (std::optional<int64_t> length = ctx.dimOf(op.getSignal(), 1))
      count = double(*length);
  MaybeShape shape = getShape(op.getSignal());
  samples.isComplex = !shape || (shape->size() >= 3 && shape->back() != 1);
  samples.count = count;
  ctx.result(0, transform(frame, samples, 1, ctx.productFormat(op.getSignal()),
                          op.getResult()));
}

static void transferMel(mp::MelWeightMatrixOp op, TransferContext &ctx) {
  AbstractValue value = numbers({0, 1}, op.getResult());
  // Few bins of the spectrum lie in a filter.
  value.mutableCells().front() = Cell{0, 1, 0.02, 0.01, 0, 1};
  ctx.result(0, std::move(value));
}

static void transferWindow(mp::WindowOp op, TransferContext &ctx) {
  // a0 - a1 cos + a2 cos: at the ends 0, 0.08 and 0, off by some units of 1.
  Interval all = {-1e-6, 1 + 1e-6};
  if (op.getKind() == "hamming")
    all.lo = 0.08 - 1e-3; // coefficients 25/46 or 0.54
  if (const FloatFormat *format =
          getFloatFormat(getElementType(op.getResult())))
    all = all.widened(0, 4.0 * format->unitRoundoff());
  AbstractValue value = numbers(all, op.getResult());
  // A window of one sample has size - 1 = 0: 0 / 0 in ONNX Runtime, 1 in
  // PyTorch.
  value.nan =
      !op.getPeriodic() && !(TransferContext::dimOf(op.getResult(), 0) > 1);
  // A half of cos^2 or so.
  CellRef cell = value.mutableCells().front();
  cell.mean = op.getKind() == "blackman" ? 0.42 : 0.5;
  cell.variance = 0.125;
  cell.likelyLo = std::max(all.lo, 0.0);
  cell.likelyHi = 1;
  ctx.result(0, std::move(value));
}

void mpopt::attachSignalTransfers(MLIRContext *context) {
  attachTransfer<transferDFT, mp::DFTOp>(context);
  attachTransfer<transferSTFT, mp::STFTOp>(context);
  attachTransfer<transferMel, mp::MelWeightMatrixOp>(context);
  attachTransfer<transferWindow, mp::WindowOp>(context);
}
