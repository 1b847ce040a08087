//===- RelationSupport.h - Recognising related values -----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_RELATIONS_RELATIONSUPPORT_H
#define MPOPT_RANGES_RELATIONS_RELATIONSUPPORT_H

#include "mpopt/Dialect/Match.h"
#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt::relations {

using Axes = llvm::SmallVector<int64_t, 4>;

/// What rounding does to a value between two places: relative, and absolute
/// from what underflows.
struct Rounding {
  double relative = 0, absolute = 0;
  void add(const Rounding &other) {
    relative += other.relative;
    absolute += other.absolute;
  }
};
/// Of a store in the value's dtype; none for what is no float.
Rounding storeError(mlir::Value value);
/// Of a function computed for it: some units where the target computes, and
/// the store.
Rounding functionError(mlir::Value value, TransferContext &ctx);

/// `peel(value, Peel::Rounded)`; `error`, unless it is null, grows by the casts
/// that round.
mlir::Value peel(mlir::Value value, Rounding *error);

/// The same numbers: one value, or computed twice from the same ones.
bool isSameExpression(mlir::Value lhs, mlir::Value rhs, unsigned depth = 3);

/// x if `op` computes x^2, where the exponent of a power may be computed; null
/// for others and for a null op.
mlir::Value getSquared(mlir::Operation *op, TransferContext &ctx);

/// True if `op` is a square; a product of one expression that is computed twice
/// counts as one.
bool isSquaredExpression(mlir::Operation *op);

/// True if `scale` has one element for each row of `rows` along `axes`, so that
/// broadcasting pairs them: the shape of a reduction that keeps its axes.
bool isRowScale(mlir::Value scale, mlir::Value rows,
                llvm::ArrayRef<int64_t> axes);

/// The number of elements of a row, if it is known.
std::optional<double> rowLength(mlir::Value value,
                                llvm::ArrayRef<int64_t> axes);

/// The reduction behind a value, through casts and reshapes that put its axes
/// back.
mlir::Operation *getReduction(mlir::Value value, Rounding *error = nullptr);

/// Every element lies in [lo, hi], too.
void clamp(AbstractValue &value, double lo, double hi);
/// Keeps the smaller bound.
void setNorm(AbstractValue &value, int64_t axis, double bound, int64_t count);

/// A sum or difference in which values cancel (Affine.cpp).
void refineAffine(mlir::Operation *op, AbstractValue &value,
                  TransferContext &ctx);

/// a cos(t) + b sin(t) (Rotation.cpp).
void refineRotation(mlir::Operation *op, AbstractValue &value,
                    TransferContext &ctx);

/// x / s where s is a mean, sum or norm of x's own rows (RowScale.cpp).
void refineQuotient(mlir::Value result, AbstractValue &value,
                    TransferContext &ctx);

} // namespace mpopt::relations

#endif // MPOPT_RANGES_RELATIONS_RELATIONSUPPORT_H
