//===- Fix.h - What a fix would change in the model -------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fix that a rule names can be tried: its action is applied to a copy of the
// module, and the analysis is run again.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_TRANSFORMS_FIXES_FIX_H
#define MPOPT_PASSES_TRANSFORMS_FIXES_FIX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace mpopt {

struct FixAction {
  enum class Kind {
    /// Nobody knows how: a fix in words.
    None,
    /// `ops` compute in f32; of `operands`, if there are any, only these are
    /// widened.
    Keep,
    /// No element of the constants `ops` is larger than `number` in magnitude.
    LimitConstant,
    /// No element but 0 is smaller.
    RaiseConstant,
    /// Operand `operands[0]` of `ops[0]` is clipped to [number, upper].
    ClampOperand,
    /// Operand 0 of `ops[0]`, a product, is scaled as `ops[1]` scales the
    /// result; `ops[1]` goes.
    ScaleFirst,
    /// What reads `ops[0]`, a cast, reads what the cast in front of it casts.
    SkipCast
  };

  Kind kind = Kind::None;
  llvm::SmallVector<mlir::Operation *, 2> ops;
  llvm::SmallVector<unsigned, 1> operands;
  double number = 0, upper = 0;

  static FixAction keep(llvm::ArrayRef<mlir::Operation *> ops) {
    FixAction action;
    action.kind = Kind::Keep;
    action.ops.assign(ops.begin(), ops.end());
    return action;
  }
  static FixAction onConstants(Kind kind,
                               llvm::ArrayRef<mlir::Operation *> constants,
                               double number) {
    FixAction action = keep(constants);
    action.kind = kind;
    action.number = number;
    return action;
  }
  static FixAction clamp(mlir::Operation *op, unsigned operand, double lo,
                         double hi) {
    FixAction action = keep({op});
    action.kind = Kind::ClampOperand;
    action.operands = {operand};
    action.number = lo;
    action.upper = hi;
    return action;
  }
  static FixAction scaleFirst(mlir::Operation *product,
                              mlir::Operation *scale) {
    FixAction action = keep({product, scale});
    action.kind = Kind::ScaleFirst;
    return action;
  }
  static FixAction skip(mlir::Operation *cast) {
    FixAction action = keep({cast});
    action.kind = Kind::SkipCast;
    return action;
  }
};

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

/// Applies an action of another kind; `find` gives the op of the module that
/// stands for one of the action's. False if it cannot be applied: the constant
/// is too large to be copied, say.
bool applyFix(const FixAction &action,
              llvm::function_ref<mlir::Operation *(mlir::Operation *)> find);

} // namespace mpopt

#endif // MPOPT_PASSES_TRANSFORMS_FIXES_FIX_H
