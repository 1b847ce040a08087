//===- CastPlan.h - Which operands are cast to what, and why ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPAIR_CASTPLAN_H
#define MPOPT_REPAIR_CASTPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace mpopt {

/// The casts in front of one op.
struct OpCasts {
  /// The float type in which the operands are read.
  mlir::FloatType type;
  /// The operands; empty: all that are floats.
  llvm::SmallVector<unsigned, 1> operands;
  /// The findings, by index, because of which they are cast.
  llvm::SetVector<size_t> reasons;
  /// The reason as a user reads it; may be empty.
  std::string why = {};
};

using CastPlan = llvm::MapVector<mlir::Operation *, OpCasts>;

/// Makes the ops of the plan, in a module to which a precision was applied,
/// read their operands in the wider type, from before inserted casts where
/// there are any; their results are cast back for other ops. An op whose dtype
/// is an attribute of its own stays as it is. `find` maps ops of the plan to
/// their counterparts in the module. Failure is reported.
llvm::LogicalResult
applyCasts(mlir::ModuleOp module, const CastPlan &plan,
           llvm::function_ref<mlir::Operation *(mlir::Operation *)> find);

} // namespace mpopt

#endif // MPOPT_REPAIR_CASTPLAN_H
