//===- AbstractValue.h - What is known of a tensor's values -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both tiers of the range analysis for one tensor, independent of the IR.
//
// A tensor's elements are put into groups: an axis is either kept (its indices
// are distinguished) or merged. `dims()` has one number per axis, the axis'
// size if it is kept and 1 if it is merged; there is one `Cell` per group, in
// row-major order. All merged is one interval for the tensor, one kept axis is
// an interval per channel, all kept is one per element. A kept value is thus a
// small tensor itself: NumPy's broadcasting, transposition and slicing apply to
// it as they do to the tensor. A tensor of unknown rank has no dims and a
// single cell.
//
// Bound (sound): every finite element of a group lies in its [lo, hi], in every
// run; NaN and infinities are flags of the tensor. An empty bound (lo > hi)
// says that no element is finite.
//
// Likely: mean and variance of a random element of the group, and the extremes
// that one expects over one evaluation of the whole group. No promise.
//
// Claims are further facts: that elements are whole numbers or no smaller than
// some magnitude, that rows have a norm or a sum. A claim that is wrong makes
// bounds of later ops unsound, so a result makes none unless its transfer
// function says so: it starts from the factory that says what the op does to
// the elements (`like`, `boundedLike`, `pickedFrom`, `sameAs`) and adds claims
// by name.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_ABSTRACTVALUE_H
#define MPOPT_RANGES_VALUE_ABSTRACTVALUE_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Value/Cells.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace mpopt {

struct FloatRange;

/// The source of the likely tier of a value, best first.
enum class LikelySource : uint8_t {
  Weight,     ///< the values themselves
  Declared,   ///< an input that the user described
  Gain,       ///< a normalisation's gain and bias
  Embedding,  ///< rows of a table
  Assumption, ///< an input without a description
  Propagated, ///< computed from others
  Unknown     ///< nothing is known; the cells' likely fields mean nothing
};

llvm::StringRef toString(LikelySource source);

/// ‖x‖ <= bound, in the Euclidean norm, for every row x along an axis (a
/// normalisation's result, and linear maps of it). `count` is the number of
/// elements of a row.
struct NormFact {
  int64_t axis;
  double bound;
  int64_t count;
};

/// Every row along an axis sums to a number in [lo, hi], and its elements are 0
/// or greater (a softmax's result): weights of a convex combination.
struct RowSumFact {
  int64_t axis;
  double lo, hi;
  int64_t count;
};

/// How many groups a value may have.
struct GroupLimit {
  /// A position and a channel together seldom say more than the channel alone:
  /// so few groups of several axes keep the cost of an op from growing with the
  /// number of positions.
  static constexpr size_t kMostJoint = 256;

  GroupLimit(size_t most, size_t joint = kMostJoint)
      : most(most), joint(std::min(joint, most)) {}

  /// The groups of a value that keeps one axis, and of constants.
  size_t most;
  /// The groups of a computed value that keeps several axes.
  size_t joint;
};

/// How large the elements of a value are, over all its groups.
struct Magnitudes {
  /// The largest that the bounds allow; 0 if no element is finite.
  double bound = 0;
  /// The largest that the estimate expects; nothing if there is no estimate.
  std::optional<double> likely;
};

class AbstractValue {
public:
  using Dims = llvm::SmallVector<int64_t, 6>;

  /// A value of which nothing is known, not even that it is a number.
  AbstractValue();
  /// A value whose groups are all like `cell`.
  AbstractValue(Dims dims, const Cell &cell);
  /// `cells` has one element per group.
  AbstractValue(Dims dims, Cells cells);
  AbstractValue(Dims dims, llvm::ArrayRef<Cell> cells);

  /// A value of which nothing is known, with `rank` axes, all merged.
  static AbstractValue top(size_t rank = 0);
  /// Elements in [lo, hi], without NaN or infinities; the likely tier is
  /// unknown.
  static AbstractValue within(double lo, double hi, size_t rank = 0);

  //===--------------------------------------------------------------------===//
  // From an operand, the least known first
  //===--------------------------------------------------------------------===//

  /// The groups of `operand`, of whose elements nothing is known: for results
  /// that are computed anew.
  static AbstractValue like(const AbstractValue &operand);
  /// The groups, bounds, estimate and non-finite elements of `operand`, and no
  /// claims: for results that are computed from cell to cell.
  static AbstractValue boundedLike(const AbstractValue &operand);
  /// Each element is some element of the same group of `operand`. Claims about
  /// single elements hold, claims about rows do not.
  static AbstractValue pickedFrom(const AbstractValue &operand);
  /// The elements of `operand` in their places, unchanged: every claim holds.
  static AbstractValue sameAs(const AbstractValue &operand) { return operand; }

