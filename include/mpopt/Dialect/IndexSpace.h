//===- IndexSpace.h - The things that integers index ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_INDEXSPACE_H
#define MPOPT_DIALECT_INDEXSPACE_H

#include "mpopt/Numerics/Interval.h"

#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace mpopt {

/// The integers that an op takes for an index.
struct IndexSpace {
  /// Number of things of which one is picked.
  int64_t size = 0;
  /// Indices that the op accepts: those that count from the end, and those that
  /// stand for none, included.
  Interval allowed;
  /// `picks one of 30522 rows of w`, `is one of 10 classes`.
  std::string what;
};

/// The smallest index space among all uses of `value` as an index, through
/// casts and ops that move elements. Nothing if no indexed dim has a known
/// size.
std::optional<IndexSpace> findIndexSpace(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_DIALECT_INDEXSPACE_H
