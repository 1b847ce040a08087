//===- RowSupport.h - Cells of ops that work on whole rows ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for normalisations, softmax, attention and recurrent cells.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_ROWSUPPORT_H
#define MPOPT_RANGES_VALUE_ROWSUPPORT_H

#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include <cmath>

namespace mpopt::cells {

/// The number of elements of a slice along `axes`; nothing if a dim is unknown.
std::optional<int64_t> countAlong(llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<int64_t> axes);

/// The axis that an attribute or a constant operand names, as an index of the
/// shape of `input`; nothing if it is unknown or out of range.
std::optional<int64_t> findAxis(TransferContext &ctx, mlir::Value input,
                                std::optional<int64_t> attribute,
                                mlir::Value operand);

/// `value` with a group for each place along an axis; nothing if these are too
/// many or not known.
std::optional<AbstractValue> byPlace(TransferContext &ctx, mlir::Value value,
                                     int64_t axis);

/// The value of a vector that lies along `axis` of a tensor of `rank`.
AbstractValue alongAxis(const AbstractValue &vector, int64_t axis, size_t rank);

/// Calls `visit` with the groups of each line along an axis, of which there is
/// one for each place, in the order of a scan.
void forEachLine(const AbstractValue &value, int64_t axis, bool reverse,
                 llvm::function_ref<void(llvm::ArrayRef<size_t>)> visit);

/// An upper bound of the Euclidean norm of a row of `count` elements along
/// `axis`, by the bounds of its elements.
double normByCells(const AbstractValue &value, int64_t axis, int64_t count);

// The likely tier for independent operands; bounds are not set.

/// The product; `count` is the number of draws of which its extremes are
/// expected.
Cell likelyProduct(const Cell &lhs, const Cell &rhs, double count);
Cell likelySum(const Cell &lhs, const Cell &rhs);

} // namespace mpopt::cells

#endif // MPOPT_RANGES_VALUE_ROWSUPPORT_H
