//===- Quantization.cpp - Ranges of quantised numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scales and zero points along an axis meet the groups of their channel; those
// of blocks count as a whole.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/Number.h"

#include "mpopt/Dialect/CodeRange.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

/// A scalar, a list along `axis` of `rank`, or the whole of something else.
static AbstractValue parameter(const AbstractValue &value, int64_t axis,
                               size_t rank, bool blocks) {
  std::optional<int64_t> at = normalizeAxis(axis, rank);
  if (!blocks && at && value.rank() == 1 && value.groups() > 1) {
    AbstractValue::Dims dims(rank, 1);
    dims[*at] = value.dims()[0];
    AbstractValue result(
        dims, std::vector<Cell>(value.cells().begin(), value.cells().end()));
    result.copyFlags(value);
    return result;
  }
  AbstractValue result(AbstractValue::Dims(rank, 1), value.hull());
  result.copyFlags(value);
  return result;
}

static AbstractValue zeroPoint(Value value, int64_t axis, size_t rank,
                               bool blocks, TransferContext &ctx) {
  if (value)
    return parameter(ctx.of(value), axis, rank, blocks);
  AbstractValue none(AbstractValue::Dims(rank, 1), cells::point(0));
  none.source = LikelySource::Weight;
  none.claimIntegral();
  return none;
}

//===----------------------------------------------------------------------===//
// To integers and back
//===----------------------------------------------------------------------===//

/// saturate(round(x / s) + z) to [lo, hi].
static FloatRange quantized(const FloatRange &x, const FloatRange &scale,
                            const FloatRange &zero, const ComputeError &error,
                            double lo, double hi) {
  FloatRange code = range::div(x, scale, error);
  code = apply(Unary{UnaryFunction::Round}, code, error);
  code = range::add(code, zero);
  Interval all = {lo, hi};
  // NaN becomes whatever the platform says; infinities saturate.
  Interval stored =
      code.nan || code.finite.isEmpty() ? all : intersect(code.finite, all);
  if (stored.isEmpty())
    stored = code.finite.lo > hi ? Interval::point(hi) : Interval::point(lo);
  if (code.posInf || code.finite.hi > hi)
    stored = hull(stored, hi);
  if (code.negInf || code.finite.lo < lo)
    stored = hull(stored, lo);
  return FloatRange::of(stored);
}

static Likely quantizedLikely(const Likely &x, const Likely &scale,
                              const Likely &zero, double lo, double hi) {
  double s = scale.mean, z = zero.mean;
  if (!(s != 0))
    return Likely::uniform(lo, hi);
  // A rectifier in front of it is often no more than this clamp.
  Likely result = likely::applyMonotone(
      [&](double at) { return std::clamp(at / s + z, lo, hi); }, x);
  result.variance += 1.0 / 12; // rounding
  return result.within({lo, hi});
}

static void transferQuantize(mp::QuantizeOp op, TransferContext &ctx) {
  Type type = getElementType(op.getResult());
  auto codes = getCodeRange(type);
  if (!codes)
    return ctx.unknown();
  auto [lo, hi] = *codes;
  const AbstractValue &x = ctx.operand(0);
  size_t rank = x.rank();
  bool blocks = op.getBlockSize() > 0;
  AbstractValue scale =
      parameter(ctx.of(op.getScale()), op.getAxis(), rank, blocks);
  AbstractValue zero =
      zeroPoint(op.getZeroPoint(), op.getAxis(), rank, blocks, ctx);
  ComputeError error = functionError(ctx, op.getScale());
  const FloatFormat *format = getFloatFormat(type);
  bool saturates = op.getSaturate();
  AbstractValue value = mapGroups(
      ctx, {x, scale, zero},
      [&, lo = lo, hi = hi](ArrayRef<FloatRange> in) {
        if (!format)
          return quantized(in[0], in[1], in[2], error, lo, hi);
        // To floats: divided, and rounded by the store.
        FloatRange code = range::div(in[0], in[1], error);
        if (saturates)
          code =
              range::clip(code, FloatRange::point(lo), FloatRange::point(hi));
        return code;
      },
      [&, lo = lo, hi = hi](ArrayRef<Likely> in) {
        return quantizedLikely(in[0], in[1], in[2], lo, hi);
      });
  ctx.result(0, std::move(value));
}

