//===- Fix.h - What a fix would change in the model -------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fix that a rule names is tried before it is shown: its action is applied to
// a copy of the module, and the analysis is run again.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FIX_FIX_H
#define MPOPT_FIX_FIX_H

#include "mpopt/Hazards/FixAction.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace mpopt {

struct KeptOp {
  mlir::Operation *op;
  /// All, if empty.
  llvm::SmallVector<unsigned, 1> operands;
};

/// The ops of a module after its precision was applied compute in f32: they
/// read what was there before it was narrowed, where that is at hand, and what
/// they give to other ops is cast back to the dtype that it had. An op whose
/// dtype is an attribute of its own stays as it is. Failure is reported.
llvm::LogicalResult keepInFp32(mlir::ModuleOp module,
                               llvm::ArrayRef<KeptOp> ops);

/// Ops that a fix took out of a module. They live as long as this does, since
/// the places of findings are told by them.
class RetiredOps {
public:
  RetiredOps() = default;
  RetiredOps(const RetiredOps &) = delete;
  RetiredOps &operator=(const RetiredOps &) = delete;
  ~RetiredOps();

  /// Takes `op`, whose one result `by` stands for now, out of the module, and
  /// what nobody reads then. `isNew`: findings at `by` are findings at `op`.
  void replace(mlir::Operation *op, mlir::Value by, bool isNew = true);
  /// What `value` was put in for; itself if for nothing.
  mlir::Value getReplaced(mlir::Value value) const;

private:
  void retire(mlir::Operation *op);

  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Value, mlir::Value> replaced;
};

/// Applies an action of a kind but `Keep`; `find` gives the op of the module
/// that stands for one of the action's. False if it cannot be applied: the
/// constant is too large to be copied, say.
bool applyFix(const FixAction &action,
              llvm::function_ref<mlir::Operation *(mlir::Operation *)> find,
              RetiredOps &retired);

/// Plans to make the result of `op` (a constant: itself) 2^`exponent` times as
/// large, through the ops behind it that pass a factor on, until `fits` says
/// that a value is well within its dtype. `magnitude` is what is expected of an
/// operand. No action if the op is none to which a factor can be given.
FixAction planScale(mlir::Operation *op, int exponent,
                    llvm::function_ref<bool(mlir::Value)> fits,
                    llvm::function_ref<double(mlir::Value)> magnitude);

/// Subtracting the row's maximum from what an exponential reads, where that
/// changes nothing but its size: no action elsewhere.
FixAction planShift(mlir::Operation *exponential);

} // namespace mpopt

#endif // MPOPT_FIX_FIX_H
