//===- DimOrigin.h - Dims that are one and the same -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch of unknown size has one size all over a model. Exported graphs read
// it from a tensor (Shape, Gather) and give it to a reshape of another.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_DIMORIGIN_H
#define MPOPT_DIALECT_DIMORIGIN_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace mpopt {

/// A dim of a tensor.
struct DimOrigin {
  mlir::Value tensor;
  int64_t axis = 0;
};

/// The dim of which an element of a small integer vector is the size; nothing
/// if it is not read from a shape.
std::optional<DimOrigin> findDimOf(mlir::Value sizes, int64_t index,
                                   const ShapeFacts &facts);

/// True if the dims are of one size in each run.
bool areSameDim(DimOrigin lhs, DimOrigin rhs, const ShapeFacts &facts);

} // namespace mpopt

#endif // MPOPT_DIALECT_DIMORIGIN_H