static void transferDequantize(mp::DequantizeOp op, TransferContext &ctx) {
  const AbstractValue &x = ctx.operand(0);
  size_t rank = x.rank();
  bool blocks = op.getBlockSize() > 0;
  AbstractValue scale =
      parameter(ctx.of(op.getScale()), op.getAxis(), rank, blocks);
  AbstractValue zero =
      zeroPoint(op.getZeroPoint(), op.getAxis(), rank, blocks, ctx);
  // Codes of 32 bits are rounded to the scale's dtype before the product.
  const FloatFormat *format = getFloatFormat(getElementType(op.getScale()));
  double exact = format ? std::ldexp(1.0, int(format->digits)) : 0;
  ctx.result(0, mapGroups(
                    ctx, {x, scale, zero},
                    [&](ArrayRef<FloatRange> in) {
                      FloatRange code = range::sub(in[0], in[2]);
                      if (code.finite.maxAbs() > exact) {
                        code.finite = code.finite.widened(2 / exact);
                        code.minNonZero *= 1 - 2 / exact;
                      }
                      return range::mul(code, in[1]);
                    },
                    [](ArrayRef<Likely> in) {
                      Likely code = likely::sub(in[0], in[2]);
                      if (in[1].lo == in[1].hi)
                        return likely::affine(code, in[1].mean, 0);
                      return likely::mul(code, in[1], 3);
                    }));
}

static void transferFakeQuantize(mp::FakeQuantizeOp op, TransferContext &ctx) {
  const AbstractValue &x = ctx.operand(0);
  size_t rank = x.rank();
  int64_t axis = op.getAxis().value_or(0);
  bool whole = !op.getAxis();
  AbstractValue scale = parameter(ctx.of(op.getScale()), axis, rank, whole);
  AbstractValue zero = zeroPoint(op.getZeroPoint(), axis, rank, whole, ctx);
  ComputeError error = functionError(ctx, op.getInput());
  double lo = double(int64_t(op.getQuantMin()));
  double hi = double(int64_t(op.getQuantMax()));
  ctx.result(
      0, mapGroups(
             ctx, {x, scale, zero},
             [&](ArrayRef<FloatRange> in) {
               FloatRange code = quantized(in[0], in[1], in[2], error, lo, hi);
               FloatRange value = range::mul(range::sub(code, in[2]), in[1]);
               value.finite = cells::roundedIn(*error.format, value.finite, 2);
               // Also that of 0 over a scale that is stored as 0: a kernel may
               // round and clip in floats.
               value.nan |= range::div(in[0], in[1], error).nan;
               return value;
             },
             [&](ArrayRef<Likely> in) {
               Interval kept = {(lo - in[2].mean) * in[1].mean,
                                (hi - in[2].mean) * in[1].mean};
               if (kept.lo > kept.hi)
                 std::swap(kept.lo, kept.hi);
               return likely::applyMonotone(
                   [&](double at) { return std::clamp(at, kept.lo, kept.hi); },
                   in[0]);
             }));
}

static void transferDynamicQuantize(mp::DynamicQuantizeOp op,
                                    TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  Cell x = input.hull();
  Interval all = cells::bound(x);
  if (all.isEmpty())
    all = Interval::point(0);
  const FloatFormat &format = ctx.functionFormat(op.getInput());
  double width = std::max(x.likelyHi, 0.0) - std::min(x.likelyLo, 0.0);

  Interval scale = {(std::max(all.lo, 0.0) - std::min(all.hi, 0.0)) / 255,
                    (std::max(all.hi, 0.0) - std::min(all.lo, 0.0)) / 255};
  scale = cells::roundedIn(format, scale, 4);
  scale.lo = std::max(scale.lo, 0.0);
  AbstractValue step(AbstractValue::Dims(),
                     cells::make(scale, width / 255,
                                 width * width / 255 / 255 / 64,
                                 {width / 255 / 1.5, width / 255}));
  step.nan = input.mayBeNonFinite();
  // So may the width of the range.
  step.posInf =
      input.mayBeInf() || scale.hi * 255 * 1.001 >= format.overflowFrom;
  step.source =
      input.hasLikely() ? LikelySource::Propagated : LikelySource::Unknown;
  // All elements 0: some kernels take a scale of 1.
  if (scale.lo <= 0) {
    CellRef cell = step.mutableCells().front();
    cell.hi = std::max(cell.hi, 1.0);
  }
  ctx.result(1, std::move(step));

  AbstractValue zero = cells::integers(0, 255, op.getZeroPoint());
  if (width > 0) {
    double point = std::round(-std::min(x.likelyLo, 0.0) / width * 255);
    zero.mutableCells().front() = Cell{0,
                                       255,
                                       point,
                                       100,
                                       std::max(0.0, point - 30),
                                       std::min(255.0, point + 30)};
  }
  double point = zero.hull().mean;
  ctx.result(2, std::move(zero));

  // Each x is x / scale + zero: most values of a rectifier, say, are near the
  // zero point, wherever the largest is.
  AbstractValue values = cells::integers(0, 255, op.getValues());
  if (input.hasLikely() && width > 0 && input.rank() == values.rank()) {
    values = AbstractValue(AbstractValue::Dims(input.dims()), values.hull());
    values.claimIntegral();
    values.source = LikelySource::Propagated;
    double steps = 255 / width;
    for (auto [group, cell] : llvm::enumerate(values.mutableCells())) {
      Likely code =
          likely::affine(cells::getLikely(input.cell(group)), steps, point);
      cells::setLikely(cell, code.within({0, 255}));
    }
  }
  ctx.result(0, std::move(values));
}

