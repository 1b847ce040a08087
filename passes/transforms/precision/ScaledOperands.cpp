//===- ScaledOperands.cpp - Products of operands with scales
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operands of products are stored as codes with scales, all else keeps its
// dtype. A cast in front of each operand stands for that: a value that several
// products read has one for each, as each may be left out.
//
//===----------------------------------------------------------------------===//

#include "passes/transforms/precision/Strategy.h"

#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/TypeSupport.h"

using namespace mlir;
using namespace mpopt;

void mpopt::scaleOperands(ModuleOp module) {
  SmallVector<Operation *> products;
  module.walk([&](Operation *op) {
    if (getProductOperands(op))
      products.push_back(op);
  });
  OpBuilder builder(module.getContext());
  for (Operation *op : products) {
    builder.setInsertionPoint(op);
    for (unsigned index : {0u, 1u}) {
      OpOperand &operand = op->getOpOperand(index);
      Value value = operand.get();
      auto cast =
          mp::CastOp::create(builder, value.getLoc(), value.getType(), value,
                             mp::CastOrigin::Policy, /*saturate=*/false,
                             /*round_mode=*/StringAttr());
      cast->setAttr(kScaledAttr, builder.getUnitAttr());
      operand.set(cast.getResult());
    }
  }
}
