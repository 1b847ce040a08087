//===- Quantization.cpp - Ranges of quantised numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/Number.h"

#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/QuantizationSupport.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The numbers, the scale and the zero point that an op reads.
template <typename Op>
static SmallVector<AbstractValue, 3>
readOperands(Op op, const StorageFormat &format, TransferContext &ctx) {
  return alignQuantization(ctx.operand(0), op.getScale(), op.getZeroPoint(),
                           format, ctx);
}

//===----------------------------------------------------------------------===//
// To integers and back
//===----------------------------------------------------------------------===//

/// saturate(round(x / s) + z) to the codes.
static FloatRange quantized(const FloatRange &x, const FloatRange &scale,
                            const FloatRange &zero, const ComputeError &error,
                            const StorageFormat &codes) {
  FloatRange code = range::div(x, scale, error);
  code = apply(Unary{UnaryFunction::Round}, code, error);
  return range::add(code, zero).store(codes);
}

/// The numbers for which codes stand: a rectifier in front of a quantisation is
/// often no more than its clamp.
static Likely clipped(ArrayRef<Likely> in, const StorageFormat &format) {
  StorageFormat scaled = format.scaled(std::fabs(in[1].mean), in[2].mean);
  return likely::applyMonotone([&](double at) { return scaled.clip(at); },
                               in[0]);
}

static Likely quantizedLikely(ArrayRef<Likely> in,
                              const StorageFormat &format) {
  double scale = std::fabs(in[1].mean);
  if (scale == 0)
    return Likely::uniform(format.codes.lo, format.codes.hi);
  Likely result = likely::affine(clipped(in, format), 1 / scale, in[2].mean);
  if (!format.floats) // which the store rounds
    result.variance += 1.0 / 12;
  return result.within(format.codes);
}

static void transferQuantize(mp::QuantizeOp op, TransferContext &ctx) {
  auto format = storageFormatOf(op);
  if (!format)
    return ctx.unknown();
  ComputeError error = functionError(ctx, op.getScale());
  ctx.result(
      0,
      mapGroups(
          ctx, readOperands(op, *format, ctx),
          [&](ArrayRef<FloatRange> in) {
            if (!format->floats)
              return quantized(in[0], in[1], in[2], error, *format);
            // To floats: divided, and rounded by the store.
            FloatRange code = range::div(in[0], in[1], error);
            return format->saturates
                       ? range::clip(code, FloatRange::point(format->codes.lo),
                                     FloatRange::point(format->codes.hi))
                       : code;
          },
          [&](ArrayRef<Likely> in) { return quantizedLikely(in, *format); }));
}

