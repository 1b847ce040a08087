//===- Precision.h - The arithmetic a model is judged under -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_PRECISION_H
#define MPOPT_NUMERICS_PRECISION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mpopt {

struct Precision {
  /// As `--precision` spells it.
  llvm::StringLiteral name;
  /// The storage format of each role (StorageFormat::byName). Empty where
  /// weights and activations keep the dtypes of the file, and where
  /// accumulators are those of the target.
  llvm::StringLiteral weights, activations, accumulators;
  /// True if a policy says which ops compute in the format of activations; the
  /// weights are cast for those.
  bool byPolicy;

  bool isAsIs() const { return activations.empty(); }

  static llvm::ArrayRef<Precision> all();
  static const Precision &asIs() { return all().front(); }
  /// Null if there is none.
  static const Precision *byName(llvm::StringRef name);
  /// The same; as-is if there is none.
  static const Precision &of(llvm::StringRef name) {
    const Precision *known = byName(name);
    return known ? *known : asIs();
  }
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_PRECISION_H
