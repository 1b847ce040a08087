//===- PairMismatch.cpp - MP609: codes are read as other numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: scales that a run computes, and codes that are concatenated.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/QuantizationScale.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Propagate/IntegerProduct.h"
#include "mpopt/Propagate/QuantizationErrors.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_PAIRMISMATCH
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct PairMismatch : RangeRule<PairMismatch, mpopt::impl::PairMismatchBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void comparePair(mp::DequantizeOp op, mp::QuantizeOp from,
                   const RangeAnalysis &ranges);
  void checkAxis(mp::DequantizeOp op);
  void checkType(Operation *op, Value codes, Value zeroPoint);
  void checkBorder(mp::PadOp op, const RangeAnalysis &ranges);
};
} // namespace

static std::string nameOf(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

void PairMismatch::comparePair(mp::DequantizeOp op, mp::QuantizeOp from,
                               const RangeAnalysis &ranges) {
  auto compare = [&](const std::optional<Mismatch> &mismatch, Value read,
                     StringRef what) {
    if (!mismatch)
      return;
    report(op, read ? read : op.getInput())
        .message("codes are written with the " + what + " " +
                 formatNumber(mismatch->first) + " and read with the " + what +
                 " " + formatNumber(mismatch->second))
        .cause(from.getResult(), "holds the codes");
  };
  PairMismatches mismatches = findMismatch(op, from, ranges);
  compare(mismatches.scale, op.getScale(), "scale");
  compare(mismatches.zeroPoint, op.getZeroPoint(), "zero point");
}

void PairMismatch::checkAxis(mp::DequantizeOp op) {
  MaybeShape shape = getShape(op.getResult()), scales = getShape(op.getScale());
  if (!shape || !scales || scales->size() != 1 || (*scales)[0] <= 1 ||
      op.getBlockSize() != 0 || !isConstant(op.getInput()))
    return;
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), shape->size());
  for (OpOperand &use : op.getResult().getUses()) {
    std::optional<int64_t> channels =
        findChannelAxis(use, int64_t(shape->size()));
    if (!axis || !channels || *axis == *channels)
      continue;
    report(op, op.getScale())
        .message("scales lie along axis " + std::to_string(*axis) +
                 " of the weight, whose output channels are axis " +
                 std::to_string(*channels))
        .cause(use.getOwner(), "reads the weight");
    return;
  }
}

/// A runtime refuses a zero point of another type, or takes its bits for one.
void PairMismatch::checkType(Operation *op, Value codes, Value zeroPoint) {
  if (!zeroPoint)
    return;
  Type type = getElementType(codes), its = getElementType(zeroPoint);
  auto format = storageFormatOf(type), other = storageFormatOf(its);
  if (!format || !other ||
      (format->floats == other->floats && format->codes.lo == other->codes.lo &&
       format->codes.hi == other->codes.hi))
    return;
  report(op, zeroPoint)
      .message("the zero point has the type " + nameOf(its) +
               ", and the codes have " + nameOf(type) +
               ": a runtime refuses it or reads another number")
      .cause(codes, "holds the codes");
}

void PairMismatch::checkBorder(mp::PadOp op, const RangeAnalysis &ranges) {
  std::optional<WrongBorder> border = findWrongBorder(op);
  if (!border)
    return;
  double number = -border->zero * ranges.of(border->scale).hull().mean;
  report(op, op.getResult())
      .message("the border has the code 0, which stands for " +
               formatNumber(number) + ": the code of 0 is the zero point, " +
               formatNumber(border->zero))
      .cause(border->zeroPoint, "is the zero point");
}

void PairMismatch::judge(Operation *op, const RangeAnalysis &ranges) {
  if (auto pad = dyn_cast<mp::PadOp>(op))
    return checkBorder(pad, ranges);
  if (auto quantize = dyn_cast<mp::QuantizeOp>(op))
    return checkType(op, quantize.getResult(), quantize.getZeroPoint());
  auto dequantize = dyn_cast<mp::DequantizeOp>(op);
  if (!dequantize)
    return;
  if (auto from = findWriter(dequantize))
    comparePair(dequantize, from, ranges);
  checkType(op, dequantize.getInput(), dequantize.getZeroPoint());
  checkAxis(dequantize);
}
