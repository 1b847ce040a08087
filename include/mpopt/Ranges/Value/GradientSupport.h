//===- GradientSupport.h - What gradient ops have in common -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of the ops of GradientOps.td as numbers (Number.h): each is one bound
// for the whole tensor. Their likely tier is unknown: an estimate of gradients
// needs more than a mean and a variance of each tensor.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_GRADIENTSUPPORT_H
#define MPOPT_RANGES_VALUE_GRADIENTSUPPORT_H

#include "mpopt/Ranges/Value/Number.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt::gradients {

/// Relative room for the roundings of a slope that has few of them.
inline constexpr double kRoom = 1 + 0x1p-6;
/// A quotient |x| / |row| is at most 1 but for its rounding, and for squares
/// that are rounded among the subnormals: up to sqrt(3/2).
inline constexpr double kPartOfNorm = 1.25;

/// The place of an operand in the op's record, by its number among those that
/// are there, as `wanted` counts.
template <typename OpTy> unsigned slotOf(OpTy op, int64_t number) {
  for (unsigned slot = 0;; ++slot) {
    auto [first, count] = op.getODSOperandIndexAndLength(slot);
    if (number < int64_t(first) + int64_t(count))
      return slot;
  }
}

/// Sets result `index`, with room for another order of the last operations and
/// without an estimate, unless the number's is to be kept: that of a tensor as
/// a whole, for ops that have no spread function.
void give(TransferContext &ctx, unsigned index, Number number,
          bool keepsEstimate = false);

/// Sets the result to `grad` times a slope in `slope`, by group and with the
/// norm of its rows. `whole` is the same of the tensor as a whole, for what is
/// not finite.
void giveSlope(TransferContext &ctx, const AbstractValue &grad,
               const Interval &slope, const Number &whole);
/// The same of an op that makes the product of the two.
void giveSlope(TransferContext &ctx, mlir::Value grad, const Interval &slope);

/// Sets the gradient of each wanted operand by `of(slot)`; nothing is known of
/// those for which it gives nothing.
template <typename OpTy>
void giveWanted(OpTy op, TransferContext &ctx,
                llvm::function_ref<std::optional<Number>(unsigned slot)> of,
                bool keepsEstimate = false) {
  for (auto [index, number] : llvm::enumerate(op.getWanted()))
    if (std::optional<Number> value = of(slotOf(op, number)))
      give(ctx, index, std::move(*value), keepsEstimate);
}

/// A number in `bound`, without an estimate, in the format of `like`.
Number within(const Interval &bound, const Number &like);
/// The same of which the moments are known.
Number within(const Interval &bound, const Number &like,
              const Likely &expected);
/// The operand as numbers of its own dtype, where that is coarser than the
/// format in which the op computes: for what PyTorch computes in several ops.
Number inSteps(mlir::Value value, TransferContext &ctx);
/// 0 or `x`.
Number zeroOr(const Number &x);
/// `x`, which is NaN if one of the values may be NaN or infinite: kernels may
/// form Inf - Inf or Inf times 0.
Number tainted(Number x, mlir::ValueRange values, TransferContext &ctx);
/// The difference of two numbers like `x`.
Number differenceOf(const Number &x);
/// At most `count` numbers like `x`, added up.
Number sumOf(const Number &x, double count);

/// The broadcast shape of some tensors; of two unknown dims neither is taken to
/// be broadcast. Nothing if a rank is unknown.
MaybeShape broadcastOf(mlir::ValueRange values);
double countOf(const MaybeShape &shape);
/// The gradient of an operand that was broadcast to `shape`, where `each` is
/// that of an element of this.
Number summedTo(mlir::Value operand, const Number &each,
                const MaybeShape &shape);
/// The largest norm of a row of `value` along `axis`, if it is known to be one
/// of `count` elements; infinite if not.
double rowNormOf(const AbstractValue &value, int64_t axis, double count);
/// The elements of `value` for each along `axis`: those of one channel.
double countWithout(mlir::Value value, int64_t axis);

/// A loss's gradient as it reaches an element of losses of `shape`, by the
/// loss's reduction.
Number shareOf(const Number &grad, llvm::StringRef reduction,
               const MaybeShape &shape);

} // namespace mpopt::gradients

#endif // MPOPT_RANGES_VALUE_GRADIENTSUPPORT_H
