//===- RowSupport.h - Cells of ops that work on whole rows ------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What normalisations, softmax, attention and recurrent cells share.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_ROWSUPPORT_H
#define MPOPT_RANGES_VALUE_ROWSUPPORT_H

#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include <cmath>

namespace mpopt::cells {

/// The number of elements of a slice along `axes`; nothing if one is unknown.
std::optional<int64_t> countAlong(llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<int64_t> axes);

/// A vector's value as one along `axis` of a tensor of `rank`.
AbstractValue alongAxis(const AbstractValue &vector, int64_t axis, size_t rank);

/// At least the Euclidean norm of a row of `count` elements along `axis`, by
/// the bounds of its elements.
double normByCells(const AbstractValue &value, int64_t axis, int64_t count);

// Likely tier of independent operands; bounds are left alone.

/// `count` is the number of draws that the product's extremes are of.
Cell likelyProduct(const Cell &lhs, const Cell &rhs, double count);
Cell likelySum(const Cell &lhs, const Cell &rhs);

} // namespace mpopt::cells

#endif // MPOPT_RANGES_VALUE_ROWSUPPORT_H
