//===- TypeInference.cpp - Shapes and dtypes of a whole module
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Analysis/TypeInference.h"

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Interfaces/Interfaces.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;

LogicalResult mpopt::inferTypes(Operation *op, ShapeFacts &facts) {
  auto inference = dyn_cast<TypeInferenceOpInterface>(op);
  if (!inference)
    return success();
  SmallVector<Type> types;
  if (failed(inference.inferResultTypes(facts, types)))
    return failure();
  assert(types.size() == op->getNumResults() && "one type a result");
  for (auto [result, type] : llvm::zip(op->getResults(), types)) {
    std::optional<Type> refined = refineType(type, result.getType());
    if (!refined)
      return op->emitOpError("result has type ")
             << result.getType() << " where its operands give " << type;
    result.setType(*refined);
  }
  if (auto elements = dyn_cast<ElementInferenceOpInterface>(op))
    for (OpResult result : op->getResults())
      facts.set(result,
                elements.inferElementsOf(result.getResultNumber(), facts));
  return success();
}

/// A function's result types follow what it returns.
static void updateSignature(FunctionOpInterface function) {
  if (function.isExternal() || !function.getFunctionBody().hasOneBlock())
    return;
  Operation *terminator = function.getFunctionBody().front().getTerminator();
  function.setType(
      function.cloneTypeWith(function.getFunctionBody().getArgumentTypes(),
                             terminator->getOperandTypes()));
}

LogicalResult mpopt::inferAllTypes(Operation *root) {
  ShapeFacts facts;
  WalkResult result = root->walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      updateSignature(function);
      return WalkResult::advance();
    }
    return failed(inferTypes(op, facts)) ? WalkResult::interrupt()
                                         : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
