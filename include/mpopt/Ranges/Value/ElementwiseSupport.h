//===- ElementwiseSupport.h - Functions of one element each -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a transfer function of tensors from a function of numbers: groups are
// broadcast and paired, the function is applied to each pair, flags are joined.
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

/// The bound that an op computes from one element of each operand.
using RangeFunction =
    llvm::function_ref<FloatRange(llvm::ArrayRef<FloatRange>)>;
/// The estimate that it computes from those.
using LikelyFunction = llvm::function_ref<Likely(llvm::ArrayRef<Likely>)>;

/// True if the elements are floats or integers, not complex numbers or strings.
bool isReal(mlir::Value value);
/// True if the elements of all operands are.
bool areReal(mlir::Operation *op);
/// The values of all operands of the current op, as it reads them.
llvm::SmallVector<AbstractValue, 3> operandsOf(TransferContext &ctx);

/// The expected distance of the extremes of a group of the current op's result
/// from the mean, in standard deviations.
double extremeOf(TransferContext &ctx);

/// Applies both functions to each group of the broadcast operands. The likely
/// part is unknown if an operand's is. Claims about rows are dropped.
AbstractValue mapGroups(TransferContext &ctx,
                        llvm::ArrayRef<AbstractValue> operands,
                        RangeFunction range, LikelyFunction estimate);

/// The sum, or the difference, of both operands, which are real.
AbstractValue addGroups(TransferContext &ctx, const AbstractValue &lhs,
                        const AbstractValue &rhs, bool subtract);

/// The image of `operand` under a function of one number, with the claims about
/// rows that the function preserves (a norm does not grow under relu).
AbstractValue mapUnary(TransferContext &ctx, const AbstractValue &operand,
                       const Unary &unary, const ComputeError &error);

/// The errors with which the kernel of the current op computes functions of
/// this operand; none if it is no float.
ComputeError functionError(TransferContext &ctx, mlir::Value operand);

/// An upper bound of the Euclidean norm of rows along `axis`, from the claim or
/// from the cells; infinite if nothing is known. `count` is the number of
/// elements of a row.
double rowNorm(const AbstractValue &value, int64_t axis, int64_t count);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_ELEMENTWISESUPPORT_H
