//===- Match.h - Patterns that several stages look for ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One definition each of "behind casts", "x squared", "1 over x" and "the axes
// of a reduction", for idioms, relations, hazards, rules and fixes. They differ
// in how strict they have to be, which is an argument: a relation that tightens
// a bound counts the rounding of each cast, an idiom does not care.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_MATCH_H
#define MPOPT_DIALECT_MATCH_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace mpopt {

class ShapeFacts;

namespace mp {
class CastOp;
} // namespace mp

//===----------------------------------------------------------------------===//
// The source of a value
//===----------------------------------------------------------------------===//

/// The ops that `peel` looks through, each at its operand 0. They combine with
/// `|`.
enum class Peel : unsigned {
  Identities = 1,
  /// Every cast.
  AllCasts = 2,
  /// Casts between float formats that round to nearest.
  FloatCasts = 4,
  /// Casts after which every value is still the same number.
  LosslessCasts = 8,
  /// Casts that applying a precision inserted.
  InsertedCasts = 16,
  /// Casts that a promotion of mixed operands inserted.
  PromotionCasts = 32,
  /// Ops that only move, repeat or select elements.
  Views = 64,

  /// The value itself, whatever its dtype.
  Casts = Identities | AllCasts,
  /// The same number but for rounding.
  Rounded = Identities | FloatCasts,
  /// The same number, whatever its dtype.
  Lossless = Identities | LosslessCasts,
  /// The op that computed the elements.
  CastsAndViews = Casts | Views
};
constexpr Peel operator|(Peel lhs, Peel rhs) {
  return Peel(unsigned(lhs) | unsigned(rhs));
}
constexpr bool contains(Peel set, Peel kind) {
  return (unsigned(set) & unsigned(kind)) != 0;
}

/// `value` before the ops that `through` names. `onCast`, if given, sees each
/// cast on the way, the last one first. At most `kMostPeeled` ops are passed,
/// so that asking for every value of a long chain stays linear in its length.
mlir::Value peel(mlir::Value value, Peel through = Peel::Casts,
                 llvm::function_ref<void(mp::CastOp)> onCast = nullptr);
inline constexpr unsigned kMostPeeled = 256;

/// The op that makes `peel(value, through)`; null for an argument.
mlir::Operation *getMaker(mlir::Value value, Peel through = Peel::Casts);

/// The maker if it is an `OpTy`, else null.
template <typename OpTy>
OpTy getMaker(mlir::Value value, Peel through = Peel::Casts) {
  return llvm::dyn_cast_if_present<OpTy>(getMaker(value, through));
}

/// True if both are one value, through `through`.
bool isSameBehind(mlir::Value lhs, mlir::Value rhs, Peel through = Peel::Casts);

/// True if `value` is an mp.constant, through casts and views.
bool isConstant(mlir::Value value);

/// True for a cast that applying a precision inserted; false for null and for
/// casts of the model.
bool isInserted(mlir::Operation *op);

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// How strict a match is.
struct Strictness {
  /// Decides whether the factors of a product are equal. Default: one value
  /// behind casts.
  llvm::function_ref<bool(mlir::Value, mlir::Value)> same = nullptr;
  /// Gives the number that an operand holds in every element, if it does.
  /// Default: a constant of the model.
  llvm::function_ref<std::optional<double>(mlir::Value)> number = nullptr;
};

/// x if `op` computes x^2 as mp.square, pow(x, 2) or x * x; null for others and
/// for a null op.
mlir::Value getSquared(mlir::Operation *op, Strictness strictness = {});

/// x if `op` computes 1 / x as mp.reciprocal, pow(x, -1) or 1 / x; null for
/// others.
mlir::Value getInverted(mlir::Operation *op, Strictness strictness = {});

/// Operand of a commutative or other op with two operands that is not a number,
/// and the number; the second operand is looked at first.
std::optional<std::pair<mlir::Value, double>> splitNumber(mlir::Operation *op);

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The axes of a reduction (operand 1 or the attribute `axes`; all if neither
/// names one), counted from the front, sorted, each once. Nothing if they or
/// the rank are not known.
std::optional<llvm::SmallVector<int64_t, 4>>
getReducedAxes(mlir::Operation *reduction, const ShapeFacts &shapes);

} // namespace mpopt

#endif // MPOPT_DIALECT_MATCH_H
