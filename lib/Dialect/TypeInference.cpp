//===- TypeInference.cpp - Shapes and dtypes of a whole module
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeInference.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Interfaces/RegionTypes.h"
#include "mpopt/Dialect/TypeJoin.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;

/// The results of `op` alone; its bodies are inferred.
static LogicalResult inferResults(Operation *op, ShapeFacts &facts) {
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

/// How often a loop's body is inferred until its arguments lose their shapes.
constexpr unsigned kMaxRounds = 3;

/// Loops nested deeper than this start without shapes and are inferred once:
/// the rounds of nested loops multiply.
constexpr unsigned kMaxNestedLoops = 3;

static LogicalResult inferNested(Operation *op, ShapeFacts &facts,
                                 unsigned depth);

/// The shapes inside `op`'s bodies followed from block arguments that have just
/// been widened. Constants and dtypes keep theirs.
static void forgetShapes(Operation *op) {
  for (Region &region : op->getRegions())
    region.walk([](Operation *inner) {
      if (!isa<TypeInferenceOpInterface>(inner) ||
          inner->hasTrait<OpTrait::ConstantLike>())
        return;
      for (OpResult result : inner->getResults())
        result.setType(forgetShape(result.getType()));
    });
}

static LogicalResult inferBodies(Operation *op, ShapeFacts &facts,
                                 unsigned depth) {
  auto loop = dyn_cast<RegionTypeOpInterface>(op);
  bool deep = loop && ++depth > kMaxNestedLoops;
  if (loop)
    loop.setRegionArguments(/*widest=*/deep);
  for (unsigned round = 1;; ++round) {
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        if (failed(inferNested(&inner, facts, depth)))
          return failure();
    if (!loop || !loop.widenRegionArguments(/*widest=*/round >= kMaxRounds) ||
        deep)
      return success();
    forgetShapes(op);
  }
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

static LogicalResult inferNested(Operation *op, ShapeFacts &facts,
                                 unsigned depth) {
  if (failed(inferBodies(op, facts, depth)))
    return failure();
  if (auto function = dyn_cast<FunctionOpInterface>(op)) {
    updateSignature(function);
    return success();
  }
  return inferResults(op, facts);
}

LogicalResult mpopt::inferTypes(Operation *op, ShapeFacts &facts) {
  if (isa<RegionTypeOpInterface>(op) && failed(inferBodies(op, facts, 0)))
    return failure();
  return inferResults(op, facts);
}

LogicalResult mpopt::inferAllTypes(Operation *root, ShapeFacts facts) {
  return inferNested(root, facts, 0);
}
