//===- Actions.h - How each kind of fix is applied --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_REPAIR_ACTIONS_ACTIONS_H
#define MPOPT_LIB_REPAIR_ACTIONS_ACTIONS_H

#include "mpopt/Repair/Fix.h"

#include "mpopt/Dialect/Ops/CoreOps.h"

#include "mlir/IR/Builders.h"

namespace mpopt::fixes {

using Ops = llvm::ArrayRef<mlir::Operation *>;

/// A scalar constant of a float element type.
mlir::Value makeNumber(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::Type element, double number);

/// `value` as `element`: itself, or a cast.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Value value,
                   mlir::Type element,
                   mp::CastOrigin origin = mp::CastOrigin::Model);

/// Readers of `value` that are no casts.
llvm::SmallVector<mlir::Operation *> getReaders(mlir::Value value);

/// Rewrites each element of a float constant. False if there are too many.
bool rewriteConstant(mlir::Operation *op,
                     llvm::function_ref<double(double)> change);

/// `ops` and `takeBack` as the action has them, `operand` of the first one.
bool applyScale(Ops ops, llvm::ArrayRef<unsigned> takeBack, int exponent,
                unsigned operand);

// Each as FixAction::Kind has it.
bool takeLogOfOperand(Ops ops, bool ofComplement, RetiredOps &retired);
bool takeSigmoidOfNegative(Ops ops, RetiredOps &retired);
bool shiftByMaximum(Ops ops, RetiredOps &retired);
bool centreFirst(Ops ops, RetiredOps &retired);
bool takeOther(Ops ops, unsigned operand, RetiredOps &retired);
bool takeLossOfLogits(Ops ops, RetiredOps &retired);
bool takeSoftplus(Ops ops, RetiredOps &retired);
bool takeLog1p(Ops ops, unsigned operand, RetiredOps &retired);

bool takeMean(Ops ops, RetiredOps &retired);
bool takeRootOfEach(Ops ops, RetiredOps &retired);
bool divideTwice(Ops ops, RetiredOps &retired);
bool scaleBeforeCast(Ops ops, RetiredOps &retired);

bool skipCast(mlir::Operation *op);
bool widenExplicitly(mlir::Operation *op);
bool narrowExplicitly(mlir::Operation *op, unsigned narrow);
bool removeCast(mlir::Operation *op, RetiredOps &retired);
bool castFirst(Ops ops);

} // namespace mpopt::fixes

#endif // MPOPT_LIB_REPAIR_ACTIONS_ACTIONS_H
