//===- FixAction.h - A change that would fix a finding ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule names the change, and mpopt/Repair makes it on a copy of the module,
// or in what is declared of its training, to see whether it helps. This file
// has the data only.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_FIXACTION_H
#define MPOPT_HAZARDS_FIXACTION_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace mpopt {

/// A change of the graph. The kind says what the other members mean.
struct FixAction {
  enum class Kind {
    /// No action: a `keep-fp32` is tried on the finding's own ops, another fix
    /// cannot be tried and is left out.
    None,
    /// `ops` compute in f32; of `operands`, if there are any, only these are
    /// widened.
    Keep,

    // Numbers (Apply.cpp).

    /// No element of the constants `ops` is larger than `number` in magnitude.
    LimitConstant,
    /// No non-zero element of the constants `ops` is smaller than `number` in
    /// magnitude.
    RaiseConstant,
    /// Operand `operands[0]` of `ops[0]` is clipped to [number, upper].
    ClampOperand,
    /// Operand 0 of `ops[0]`, a product, is scaled as `ops[1]` scales the
    /// result; `ops[1]` is removed.
    ScaleFirst,

    // A power of two through a part of the graph (Scale.cpp).

    /// The result of `ops[0]` is scaled by 2^`number`; the other ops pass the
    /// factor on, and those whose `operands` entry is 1 divide it out.
    Scale,

    // Stable forms (StableForms.cpp).

    /// The logarithms `ops[1...]` of `ops[0]`, a softmax or sigmoid or (upper =
    /// 1) of its difference to 1, are computed from its operand.
    LogOfOperand,
    /// `ops[1]`, 1 - sigmoid(x), is sigmoid(-x); `ops[0]` is the sigmoid.
    SigmoidOfNegative,
    /// The row's maximum is subtracted from the operand of `ops[0]`, an
    /// exponential, and added to the logarithm `ops[2]`, if there is one, of
    /// the sum `ops[1]`.
    ShiftByMaximum,
    /// `ops[0]`, mean(x^2) - mean(x)^2 with `ops[1]` its first mean, is the
    /// mean of (x - mean(x))^2.
    CentreFirst,
    /// `ops[0]` subtracts what `ops[1]` added; the other operand of `ops[1]`
    /// replaces it.
    TakeOther,
    /// `ops[0]`, a loss of the probabilities that `ops[1]` makes, takes logits.
    LossOfLogits,
    /// `ops[0]`, log(1 + exp(x)) with `ops[1]` the exponential, is softplus(x).
    SoftplusOfOperand,
    /// `ops[0]`, the logarithm of the sum `ops[1]` of 1 and operand
    /// `operands[0]`, is log1p of that operand.
    Log1pOfOperand,

    // Another order (Reordered.cpp).

    /// `ops[0]` divides the sum `ops[1]` by a number: a mean, times a number.
    MeanOfSum,
    /// `ops[0]` takes the root of the product `ops[1]`, above the guard
    /// `ops[2]` if there is one: the product of the factors' roots.
    RootOfEach,
    /// `ops[0]` divides by the product `ops[1]`: it divides by its factors.
    DivideTwice,
    /// All users of the cast `ops[0]` scale its result by a number: its operand
    /// is scaled.
    ScaleBeforeCast,

    // Casts (Recast.cpp).

    /// The users of `ops[0]`, a cast, read the operand of the cast in front of
    /// it.
    SkipCast,
    /// The narrow float operands of `ops[0]` get explicit casts to the wide
    /// type.
    WidenExplicitly,
    /// The wide float operands of `ops[0]` get explicit casts to the type of
    /// operand `operands[0]`.
    NarrowExplicitly,
    /// The cast `ops[0]` is removed; its users read its operand.
    RemoveCast,
    /// `ops[0]` computes in the type of the cast `ops.back()` behind it; the
    /// ops between only move elements.
    CastFirst,

    // A change of the declared step, of no op (Trials::runDeclared).

    /// The training step is the one that `step` declares (kTrainingStepAttr).
    DeclareStep
  };

  Kind kind = Kind::None;
  llvm::SmallVector<mlir::Operation *, 2> ops;
  llvm::SmallVector<unsigned, 1> operands;
  double number = 0, upper = 0;
  mlir::DictionaryAttr step;
  /// Keeping some of `ops` without the others mends nothing, whatever estimates
  /// say: an epsilon is 0 wherever it is stored narrowly on its way.
  bool together = false;
  /// False if f32 would give other numbers with it, beyond their rounding: a
  /// limit that values inside of a function's domain pass.
  bool keepsFunction = true;

  FixAction() = default;
  FixAction(Kind kind, llvm::ArrayRef<mlir::Operation *> ops,
            llvm::ArrayRef<unsigned> operands = {})
      : kind(kind), ops(ops), operands(operands) {}

  explicit operator bool() const { return kind != Kind::None; }

  static FixAction keep(llvm::ArrayRef<mlir::Operation *> ops) {
    return {Kind::Keep, ops};
  }
  static FixAction keepTogether(llvm::ArrayRef<mlir::Operation *> ops) {
    FixAction action(Kind::Keep, ops);
    action.together = true;
    return action;
  }
  static FixAction onConstants(Kind kind,
                               llvm::ArrayRef<mlir::Operation *> constants,
                               double number) {
    FixAction action(kind, constants);
    action.number = number;
    return action;
  }
  static FixAction declare(mlir::DictionaryAttr step) {
    FixAction action(Kind::DeclareStep, {});
    action.step = step;
    return action;
  }
  static FixAction clamp(mlir::Operation *op, unsigned operand, double lo,
                         double hi, bool keepsFunction = false) {
    FixAction action(Kind::ClampOperand, {op}, {operand});
    action.number = lo;
    action.upper = hi;
    action.keepsFunction = keepsFunction;
    return action;
  }
};

} // namespace mpopt

#endif // MPOPT_HAZARDS_FIXACTION_H
