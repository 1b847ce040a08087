//===- Fix.h - Changes to a model that fixes ask for ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fix that a rule names is tried before it is shown: its action is applied to
// a copy of the module, and the analysis is run again.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPAIR_FIX_H
#define MPOPT_REPAIR_FIX_H

#include "mpopt/Hazards/FixAction.h"
#include "mpopt/Numerics/Infinity.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <vector>

namespace mpopt {

/// Ops that a fix took out of a module. They live as long as this object, since
/// places of findings refer to them.
class RetiredOps {
public:
  RetiredOps() = default;
  RetiredOps(const RetiredOps &) = delete;
  RetiredOps &operator=(const RetiredOps &) = delete;
  ~RetiredOps();

  /// Takes `op`, whose one result `by` replaces, out of the module, with its
  /// producers that have no use left. `isNew`: findings at `by` count as
  /// findings at `op`.
  void replace(mlir::Operation *op, mlir::Value by, bool isNew = true);
  /// The value that `value` replaced; itself if it replaced none.
  mlir::Value getReplaced(mlir::Value value) const;

private:
  void retire(mlir::Operation *op);

  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Value, mlir::Value> replaced;
};

/// A tried fix of a finding.
struct TriedFix {
  size_t finding; ///< its number
  FixAction action;
  /// The rule of the finding, the op that has it, and the fix in words.
  std::string rule, op, text;
  /// As Fix::safe, and f32 gives the same with it.
  bool safe = false;
};

/// Limits of magnitudes, beside 0 and NaN.
struct MagnitudeLimits {
  double least = 0, most = kInfinity;

  double apply(double number) const;
};

/// The limits that an action sets to the elements of constants; nothing for
/// actions that do something else.
std::optional<MagnitudeLimits> getLimits(const FixAction &action);

/// Applies an action of any kind but `Keep`. `find` maps ops of the action to
/// their counterparts in the module. False if it cannot be applied: the
/// constant is too large to be copied, say.
bool applyFix(const FixAction &action,
              llvm::function_ref<mlir::Operation *(mlir::Operation *)> find,
              RetiredOps &retired);

/// The one number of a constant; of one that a fix made not rounded to its
/// type. Nothing if it has several or is none.
std::optional<double> getNumber(mlir::Value value);

/// Plans to make the result of `op` (a constant: itself) 2^`exponent` times as
/// large, through the ops after it that pass a factor on, until `fits` holds
/// for a value: it is well within its dtype. `magnitude` gives the likely
/// magnitude of an operand. No action if the op cannot be given a factor.
FixAction planScale(mlir::Operation *op, int exponent,
                    llvm::function_ref<bool(mlir::Value)> fits,
                    llvm::function_ref<double(mlir::Value)> magnitude);

/// Plans to subtract the row's maximum from the operand of an exponential that
/// only a softmax or a log-sum-exp reads; no action elsewhere.
FixAction planShift(mlir::Operation *exponential);

// The action on an op; none where it is no part of the form. Kinds of FixAction
// have the forms.

/// log(1 + exp(x)), of the exponential.
FixAction planSoftplus(mlir::Operation *exponential);
/// log(1 + x), of the sum.
FixAction planLog1p(mlir::Operation *sum);
/// A sum that is divided by the number of its terms or more.
FixAction planMean(mlir::Operation *sum);
/// A product of two lengths, or of their squares, that divides.
FixAction planSeparateLengths(mlir::Operation *product);
/// A cast whose result is scaled by a number.
FixAction planScaleBeforeCast(mlir::Operation *cast);

} // namespace mpopt

#endif // MPOPT_REPAIR_FIX_H