  //===--------------------------------------------------------------------===//
  // Cells
  //===--------------------------------------------------------------------===//

  llvm::ArrayRef<int64_t> dims() const { return groupDims; }
  size_t rank() const { return groupDims.size(); }
  size_t groups() const { return cells_.size(); }
  const Cells &cells() const & { return cells_; }
  /// The cells would not outlive the value, as in `for (... : f().cells())`.
  const Cells &cells() const && = delete;
  Cell cell(size_t group) const { return cells_[group]; }
  /// The cells, to be changed one by one.
  MutableCells mutableCells() { return cells_.mutate(); }

  //===--------------------------------------------------------------------===//
  // The whole tensor
  //===--------------------------------------------------------------------===//

  bool nan = false, posInf = false, negInf = false;
  /// Every finite element is a whole number.
  bool integral = false;
  /// No element other than 0 has a smaller magnitude; 0 if unknown.
  double minNonZero = 0;
  LikelySource source = LikelySource::Unknown;
  std::optional<NormFact> norm;
  std::optional<RowSumFact> rowSum;
  /// For each channel, the variance by a trained statistic, in units of what
  /// independent elements were expected to give: more than 1 where neighbours
  /// have much in common that the filter adds up, less where it takes that
  /// away. Null where nothing says so.
  std::shared_ptr<const std::vector<double>> understated;
  /// The likely tier is that of a trained statistic, better than any that is
  /// propagated.
  bool trained = false;

  bool hasLikely() const { return source != LikelySource::Unknown; }
  bool mayBeInf() const { return posInf || negInf; }
  bool mayBeNonFinite() const { return nan || posInf || negInf; }
  /// v if every element is v: all bounds are [v, v], and no flag is set.
  std::optional<double> constant() const;
  /// The hull of all cells; empty (lo > hi) if no element is finite. The likely
  /// part is a mixture of the groups, all equally large.
  Cell hull() const;
  Magnitudes magnitudes() const;
  /// The bound of one group, or of the hull, with the tensor's flags.
  FloatRange range(size_t group) const;
  FloatRange range() const;
  /// Sets the flags, minNonZero and integrality.
  void setFlags(const FloatRange &range);
  void copyFlags(const AbstractValue &other);

  //===--------------------------------------------------------------------===//
  // Claims
  //===--------------------------------------------------------------------===//

  /// Sets the flags of NaN and the infinities.
  void setNonFinite(bool mayBeNaN, bool mayBePosInf, bool mayBeNegInf);
  /// Clips all elements, infinities too.
  void saturate(const Interval &ends);
  /// Adds the flags of `other` for NaN and the infinities.
  void addNonFinite(const AbstractValue &other);
  /// Every finite element is a whole number.
  void claimIntegral() { integral = true; }
  /// Claims that every element is 0 or has at least this magnitude.
  void claimMinNonZero(double least) { minNonZero = least; }
  /// Claims that rows of `count` elements along `axis` have at most the
  /// Euclidean norm `bound`.
  void claimNorm(int64_t axis, double bound, int64_t count) {
    norm = NormFact{axis, bound, count};
  }
  /// Claims that elements are not negative, and that rows of `count` of them
  /// along `axis` sum to a number in [lo, hi].
  void claimRowSum(int64_t axis, double lo, double hi, int64_t count) {
    rowSum = RowSumFact{axis, lo, hi, count};
  }
  /// Takes the claim of `operand`: elements are its elements, 0, or sums of
  /// those.
  void keepsIntegral(const AbstractValue &operand) {
    integral = operand.integral;
  }
  /// Takes the claim of `operand`: elements are 0 or no smaller in magnitude
  /// than its elements.
  void keepsMinNonZero(const AbstractValue &operand) {
    minNonZero = operand.minNonZero;
  }
  /// Takes the claim of `operand`: rows have at most the norm of its rows,
  /// along the same axes.
  void keepsNorm(const AbstractValue &operand) { norm = operand.norm; }
  /// Takes the claims of `operand` about rows along `axis`: they are its rows,
  /// with their elements in any order.
  void keepsRowsAlong(int64_t axis, const AbstractValue &operand);
  /// Drops the claims about rows, for a result with other rows.
  void dropRowClaims() {
    norm.reset();
    rowSum.reset();
  }
  /// Drops all claims, for a result with other elements.
  void dropClaims();

  //===--------------------------------------------------------------------===//
  // Grouping
  //===--------------------------------------------------------------------===//

