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

/// The first index at which lists differ; nothing if they do not, or are of
/// unlike lengths.
static std::optional<size_t>
findDifference(const std::optional<std::vector<double>> &lhs,
               const std::optional<std::vector<double>> &rhs) {
  if (!lhs || !rhs)
    return std::nullopt;
  size_t size = std::max(lhs->size(), rhs->size());
  if (size % lhs->size() != 0 || size % rhs->size() != 0)
    return std::nullopt;
  for (size_t index = 0; index < size; ++index)
    if ((*lhs)[index % lhs->size()] != (*rhs)[index % rhs->size()])
      return index;
  return std::nullopt;
}

void PairMismatch::comparePair(mp::DequantizeOp op, mp::QuantizeOp from,
                               const RangeAnalysis &ranges) {
  auto compare = [&](Value written, Value read, StringRef what) {
    if (written == read)
      return;
    auto lhs = readElements(written, ranges), rhs = readElements(read, ranges);
    std::optional<size_t> at = findDifference(lhs, rhs);
    if (!at)
      return;
    report(op, read ? read : op.getInput())
        .message("codes are written with the " + what + " " +
                 formatNumber((*lhs)[*at % lhs->size()]) +
                 " and read with the " + what + " " +
                 formatNumber((*rhs)[*at % rhs->size()]))
        .cause(from.getResult(), "holds the codes");
  };
  compare(from.getScale(), op.getScale(), "scale");
  compare(from.getZeroPoint(), op.getZeroPoint(), "zero point");
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
  if (auto from = getMaker<mp::QuantizeOp>(dequantize.getInput(),
                                           Peel::Identities | Peel::Views))
    comparePair(dequantize, from, ranges);
  checkType(op, dequantize.getInput(), dequantize.getZeroPoint());
  checkAxis(dequantize);
}
