//===- Shapes.h - Shapes of values by their names ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONVERSION_SHAPES_H
#define MPOPT_LIB_DRIVER_CONVERSION_SHAPES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpopt {

/// The static shapes of a model's values, as ConvertRequest::findShape gives
/// them.
class KnownShapes {
public:
  void note(mlir::ModuleOp module);
  std::optional<std::vector<int64_t>> find(llvm::StringRef scope,
                                           llvm::StringRef name) const;

private:
  void note(mlir::Value value, unsigned index, mlir::Operation *op);

  llvm::StringMap<std::vector<int64_t>> shapes;
};

struct ShapedInput {
  std::string name, dtype;
  std::vector<int64_t> shape; ///< -1: not known
};

/// The inputs of known rank.
std::vector<ShapedInput> listInputShapes(mlir::ModuleOp module);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONVERSION_SHAPES_H
