//===- Operands.h - Operands, constants and arguments of ops ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands in their common dtype, constants and attributes in the forms that
// several families need. A null value means that this form of the op has no
// lowering.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_LOWERING_OPERANDS_H
#define MPOPT_LIB_IMPORT_ATEN_LOWERING_OPERANDS_H

#include "mpopt/Import/Aten/Lowering.h"

namespace mpopt::aten {

/// The operands in their common dtype; nothing if one is absent.
std::optional<llvm::SmallVector<mlir::Value>>
promoteAll(NodeContext &context, llvm::ArrayRef<llvm::StringRef> inputs,
           bool toFloat = false);

/// Kernels keep Python numbers in the dtype that they compute in, f32 for
/// 16-bit tensors. Where a number would overflow or underflow in the operands'
/// dtype, they and the number become f32: the dtype to go back to, else null.
/// Numbers that are only rounded are left as they are.
mlir::Type widenForNumbers(NodeContext &context,
                           llvm::ArrayRef<llvm::StringRef> inputs,
                           llvm::MutableArrayRef<mlir::Value> operands);

/// `value` in the dtype that widenForNumbers gave; a bool stays one.
mlir::Value narrowBack(NodeContext &context, mlir::Value value,
                       mlir::Type element);

/// One operand, `self`; the result is what the op infers from it.
template <typename OpT> llvm::LogicalResult lowerUnary(NodeContext &context) {
  mlir::Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  context.setOutput(0, context.make<OpT>(input));
  return llvm::success();
}

/// A rank-0 constant of the dtype of `like`; null if that is not known or
/// complex.
mlir::Value constantLike(NodeContext &context, double value, mlir::Value like);

/// The number input `name` as a rank-0 tensor of the dtype of `like`.
mlir::Value numberLike(NodeContext &context, llvm::StringRef name,
                       mlir::Value like);

/// `value` in the dtype that the input `dtype` names, as it is without one. Ops
/// with a dtype argument cast first and compute in it. Null if it is not known.
mlir::Value toDtype(NodeContext &context, mlir::Value value,
                    llvm::StringRef dtype = "dtype");

/// True if the dtype is an integer or a bool.
inline bool isIntegral(mlir::Value value) {
  return llvm::isa<mlir::IntegerType>(getElementType(value));
}

inline mlir::DenseI64ArrayAttr intsAttr(NodeContext &context,
                                        llvm::ArrayRef<int64_t> values) {
  return context.builder().getDenseI64ArrayAttr(values);
}

/// The first of the names that is an input of the op (overloads differ).
inline llvm::StringRef oneOf(const NodeContext &context, llvm::StringRef first,
                             llvm::StringRef second) {
  return context.has(first) ? first : second;
}

/// An `int[]` of `count` entries; one entry stands for all. Nothing if it is
/// computed at run time or of another length.
std::optional<llvm::SmallVector<int64_t>>
spatialInts(const NodeContext &context, llvm::StringRef input, size_t count,
            int64_t otherwise);

/// A list that says the default only becomes empty, as ONNX leaves it out:
/// equal windows are written alike.
void dropDefault(llvm::SmallVectorImpl<int64_t> &list, int64_t value);

/// `result` as the op gives it for `input`: quantised again by the scale of
/// that, where it is a quantised tensor.
mlir::Value requantize(NodeContext &context, mlir::Value result,
                       mlir::Value input);

/// The reduction of a loss (0 none, 1 mean, 2 sum); empty if it is not known.
llvm::StringRef reductionName(const NodeContext &context);

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_LOWERING_OPERANDS_H
