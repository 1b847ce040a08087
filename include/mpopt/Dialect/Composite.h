//===- Composite.h - Functions that a model writes out ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RecognizeIdioms matches norms, softmax and activations that are decomposed
// into simple ops and marks their members (`mp.idiom`). All later stages ask
// here what a member is part of. The members stay in the module: their values
// are where models overflow and underflow.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_COMPOSITE_H
#define MPOPT_DIALECT_COMPOSITE_H

#include "mpopt/Dialect/MPDialect.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace mpopt {

struct OpMeaning;

/// The mark of a member; null for other ops.
mp::IdiomAttr getIdiom(mlir::Operation *op);

/// The mnemonic of the composite that the op is a member of, or its own.
llvm::StringRef getKind(mlir::Operation *op);

/// The meaning of the function whose result is the op's: of a composite, if it
/// ends here, else of the op itself. Null if there is none.
const OpMeaning *getResultMeaning(mlir::Operation *op);

/// The members of one mark.
struct Composite {
  /// The mnemonic of the op that computes the same, and its meaning.
  llvm::StringRef kind;
  const OpMeaning *meaning = nullptr;
  /// In program order.
  llvm::SmallVector<mlir::Operation *, 12> members;
  /// The member whose result is the composite's; null if it was removed.
  mlir::Operation *result = nullptr;
  /// The one tensor of floats that members read beside constants, as the first
  /// of them reads it; null if there are several.
  mlir::Value input;
  /// The axes over which members reduce, from the front and sorted; empty if
  /// they differ or if none reduces.
  llvm::SmallVector<int64_t, 4> axes;

  /// The members from the root of a mean square to the division by it, in a row
  /// norm, empty for other forms. A scale and a bias come
  /// behind it.
  llvm::SmallVector<mlir::Operation *, 4> path;
  /// Its member that subtracts the mean, if it divides the difference.
  mlir::Operation *difference = nullptr;
  /// The number that is added under its root.
  double epsilon = 0;

  /// True if the axes are the last ones of the input.
  bool reducesTail() const;
  bool contains(mlir::Operation *op) const {
    return llvm::is_contained(members, op);
  }
};

/// The composites in an op and in its regions.
class Composites {
public:
  explicit Composites(mlir::Operation *root);

  /// The composite that the op is a member of, or null.
  const Composite *get(mlir::Operation *op) const;
  llvm::ArrayRef<Composite> all() const { return composites; }

private:
  std::vector<Composite> composites;
  llvm::DenseMap<mlir::Operation *, size_t> ofMember;
};

} // namespace mpopt

#endif // MPOPT_DIALECT_COMPOSITE_H
