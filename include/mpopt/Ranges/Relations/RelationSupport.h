//===- RelationSupport.h - Recognising related values -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_RELATIONS_RELATIONSUPPORT_H
#define MPOPT_RANGES_RELATIONS_RELATIONSUPPORT_H

#include "mpopt/Dialect/Match.h"
#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt::mp {
class ExpOp;
} // namespace mpopt::mp

namespace mpopt::relations {

using Axes = llvm::SmallVector<int64_t, 4>;

/// The rounding error of a value between two places: relative, and absolute
/// where it underflows.
struct Rounding {
  double relative = 0, absolute = 0;
  void add(const Rounding &other) {
    relative += other.relative;
    absolute += other.absolute;
  }
};
/// The error of a store in the value's dtype; none if that is no float.
Rounding storeError(mlir::Value value);
/// The error of a function that computes the value: some units in the format in
/// which the target computes it, and the store.
Rounding functionError(mlir::Value value, TransferContext &ctx);

/// `peel(value, Peel::Rounded)`; adds the casts that round to `error`, unless
/// it is null.
mlir::Value peel(mlir::Value value, Rounding *error);

/// The value that an expansion to the same rank repeats, as exporters write
/// what broadcasting would do; else `value`.
mlir::Value peelExpand(mlir::Value value);

/// True if both are the same numbers: one value, or computed twice from the
/// same ones.
bool isSameExpression(mlir::Value lhs, mlir::Value rhs, unsigned depth = 3);

/// True if the ops' attributes are equal, but for what was recognised of them.
bool areAttributesEqual(mlir::Operation *lhs, mlir::Operation *rhs);

/// x if `op` computes x^2, where the exponent of a power may be computed; null
/// for other ops and for a null op.
mlir::Value getSquared(mlir::Operation *op, TransferContext &ctx);

/// True if `op` is a square; a product of one expression that is computed twice
/// counts as one.
bool isSquaredExpression(mlir::Operation *op);

/// True if `scale` has one element for each row of `rows` along `axes`, so that
/// broadcasting pairs them: the shape of a reduction that keeps its axes, which
/// an expansion may have repeated.
bool isRowScale(mlir::Value scale, mlir::Value rows,
                llvm::ArrayRef<int64_t> axes);

/// The number of elements of a row along `axes`; nothing if it is unknown.
std::optional<double> rowLength(mlir::Value value,
                                llvm::ArrayRef<int64_t> axes);

/// The reduction that computes a value, through casts, expansions and reshapes
/// that put its axes back; null if there is none.
mlir::Operation *getReduction(mlir::Value value, Rounding *error = nullptr);

/// True if `op` divides numbers by the largest magnitude among them, times a
/// number and behind guards: a quantiser that the graph itself computes.
bool isQuotientByOwnMaximum(mlir::Operation *op, TransferContext &ctx);

/// Takes what is expected of another value of the same shape, if anything is.
void expectLike(AbstractValue &value, const AbstractValue &expected);
/// Cuts what is expected to an interval.
void expectWithin(AbstractValue &value, const Interval &interval);
/// Cuts every cell to [lo, hi].
void clamp(AbstractValue &value, double lo, double hi);
/// Claims that norm unless the value has a smaller one.
void setNorm(AbstractValue &value, int64_t axis, double bound, int64_t count);

/// Gives the input of a batch normalisation the moments that its running
/// statistics say it had (RunningStatistics.cpp).
void expectStatistics(mlir::Value result, AbstractValue &value,
                      TransferContext &ctx);

/// Narrows a sum or difference in which values cancel (Affine.cpp).
void refineAffine(mlir::Operation *op, AbstractValue &value,
                  TransferContext &ctx);

/// The correlation of two values of one type, element by element: 1 for one
/// value, that of their weights for ops that are alike (Correlation.cpp), 0 for
/// strangers.
double correlate(mlir::Value lhs, mlir::Value rhs, TransferContext &ctx);

/// Narrows a triangle of differences of prefix sums (PrefixDifference.cpp).
void refinePrefixDifference(mlir::Operation *op, AbstractValue &value,
                            TransferContext &ctx);
/// Narrows the differences of prefix sums from the last one, or of that from
/// them (PrefixDifference.cpp).
void refineToLast(mlir::Operation *op, AbstractValue &value,
                  TransferContext &ctx);
/// Expects elements of a running sum, and what one exceeds another by, to be
/// sums of so many terms (RunningSumParts.cpp).
void expectPartOfSum(mlir::Operation *op, AbstractValue &value,
                     TransferContext &ctx);
/// Expects the exponential of masked elements to be 0, and of others what they
/// are expected to be (PrefixDifference.cpp).
void expectMaskedExponential(mp::ExpOp op, AbstractValue &value,
                             TransferContext &ctx);

/// Expects |x / |x| - y / |y|| to be 2 at most (RowQuotient.cpp).
void expectLengthOfRows(mlir::Operation *op, AbstractValue &value,
                        TransferContext &ctx);
/// Narrows x / s where s is a mean, sum or norm of x's own rows (RowScale.cpp).
void refineQuotient(mlir::Value result, AbstractValue &value,
                    TransferContext &ctx);

/// Expects |u|^2 + |v|^2 - 2 u . v to be a distance (SquaredDistance.cpp).
void expectSquaredDistance(mlir::Value result, AbstractValue &value,
                           TransferContext &ctx);

/// Expects sum(w x) / sum(w) among the x that it averages (WeightedMean.cpp).
void expectWeightedMean(mlir::Value result, AbstractValue &value,
                        TransferContext &ctx);

} // namespace mpopt::relations

#endif // MPOPT_RANGES_RELATIONS_RELATIONSUPPORT_H
