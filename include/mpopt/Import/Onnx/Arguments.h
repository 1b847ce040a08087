//===- Arguments.h - Reading a node's inputs and parameters -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of the lowerings of ops that move data.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_ONNX_LOWERING_ARGUMENTS_H
#define MPOPT_IMPORT_ONNX_LOWERING_ARGUMENTS_H

#include "mpopt/Import/Onnx/Lowering.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace mpopt::onnx_import {

/// Calls `lowering` if the first `count` inputs are there, else reports an
/// error.
template <unsigned count, Lowering lowering>
llvm::LogicalResult withInputs(NodeContext &ctx) {
  for (unsigned index = 0; index < count; ++index)
    if (!ctx.hasInput(index))
      return ctx.error("input " + llvm::Twine(index) + " is missing");
  return lowering(ctx);
}

/// Lowers a node to `OpT` of its first `count` inputs, without attributes.
template <typename OpT, unsigned count>
llvm::LogicalResult lowerPlain(NodeContext &ctx) {
  llvm::SmallVector<mlir::Value> operands;
  for (unsigned index = 0; index < count; ++index) {
    if (!ctx.hasInput(index))
      return ctx.error("input " + llvm::Twine(index) + " is missing");
    operands.push_back(ctx.input(index));
  }
  ctx.setOutput(0, ctx.make<OpT>(mlir::ValueRange(operands)));
  return mlir::success();
}

/// A list of integers: an attribute if its elements are known, else an operand.
struct Parameter {
  mlir::DenseI64ArrayAttr attribute;
  mlir::Value operand;

  bool isThere() const { return attribute || operand; }
};

/// Reads the attribute `name`, or else the input.
inline Parameter readParameter(NodeContext &ctx, llvm::StringRef name,
                               unsigned index) {
  if (auto ints = ctx.attrOrInput(name, index))
    return {ctx.builder().getDenseI64ArrayAttr(*ints), mlir::Value()};
  return {mlir::DenseI64ArrayAttr(), ctx.input(index)};
}

/// The attribute `name` as one of an mp op; null if the node lacks it.
inline mlir::DenseI64ArrayAttr findIntsAttr(NodeContext &ctx,
                                            llvm::StringRef name) {
  auto ints = ctx.findInts(name);
  return ints ? ctx.builder().getDenseI64ArrayAttr(*ints)
              : mlir::DenseI64ArrayAttr();
}

/// The result type that a dtype attribute asks for: of unknown shape, and of
/// `otherwise`'s element type without one. Null for a number that is no dtype.
inline mlir::Type findResultType(NodeContext &ctx, llvm::StringRef name,
                                 mlir::Type otherwise) {
  mlir::Type element = otherwise;
  if (auto dtype = ctx.findInt(name))
    element = ctx.elementTypeOf(*dtype);
  return element ? getTensorType(std::nullopt, element) : mlir::Type();
}

/// Adds the lowerings of Resample.cpp, a part of the Shape family.
void registerResampleLowerings(LoweringRegistry &registry);

} // namespace mpopt::onnx_import

#endif // MPOPT_IMPORT_ONNX_LOWERING_ARGUMENTS_H
