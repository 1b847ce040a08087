//===- QuantizationScale.cpp - Scales and zero points of a file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/QuantizationScale.h"

#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Ranges/Weights/Dequantized.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;

std::optional<QuantizationScale> mpopt::findScale(Operation *op) {
  using Result = std::optional<QuantizationScale>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<mp::QuantizeOp, mp::DequantizeOp>([](auto its) -> Result {
        return QuantizationScale{its.getScale(), its.getZeroPoint(),
                                 its.getBlockSize() > 0};
      })
      .Case([](mp::FakeQuantizeOp its) -> Result {
        return QuantizationScale{its.getScale(), its.getZeroPoint()};
      })
      .Case<mp::MatMulNBitsOp, mp::GatherBlockQuantizedOp>(
          [](auto its) -> Result {
            return QuantizationScale{its.getScales(), its.getZeroPoints(),
                                     /*isOfBlocks=*/true};
          })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<int64_t> mpopt::findChannelAxis(OpOperand &use, int64_t rank) {
  if (use.getOperandNumber() != 1)
    return std::nullopt;
  using Result = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Result>(use.getOwner())
      .Case<mp::ConvOp, mp::LinearOp>([](auto) -> Result { return 0; })
      .Case([](mp::ConvTransposeOp) -> Result { return 1; })
      .Case([](mp::GemmOp op) -> Result { return op.getTransB() ? 0 : 1; })
      .Case([&](mp::MatMulOp op) -> Result {
        return op.getTransB() ? rank - 2 : rank - 1;
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<std::vector<double>>
mpopt::readElements(Value value, const RangeAnalysis &ranges) {
  if (!value)
    return std::vector<double>{0};
  std::optional<WeightView> view = ranges.context().weights(value);
  if (!view || view->size() == 0 || view->size() > kMostElements)
    return std::nullopt;
  return readAll(*view);
}
