//===- Table.h - Ranges of a table's rows and columns -----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a lookup in an embedding table gives, and what a constant holds along an
// axis, in one pass over the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_TABLE_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_TABLE_H

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Weights/Kernels/Weights.h"

#include <vector>

namespace mpopt {

struct TableRequest {
  /// At most one zero point.
  WeightTensor weights;
  uint64_t rows = 0, columns = 0;
};

struct GroupStats {
  /// Exact. Values that are not finite count as 0; empty without values.
  Interval range = Interval::empty();
  double mean = 0, variance = 0;
  /// At least the Euclidean norm.
  double norm = 0;
};

struct TableStats {
  std::vector<GroupStats> rows, columns;
  /// `WeightFlag`s of all values together.
  uint8_t flags = 0;

  GroupStats whole() const;
};

TableStats tableStats(const TableRequest &request, unsigned jobs = 0);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_TABLE_H
