//===- Shapes.cpp - Shapes of values by their names
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Shapes.h"

#include "mpopt/Convert/Convert.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mpopt;
using llvm::StringRef;

static std::string keyOf(StringRef scope, StringRef name) {
  return (scope + llvm::Twine('\n') + name).str();
}

void KnownShapes::note(mlir::Value value, unsigned index, mlir::Operation *op) {
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return;
  StringRef name = getValueName(value);
  // The last one of the ops that a node became gives its result.
  if (!name.empty())
    shapes[keyOf(getValueScope(op), name)] = type.getShape().vec();
  else if (StringRef node = getNodeName(op); !node.empty())
    shapes[keyOf(getScope(op), nameResult(node, index))] =
        type.getShape().vec();
}

void KnownShapes::note(mlir::ModuleOp module) {
  module.walk([&](mlir::Operation *op) {
    for (mlir::OpResult result : op->getResults())
      note(result, result.getResultNumber(), op);
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (mlir::BlockArgument argument : block.getArguments())
          if (!block.empty())
            note(argument, argument.getArgNumber(), &block.front());
  });
}

std::optional<std::vector<int64_t>> KnownShapes::find(StringRef scope,
                                                      StringRef name) const {
  auto it = shapes.find(keyOf(scope, name));
  return it == shapes.end() ? std::nullopt : std::optional(it->second);
}

std::vector<ShapedInput> mpopt::listInputShapes(mlir::ModuleOp module) {
  std::vector<ShapedInput> inputs;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    for (mlir::BlockArgument input : function.getArguments())
      if (MaybeShape shape = getShape(input)) {
        ShapedInput &known = inputs.emplace_back();
        known.name = getInputName(input);
        known.dtype = getDtypeName(getElementType(input));
        for (int64_t dim : *shape)
          known.shape.push_back(mlir::ShapedType::isDynamic(dim) ? -1 : dim);
      }
  return inputs;
}
