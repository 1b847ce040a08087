//===- Table.h - Ranges of a table's rows and columns -----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statistics of the results of a lookup in an embedding table, and of a
// constant along an axis, in one pass over the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_TABLE_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_TABLE_H

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Weights/Kernels/Weights.h"

#include <vector>

namespace mpopt {

/// A table of weights [rows, columns].
struct TableRequest {
  /// The elements, with at most one zero point.
  WeightTensor weights;
  uint64_t rows = 0, columns = 0;
};

struct GroupStats {
  /// The exact range. Values that are not finite count as 0; empty without
  /// values.
  Interval range = Interval::empty();
  double mean = 0, variance = 0;
  /// An upper bound of the Euclidean norm.
  double norm = 0;
};

struct TableStats {
  std::vector<GroupStats> rows, columns;
  /// `WeightFlag`s of all values together.
  uint8_t flags = 0;
  /// The least magnitude other than 0; infinite if there is none.
  double minNonZero = kInfinity;
  /// Every value is a whole number.
  bool integral = true;

  GroupStats whole() const;
};

TableStats tableStats(const TableRequest &request, unsigned jobs = 0);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_TABLE_H