//===----------------------------------------------------------------------===//
// Weights of a few bits
//===----------------------------------------------------------------------===//

/// Code minus zero point of weights with this many bits.
static Number codes(Value zeroPoints, unsigned bits, const FloatFormat &format,
                    TransferContext &ctx) {
  double most = std::ldexp(1.0, bits) - 1;
  double middle = std::ldexp(1.0, bits - 1);
  Number number = Number::within({-middle, most - middle}, format);
  if (zeroPoints && isa<FloatType>(getElementType(zeroPoints))) {
    Number zero = Number::of(ctx.of(zeroPoints), format);
    number.range = range::sub(FloatRange::of({0, most}), zero.range);
  } else if (zeroPoints) {
    // Packed as the weights are.
    number.range = FloatRange::of({-most, most});
  }
  // The largest of a block fills the range: a normal weight's deviation is a
  // third of it or less.
  double deviation = std::ldexp(1.0, bits - 1) / 2.7;
  number.expected = {0, deviation * deviation, -middle, middle};
  return number;
}

static void transferMatMulNBits(mp::MatMulNBitsOp op, TransferContext &ctx) {
  const FloatFormat &format = ctx.productFormat(op.getInput());
  Number x = Number::of(ctx.of(op.getInput()), format);
  Number scales = Number::of(ctx.of(op.getScales()), format);
  Number weight =
      op.getCode() == "int"
          ? codes(op.getZeroPoints(), op.getBits(), format, ctx) * scales
          : Number::within({-1, 1}, format) * scales;
  double count = double(op.getK());
  Number sum = sumOf(x * weight, count, count);
  // Signs of weights are as good as random.
  double second = x.expected.variance + x.expected.mean * x.expected.mean;
  double variance =
      count * second *
      (weight.expected.variance + weight.expected.mean * weight.expected.mean);
  double draws = ctx.elementsPerGroup(op.getResult(), 1);
  sum.expected = Likely::normal(0, variance, expectedExtreme(draws));
  sum.source = std::max(x.source, scales.source);
  const AbstractValue &input = ctx.of(op.getInput());
  if (input.norm && input.norm->axis + 1 == int64_t(input.rank())) {
    // Cauchy-Schwarz.
    double most = input.norm->bound * std::sqrt(count) *
                  weight.bound().maxAbs() * (1 + 1e-9);
    sum = sum.cut(Interval::symmetric(most + dotError({&format}, count, most)));
  }
  if (op.getBias())
    sum = sum + Number::of(ctx.of(op.getBias()), format);
  ctx.result(0, sum.value(op.getResult()));
}

static void transferGatherBlockQuantized(mp::GatherBlockQuantizedOp op,
                                         TransferContext &ctx) {
  const FloatFormat &format = ctx.functionFormat(op.getScales());
  Number scales = Number::of(ctx.of(op.getScales()), format);
  auto type = dyn_cast<IntegerType>(getElementType(op.getData()));
  if (!type)
    return ctx.unknown();
  unsigned bits = unsigned(op.getBits());
  Number code = codes(op.getZeroPoints(), bits, format, ctx);
  // Signed data has no zero point in the middle; unsigned data may have 0.
  double most = std::ldexp(1.0, bits) - 1;
  code.range = FloatRange::of({-most, most});
  ctx.result(0, (code * scales).value(op.getResult()));
}

void mpopt::attachQuantizationTransfers(MLIRContext *context) {
  attachTransfer<transferQuantize, mp::QuantizeOp>(context);
  attachTransfer<transferDequantize, mp::DequantizeOp>(context);
  attachTransfer<transferFakeQuantize, mp::FakeQuantizeOp>(context);
  attachTransfer<transferDynamicQuantize, mp::DynamicQuantizeOp>(context);
  attachTransfer<transferMatMulNBits, mp::MatMulNBitsOp>(context);
  attachTransfer<transferGatherBlockQuantized, mp::GatherBlockQuantizedOp>(
      context);
}
