//===- Bits.cpp - Ranges of bit operations
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Numerics/Integer.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

using namespace mlir;
using namespace mpopt;

static IntegerFormat getFormat(Value value) {
  auto type = cast<IntegerType>(getElementType(value));
  return {type.getWidth(), !type.isUnsigned()};
}

/// Bits have no distribution to speak of.
static void transferBits(Operation *op, TransferContext &ctx) {
  if (!llvm::all_of(op->getOperands(), [](Value value) {
        return isa<IntegerType>(getElementType(value));
      }))
    return ctx.unknown();
  IntegerFormat format = getFormat(op->getResult(0));
  AbstractValue value = mapGroups(
      ctx, operandsOf(ctx),
      [&](ArrayRef<FloatRange> x) {
        if (isa<mp::BitwiseNotOp>(op))
          return range::bitwiseNot(x[0], format);
        if (isa<mp::BitwiseAndOp>(op))
          return range::bitwiseAnd(x[0], x[1], format);
        if (isa<mp::BitwiseOrOp>(op))
          return range::bitwiseOr(x[0], x[1], format);
        if (isa<mp::BitwiseXorOp>(op))
          return range::bitwiseXor(x[0], x[1], format);
        if (isa<mp::ShiftLeftOp>(op))
          return range::shiftLeft(x[0], x[1], format);
        return range::shiftRight(x[0], x[1], format);
      },
      [](ArrayRef<Likely> x) { return x[0]; });
  value.source = LikelySource::Unknown;
  ctx.result(0, std::move(value));
}

void mpopt::attachBitsTransfers(MLIRContext *context) {
  attachTransfer<transferBits, mp::BitwiseNotOp, mp::BitwiseAndOp,
                 mp::BitwiseOrOp, mp::BitwiseXorOp, mp::ShiftLeftOp,
                 mp::ShiftRightOp>(context);
}