  /// This value with other groups: axes whose target is 1 are merged, merged
  /// ones whose target is larger are repeated. `target` has this value's rank.
  AbstractValue regrouped(llvm::ArrayRef<int64_t> target) const;
  /// This value with only the axes in `axes` kept.
  AbstractValue keeping(llvm::ArrayRef<int64_t> axes) const;
  AbstractValue merging(int64_t axis) const;
  AbstractValue merged() const;
  /// This value with as many groups as `limit` allows: axes are merged, first
  /// the one along which the bounds differ least.
  AbstractValue limited(const GroupLimit &limit) const;

  /// This value with its axes permuted: axis i of the result is axis perm[i] of
  /// this. Norm and row sum follow.
  AbstractValue transposed(llvm::ArrayRef<int64_t> perm) const;
  /// This value after a reshape of the tensor from the shape `from` to the
  /// shape `to` (a negative dim: unknown). Axes that stay, split or merge keep
  /// their groups where that takes at most `limit` of them.
  AbstractValue reshaped(llvm::ArrayRef<int64_t> from,
                         llvm::ArrayRef<int64_t> to, size_t limit) const;
  /// This value with the groups of a kept axis in another order or selection,
  /// by index.
  AbstractValue selected(int64_t axis, llvm::ArrayRef<int64_t> indices) const;
  /// The cells, flags and source of this value under other dims of as many
  /// groups. Claims about rows are dropped.
  AbstractValue withDims(Dims dims) const;
  /// This value with axes of size 1 put in front, as broadcasting does.
  AbstractValue withRank(size_t rank) const;

  //===--------------------------------------------------------------------===//
  // Lattice and rounding
  //===--------------------------------------------------------------------===//

  /// A value that holds the elements of both; the likely tier is a mixture of
  /// equal parts.
  AbstractValue join(const AbstractValue &other) const;
  /// The widening of abstract interpretation: bounds that grew from `before` to
  /// this one move to the next of a few steps (1, 2^8, the overflow thresholds
  /// of the formats, infinity), so that every chain of widenings ends.
  AbstractValue widened(const AbstractValue &before) const;
  /// True if this value allows every element that `other` allows. Likely tiers
  /// are not compared.
  bool contains(const AbstractValue &other) const;

  /// Cuts the cells to what the claims say of single elements, estimates to the
  /// bounds, and finds the least magnitude that the bounds allow, for a tensor
  /// of that format (null: of no float). Estimates of values that are flushed
  /// stay: a product with an epsilon that is stored as 0 is 0 for sure, and the
  /// estimate still says what it would have been. Normal numbers become FP32
  /// ones, which take half the memory: ends of an FP32 tensor are rounded to
  /// nearest, unless somebody may see it unrounded, others outward.
  void fit(const FloatFormat *format, bool seenUnrounded = false);

  /// Drops the bounds and expected extremes of the cells.
  void keepMoments() { cells_.keepMoments(); }

  /// The value as a tensor of `format` holds it: ends are rounded; those that
  /// overflow stay where they were, and a flag is set. A null format means no
  /// float: the value is unchanged.
  AbstractValue stored(const FloatFormat *format) const;
  /// Widens the cells to those of `before`, the value before it was stored:
  /// elements may have either.
  void admitUnrounded(const AbstractValue &before);

private:
  Dims groupDims;
  Cells cells_;
};

/// The groups of an elementwise op's result: NumPy's broadcast of the operands'
/// groups, merged down to `limit` as by `AbstractValue::limited`. Gives the
/// operands that rank and those groups (an axis on which an operand is merged
/// stays so: use `forEachGroup` to pair cells).
AbstractValue::Dims broadcastGroups(llvm::MutableArrayRef<AbstractValue> values,
                                    const GroupLimit &limit);

/// Where the groups of `over`, in row-major order, are among those of `dims`,
/// whose axes are aligned to the right of `over`'s and are as large or merged.
llvm::SmallVector<uint32_t> getPositions(llvm::ArrayRef<int64_t> dims,
                                         llvm::ArrayRef<int64_t> over);

/// Calls `function` with the index of each group of `dims` and, of each of
/// `values` (whose dims broadcast to `dims`), the group it takes part in.
void forEachGroup(
    llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<AbstractValue> values,
    llvm::function_ref<void(size_t, llvm::ArrayRef<size_t>)> function);

/// The number of groups of `dims`.
size_t countGroups(llvm::ArrayRef<int64_t> dims);

/// By how much merging `axis` widens the cells, relative to the whole's width;
/// 0 if the axis is merged already.
double mergingCost(const AbstractValue &value, int64_t axis);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_ABSTRACTVALUE_H
