//===- IndexSpace.h - What integers index -----------------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_INDEXSPACE_H
#define MPOPT_DIALECT_INDEXSPACE_H

#include "mpopt/Numerics/Interval.h"

#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace mpopt {

/// The integers that an op takes for an index.
struct IndexSpace {
  /// From how many things one is picked.
  int64_t size = 0;
  /// Indices that count from the end, and those that stand for none, included.
  Interval allowed;
  /// `picks one of 30522 rows of w`, `is one of 10 classes`.
  std::string what;
};

/// What `value` must be so that everything that indexes with it, through casts
/// and ops that move elements, accepts it: the smallest of what is indexed.
/// Nothing if nothing of a known size is.
std::optional<IndexSpace> findIndexSpace(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_DIALECT_INDEXSPACE_H
