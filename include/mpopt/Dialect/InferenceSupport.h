//===- InferenceSupport.h - Checks and dims of ops that move data --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dims come from files and may be anything up to 2^63 - 1. Arithmetic on them
// is checked: what does not fit is unknown (kDynamic).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_INFERENCESUPPORT_H
#define MPOPT_DIALECT_INFERENCESUPPORT_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/StringRef.h"

namespace mpopt {

/// Runs the op's inference for its errors only, without known elements beyond
/// constants, and compares the result types that are there.
llvm::LogicalResult verifyByInference(mlir::Operation *op);

/// Sum and product of dims: kDynamic if an operand is, or if the result is
/// negative or does not fit 64 bits.
int64_t addDims(int64_t lhs, int64_t rhs);
int64_t multiplyDims(int64_t lhs, int64_t rhs);
int64_t multiplyDims(llvm::ArrayRef<int64_t> dims);

/// `axis` counted from the front, or an error on the op.
llvm::FailureOr<int64_t> checkAxis(mlir::Operation *op, int64_t axis,
                                   int64_t rank);
/// The same for several, which must be distinct.
llvm::FailureOr<llvm::SmallVector<int64_t>>
checkAxes(mlir::Operation *op, llvm::ArrayRef<int64_t> axes, int64_t rank);

/// An error unless `value` is one of `allowed`.
llvm::LogicalResult checkOneOf(mlir::Operation *op, llvm::StringRef name,
                               llvm::StringRef value,
                               llvm::ArrayRef<llvm::StringRef> allowed);

/// The same for the words of an enumeration of the dialect, whose last number
/// is `most`.
template <typename EnumTy>
llvm::LogicalResult checkWord(mlir::Operation *op, llvm::StringRef name,
                              llvm::StringRef value, unsigned most) {
  llvm::SmallVector<llvm::StringRef> words;
  for (unsigned number = 0; number <= most; ++number)
    words.push_back(stringifyEnum(EnumTy(number)));
  return checkOneOf(op, name, value, words);
}

/// An error unless the operand, if its rank is known, has one of these ranks.
llvm::LogicalResult checkRank(mlir::Operation *op, llvm::StringRef name,
                              mlir::Value value, llvm::ArrayRef<int64_t> ranks);

/// Elements of a small integer tensor; where only their number is known, that
/// many unknown ones.
Elements elementsOf(const ShapeFacts &facts, mlir::Value value);

/// A parameter that is an attribute or else an operand: its elements.
Elements parameter(std::optional<llvm::ArrayRef<int64_t>> attribute,
                   mlir::Value operand, const ShapeFacts &facts);
/// The same if all are known.
std::optional<llvm::SmallVector<int64_t>>
constantParameter(std::optional<llvm::ArrayRef<int64_t>> attribute,
                  mlir::Value operand, const ShapeFacts &facts);

/// An error if both are there, or none and `required`.
llvm::LogicalResult checkParameter(mlir::Operation *op, llvm::StringRef name,
                                   bool attribute, mlir::Value operand,
                                   bool required = true);

/// The shape whose dims are the elements of `value`; a negative one is an
/// error.
llvm::FailureOr<MaybeShape>
shapeFrom(mlir::Operation *op, const ShapeFacts &facts, mlir::Value value);

/// Elements of a float constant, if `value` is one and not large.
std::optional<llvm::SmallVector<double>> floatConstants(mlir::Value value);

/// Elements of a small float tensor, each known or not: those of a constant, or
/// whole numbers that `facts` has followed.
std::optional<llvm::SmallVector<std::optional<double>>>
floatElements(const ShapeFacts &facts, mlir::Value value);

} // namespace mpopt

#endif // MPOPT_DIALECT_INFERENCESUPPORT_H
