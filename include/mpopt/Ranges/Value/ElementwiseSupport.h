//===- ElementwiseSupport.h - Functions of one element each -----*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a function of numbers to a transfer function of tensors: groups are
// broadcast and paired, each pair goes through the function, flags are joined.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_ELEMENTWISESUPPORT_H
#define MPOPT_RANGES_VALUE_ELEMENTWISESUPPORT_H

#include "mpopt/Numerics/ComputeError.h"
#include "mpopt/Numerics/FloatRange.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Numerics/Unary.h"
#include "mpopt/Ranges/Value/CellSupport.h"

namespace mpopt {

/// What an op computes from one element of each operand: the sound part.
using RangeFunction =
    llvm::function_ref<FloatRange(llvm::ArrayRef<FloatRange>)>;
/// The same of the likely part.
using LikelyFunction = llvm::function_ref<Likely(llvm::ArrayRef<Likely>)>;

/// True if the elements are floats or integers: not complex, no strings.
bool isReal(mlir::Value value);
/// True if those of all operands are.
bool areReal(mlir::Operation *op);
/// What is known of all operands of the current op.
llvm::SmallVector<AbstractValue, 3> operandsOf(TransferContext &ctx);

/// How far the extremes of a group of the current op's result are, in
/// deviations.
double extremeOf(TransferContext &ctx);

/// Applies both functions to each group of the broadcast operands. The likely
/// part is unknown if an operand's is. Facts about rows are not carried.
AbstractValue mapGroups(TransferContext &ctx,
                        llvm::ArrayRef<AbstractValue> operands,
                        RangeFunction range, LikelyFunction estimate);

/// The image of a function of one number, facts about rows included where the
/// function has them (a norm does not grow under relu).
AbstractValue mapUnary(TransferContext &ctx, const AbstractValue &operand,
                       const Unary &unary, const ComputeError &error);

/// How the kernel of the current op computes functions of this operand: exactly
/// if it is no float.
ComputeError functionError(TransferContext &ctx, mlir::Value operand);

/// A bound of the norm of rows along `axis`, from the fact or from the cells;
/// infinite if nothing is known. `count` is the number of elements of a row.
double rowNorm(const AbstractValue &value, int64_t axis, int64_t count);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_ELEMENTWISESUPPORT_H
