//===- QuantizationScale.cpp - Scales and zero points of a file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/QuantizationScale.h"

#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>

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

double mpopt::sizeOfMiddle(const AbstractValue &value) {
  std::vector<double> squares;
  for (const Cell &cell : value.cells())
    squares.push_back(cell.mean * cell.mean + cell.variance);
  auto middle = squares.begin() + squares.size() / 2;
  std::nth_element(squares.begin(), middle, squares.end());
  return std::sqrt(*middle);
}
