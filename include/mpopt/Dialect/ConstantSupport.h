//===- ConstantSupport.h - Values of mp.constant ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two ways in which a constant holds its elements, behind one reader.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_CONSTANTSUPPORT_H
#define MPOPT_DIALECT_CONSTANTSUPPORT_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace mpopt {

namespace mp {
class ConstantOp;
} // namespace mp

struct ConstantBytes {
  /// Little-endian, row-major; of a splat a single element.
  llvm::ArrayRef<char> data;
  bool splat = false;
};

/// The bytes of a constant's elements. Nothing if they cannot be read: a
/// weight's file is missing or too short, or the elements are not stored as a
/// file would (strings, and dense elements narrower than a byte, which MLIR
/// spreads out).
std::optional<ConstantBytes> getConstantBytes(mp::ConstantOp constant);

/// The one number that `value` holds in all its elements, if it is a constant
/// of an integer or float type, through casts, identities and ops that only
/// give it another shape. Weights in files are read for single elements only.
std::optional<double> getSplatConstant(mlir::Value value);

/// True if the op gives elements of its operand 0 another order, shape or
/// selection and computes nothing.
bool isViewLike(mlir::Operation *op);

/// False for an operand of a loop that no iteration reads, as the argument that
/// it becomes has no use: what a variable holds that is set later. If the loop
/// does not run it is the result.
bool isReadInside(mlir::OpOperand &use);

} // namespace mpopt

#endif // MPOPT_DIALECT_CONSTANTSUPPORT_H
