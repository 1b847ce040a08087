//===- Fingerprint.h - Ops told apart by structure --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of nodes and tensors change with every export. A fingerprint hashes
// structure instead: the kind of an op, the numbers it reads and the size of
// its weight, and those of the ops up to two steps before it. Casts, views,
// shapes of other tensors, what depends on no input, dtypes, added biases and
// scaling by a number are passed by, and a composite that is written out
// (`mp.idiom`) counts as one op: they change with the exporter, the opset, the
// batch and the precision. Ops with equal structure are distinguished by their
// order in the module.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_FINGERPRINT_H
#define MPOPT_DIALECT_FINGERPRINT_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpopt {

/// Fingerprints of all ops below a root, computed in one go, in time linear in
/// ops and uses.
class Fingerprints {
public:
  explicit Fingerprints(mlir::Operation *root);

  /// 16 hex digits for `op` and what `key` says about it (a rule, an operand),
  /// and `-2`, `-3` ... for the second and later ops of equal structure.
  std::string get(mlir::Operation *op, llvm::StringRef key) const;

private:
  struct Entry {
    uint64_t hash;
    unsigned ordinal;
  };
  llvm::DenseMap<mlir::Operation *, Entry> entries;
};

} // namespace mpopt

#endif // MPOPT_DIALECT_FINGERPRINT_H
