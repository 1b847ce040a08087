//===- Idioms.h - Matching decomposed composites ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each family looks from an op that only its idioms have (a root, an
// exponential, an erf) up to the input and down to the result, over a bounded
// number of ops, so the whole pass is linear. Casts and identities of the model
// are looked through and are no members.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_TRANSFORMS_IDIOMS_IDIOMS_H
#define MPOPT_PASSES_TRANSFORMS_IDIOMS_IDIOMS_H

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/Match.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <utility>

namespace mpopt::idioms {

using Members = llvm::SmallVector<mlir::Operation *, 12>;

/// The kind of an idiom that computes what the op does: its mnemonic.
template <typename OpTy> llvm::StringRef getKind() {
  return OpTy::getOperationName().split('.').second;
}

/// Numbers the instances and leaves the attributes.
class Marker {
public:
  /// As what op the members compute.
  template <typename OpTy>
  bool mark(llvm::ArrayRef<mlir::Operation *> members,
            mlir::Operation *result) {
    return mark(getKind<OpTy>(), members, result);
  }

  /// Marks `members`; `result` is the last of them to run. False if one of them
  /// belongs to an idiom already: the first match stays.
  bool mark(llvm::StringRef kind, llvm::ArrayRef<mlir::Operation *> members,
            mlir::Operation *result);

private:
  int64_t next = 0;
};

// One of each family; `anchor` is any op. True if something was marked.
bool matchNormalization(mlir::Operation *anchor, Marker &marker);
bool matchSoftmax(mlir::Operation *anchor, Marker &marker);
bool matchActivation(mlir::Operation *anchor, Marker &marker);
bool matchLoss(mlir::Operation *anchor, Marker &marker);

//===----------------------------------------------------------------------===//
// Helpers of the families
//===----------------------------------------------------------------------===//

using Axes = llvm::SmallVector<int64_t, 4>;

/// The constant `value`; the nearest integer where it is one within the
/// rounding of any exporter.
std::optional<double> getRoundNumber(mlir::Value value);

/// `value` is the constant `expected`, within the rounding of any exporter.
bool isNumber(mlir::Value value, double expected);

/// The other operand of a two-operand op of which one is `value`.
mlir::Value otherOperand(mlir::Operation *op, mlir::Value value);

/// Users of `value` through casts and identities; nothing where there are more
/// than a handful, so that looking stays cheap.
llvm::SmallVector<mlir::Operation *, 4> getUsers(mlir::Value value);

/// The only user, or null.
mlir::Operation *getOnlyUser(mlir::Value value);

/// A value made of constants alone by at most a few ops: a parameter.
bool isParameter(mlir::Value value);

} // namespace mpopt::idioms

#endif // MPOPT_PASSES_TRANSFORMS_IDIOMS_IDIOMS_H