static void transferDequantize(mp::DequantizeOp op, TransferContext &ctx) {
  auto codes = storageFormatOf(op);
  if (!codes)
    return ctx.unknown();
  // Codes of 32 bits are rounded to the scale's dtype before the product.
  const FloatFormat *format = getFloatFormat(getElementType(op.getScale()));
  double exact = format ? std::ldexp(1.0, int(format->digits)) : 0;
  ctx.result(0, mapGroups(
                    ctx, readOperands(op, *codes, ctx),
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
  StorageFormat format = *storageFormatOf(op);
  ComputeError error = functionError(ctx, op.getInput());
  ctx.result(
      0, mapGroups(
             ctx, readOperands(op, format, ctx),
             [&](ArrayRef<FloatRange> in) {
               FloatRange code = quantized(in[0], in[1], in[2], error, format);
               FloatRange value = range::mul(range::sub(code, in[2]), in[1]);
               value.finite = cells::roundedIn(*error.format, value.finite, 2);
               // Also that of 0 over a scale that is stored as 0: a
               // kernel may round and clip in floats.
               value.nan |= range::div(in[0], in[1], error).nan;
               return value;
             },
             [&](ArrayRef<Likely> in) { return clipped(in, format); }));
}

/// The likely extremes of the elements whose range sets one scale.
static Interval likelyExtremes(mp::DynamicQuantizeOp op, const Cell &x) {
  Interval ends = {x.likelyLo, x.likelyHi};
  if (int64_t count = op.getBlockSize(); count > 0) {
    double reach = expectedExtreme(double(count)) * std::sqrt(x.variance);
    ends = {std::max(ends.lo, x.mean - reach),
            std::min(ends.hi, x.mean + reach)};
  }
  return ends;
}

/// The width of the range that is divided into steps; `all` bounds elements of
/// which one at least is in each range.
static Interval widthOfRange(const Interval &all, bool isSymmetric) {
  if (isSymmetric)
    return {2 * std::max({all.lo, -all.hi, 0.0}), 2 * all.maxAbs()};
  return {std::max(all.lo, 0.0) - std::min(all.hi, 0.0),
          std::max(all.hi, 0.0) - std::min(all.lo, 0.0)};
}

static AbstractValue stepsOf(mp::DynamicQuantizeOp op,
                             const AbstractValue &input, double width,
                             const FloatFormat &format) {
  double steps = double(op.getCodeHi() - op.getCodeLo());
  Interval all = cells::bound(input.hull());
  if (all.isEmpty())
    all = Interval::point(0);
  Interval range = widthOfRange(all, op.getSymmetric());
  Interval scale = cells::roundedIn(
      format, {range.lo / steps, range.hi / steps}, /*units=*/4);
  // The least scale is a number of binary32 or binary64.
  double least = op.getLeastScale().convertToDouble();
  scale = {std::max({scale.lo, 0.0, least * (1 - 0x1p-23)}),
           std::max(scale.hi, least * (1 + 0x1p-23))};
  double expected = std::max(width / steps, least);
  size_t rank = op.getBlockSize() > 0 ? input.rank() : 0;
  AbstractValue step(AbstractValue::Dims(rank, 1),
                     cells::make(scale, expected, expected * expected / 64,
                                 {expected / 1.5, expected}));
  step.nan = input.mayBeNonFinite();
  // So may the width of the range.
  step.posInf =
      input.mayBeInf() || scale.hi * steps * 1.001 >= format.overflowFrom;
  step.source =
      input.hasLikely() ? LikelySource::Propagated : LikelySource::Unknown;
  // All elements 0: some kernels take a scale of 1.
  if (scale.lo <= 0) {
    CellRef cell = step.mutableCells().front();
    cell.hi = std::max(cell.hi, 1.0);
  }
  return step;
}

static void transferDynamicQuantize(mp::DynamicQuantizeOp op,
                                    TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  Interval codes = {double(int64_t(op.getCodeLo())),
                    double(int64_t(op.getCodeHi()))};
  double steps = codes.hi - codes.lo;
  Interval ends = likelyExtremes(op, input.hull());
  double width = op.getSymmetric()
                     ? 2 * ends.maxAbs()
                     : std::max(ends.hi, 0.0) - std::min(ends.lo, 0.0);
  ctx.result(1, stepsOf(op, input, width, ctx.functionFormat(op.getInput())));

  AbstractValue zero = cells::integers(codes.lo, codes.hi, op.getZeroPoint());
  if (op.getSymmetric())
    zero = cells::integers(0, 0, op.getZeroPoint());
  else if (width > 0) {
    double point = std::clamp(
        std::round(codes.lo - std::min(ends.lo, 0.0) / width * steps), codes.lo,
        codes.hi);
    zero.mutableCells().front() = Cell{codes.lo,
                                       codes.hi,
                                       point,
                                       100,
                                       std::max(codes.lo, point - 30),
                                       std::min(codes.hi, point + 30)};
  }
  double point = zero.hull().mean;
  ctx.result(2, std::move(zero));

  // Each x is x / scale + zero: most values of a rectifier, say, are near the
  // zero point, wherever the largest is.
  AbstractValue values = cells::integers(codes.lo, codes.hi, op.getValues());
  if (input.hasLikely() && width > 0 && input.rank() == values.rank()) {
    values = AbstractValue(AbstractValue::Dims(input.dims()), values.hull());
    values.claimIntegral();
    values.source = LikelySource::Propagated;
    for (auto [group, cell] : llvm::enumerate(values.mutableCells())) {
      Likely code = likely::affine(cells::getLikely(input.cell(group)),
                                   steps / width, point);
      cells::setLikely(cell, code.within(codes));
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
