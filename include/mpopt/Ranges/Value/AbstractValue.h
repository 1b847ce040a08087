//===- AbstractValue.h - What is known of a tensor's values -----*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both tiers of the range analysis for one tensor. No IR in here.
//
// A tensor's elements are put into groups: an axis is either kept (its indices
// are told apart) or merged. `dims()` has one number per axis, the axis' size
// if it is kept and 1 if it is merged; there is one `Cell` per group, in
// row-major order. All merged is one interval for the tensor, one kept axis is
// an interval per channel, all kept is one per element. A kept value is thus a
// small tensor itself: NumPy's broadcasting, transposition and slicing apply to
// it as they do to the tensor. A tensor of unknown rank has no dims and one
// cell.
//
// Bound (sound): every finite element of a group lies in its [lo, hi], in every
// run; NaN and infinities are flags of the tensor. An empty bound (lo > hi)
// says that no element is finite.
//
// Likely: mean and variance of a random element of the group, and the extremes
// that one expects over one evaluation of the whole group. No promise.
//
// Claims are what else is known: that elements are whole numbers or no smaller
// than some magnitude, that rows have a norm or a sum. A claim that is wrong
// makes bounds of later ops unsound, so a result makes none unless its transfer
// function says so: it starts from the factory that says what the op does to
// the elements (`like`, `boundedLike`, `pickedFrom`, `sameAs`) and adds claims
// by name.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_ABSTRACTVALUE_H
#define MPOPT_RANGES_VALUE_ABSTRACTVALUE_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Interval.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mpopt {

struct FloatRange;

/// What the likely tier of a value rests on, best first.
enum class LikelySource : uint8_t {
  Weight,     ///< the values themselves
  Declared,   ///< an input that the user described
  Gain,       ///< a normalisation's gain and bias
  Embedding,  ///< rows of a table
  Assumption, ///< an input that nobody described
  Propagated, ///< computed from others
  Unknown     ///< nothing is known; the cells' likely fields mean nothing
};

llvm::StringRef toString(LikelySource source);

/// One group of elements.
struct Cell {
  double lo, hi;
  double mean = 0, variance = 0;
  double likelyLo = 0, likelyHi = 0;

  bool empty() const { return !(lo <= hi); }
  double absMax() const;
};

/// ‖x‖ <= bound for every row x along an axis (a normalisation's result, and
/// what linear maps make of it).
/// `count` is the number of elements of a row.
struct NormFact {
  int64_t axis;
  double bound;
  int64_t count;
};

/// Every row along an axis sums to a number in [lo, hi], its elements being
/// 0 or greater (a softmax's result): weights of a convex combination.
struct RowSumFact {
  int64_t axis;
  double lo, hi;
  int64_t count;
};

class AbstractValue {
public:
  using Dims = llvm::SmallVector<int64_t, 6>;

  /// Nothing is known, not even that it is a number.
  AbstractValue();
  /// One cell.
  AbstractValue(Dims dims, Cell cell);
  /// `cells` has one element per group.
  AbstractValue(Dims dims, std::vector<Cell> cells);

  /// Nothing is known of `rank` axes, all merged.
  static AbstractValue top(size_t rank = 0);
  /// [lo, hi] everywhere, without NaN or infinities; the likely tier is
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
  /// Each element is some element of the same group of `operand`; rows are
  /// other ones. Claims about single elements hold, about rows they do not.
  static AbstractValue pickedFrom(const AbstractValue &operand);
  /// All elements where they are in `operand`, unchanged: every claim holds.
  static AbstractValue sameAs(const AbstractValue &operand) { return operand; }

  //===--------------------------------------------------------------------===//
  // Cells
  //===--------------------------------------------------------------------===//

  llvm::ArrayRef<int64_t> dims() const { return groupDims; }
  size_t rank() const { return groupDims.size(); }
  size_t groups() const { return cells_->size(); }
  llvm::ArrayRef<Cell> cells() const & { return *cells_; }
  /// They would not outlive the value, as in `for (... : f().cells())`.
  llvm::ArrayRef<Cell> cells() const && = delete;
  const Cell &cell(size_t group) const { return (*cells_)[group]; }
  /// The cells are shared between copies of a value; this makes them its own.
  llvm::MutableArrayRef<Cell> mutableCells();

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

  bool hasLikely() const { return source != LikelySource::Unknown; }
  bool mayBeInf() const { return posInf || negInf; }
  bool mayBeNonFinite() const { return nan || posInf || negInf; }
  /// The same finite bound [v, v] everywhere, and nothing else.
  std::optional<double> constant() const;
  /// The hull of all cells; empty (lo > hi) if no element is finite. The likely
  /// part merges the groups as parts of one, all equally large.
  Cell hull() const;
  /// One group, or the hull, with the tensor's flags.
  FloatRange range(size_t group) const;
  FloatRange range() const;
  /// Sets the flags, minNonZero and integrality.
  void setFlags(const FloatRange &range);
  void copyFlags(const AbstractValue &other);

  //===--------------------------------------------------------------------===//
  // Claims
  //===--------------------------------------------------------------------===//

  /// Sets which elements may not be finite.
  void setNonFinite(bool mayBeNaN, bool mayBePosInf, bool mayBeNegInf);
  /// What is not finite in either may be so here.
  void addNonFinite(const AbstractValue &other);
  /// Every finite element is a whole number.
  void claimIntegral() { integral = true; }
  /// Every element is 0 or has at least this magnitude.
  void claimMinNonZero(double least) { minNonZero = least; }
  /// Rows of `count` elements along `axis` are no longer than `bound`.
  void claimNorm(int64_t axis, double bound, int64_t count) {
    norm = NormFact{axis, bound, count};
  }
  /// Elements are not negative, and rows of `count` of them along `axis` sum to
  /// a number in [lo, hi].
  void claimRowSum(int64_t axis, double lo, double hi, int64_t count) {
    rowSum = RowSumFact{axis, lo, hi, count};
  }
  /// Elements are those of `operand`, 0, or sums of those.
  void keepsIntegral(const AbstractValue &operand) {
    integral = operand.integral;
  }
  /// Elements are no smaller than those of `operand`, or 0.
  void keepsMinNonZero(const AbstractValue &operand) {
    minNonZero = operand.minNonZero;
  }
  /// Rows are no longer than those of `operand`, along the same axes.
  void keepsNorm(const AbstractValue &operand) { norm = operand.norm; }
  /// Rows along `axis` are those of `operand`, their elements in any order.
  void keepsRowsAlong(int64_t axis, const AbstractValue &operand);
  /// Rows are other ones than those that the claims are about.
  void dropRowClaims() {
    norm.reset();
    rowSum.reset();
  }
  /// The values are other ones: neither elements nor rows are what was claimed.
  void dropClaims();

  //===--------------------------------------------------------------------===//
  // Grouping
  //===--------------------------------------------------------------------===//

  /// The same with other groups: axes whose target is 1 are merged, merged ones
  /// whose target is larger are repeated. `target` has this value's rank.
  AbstractValue regrouped(llvm::ArrayRef<int64_t> target) const;
  /// Only the axes in `axes` stay kept.
  AbstractValue keeping(llvm::ArrayRef<int64_t> axes) const;
  AbstractValue merging(int64_t axis) const;
  AbstractValue merged() const;
  /// At most `limit` groups: axes are merged, the one first along which the
  /// bounds differ least.
  AbstractValue limited(size_t limit) const;

  /// Axis i of the result is axis perm[i] of this. Norm and row sum follow.
  AbstractValue transposed(llvm::ArrayRef<int64_t> perm) const;
  /// `from` and `to` are the shapes (a negative dim: unknown) of one tensor
  /// before and after a reshape. Axes that stay, split or merge keep their
  /// groups where that takes at most `limit` of them.
  AbstractValue reshaped(llvm::ArrayRef<int64_t> from,
                         llvm::ArrayRef<int64_t> to, size_t limit) const;
  /// The groups of a kept axis in another order or selection, by index.
  AbstractValue selected(int64_t axis, llvm::ArrayRef<int64_t> indices) const;
  /// Axes of size 1 put in front, as broadcasting does.
  AbstractValue withRank(size_t rank) const;

  //===--------------------------------------------------------------------===//
  // Lattice and rounding
  //===--------------------------------------------------------------------===//

  /// What holds of both; of the likely tiers a mixture of equal parts.
  AbstractValue join(const AbstractValue &other) const;
  /// Bounds that grew from `before` to this one move to the next of a few
  /// steps (1, 2^8, the edges of the formats, infinity): a chain of these ends.
  AbstractValue widened(const AbstractValue &before) const;
  /// True if everything that `other` allows is allowed by this. Likely tiers
  /// do not count.
  bool contains(const AbstractValue &other) const;

  /// As a tensor of `format` holds it: ends rounded; past the format's edge
  /// they stay where they were, and a flag is set. Null: no float, unchanged.
  AbstractValue stored(const FloatFormat *format) const;

private:
  Dims groupDims;
  std::shared_ptr<std::vector<Cell>> cells_;
};

/// Groups of the result of an elementwise op, NumPy's broadcast of the
/// operands' groups, merged down to `limit`. The operands are given that rank
/// and those groups (an axis on which an operand is merged stays so: use
/// `forEachGroup` to pair cells).
AbstractValue::Dims broadcastGroups(llvm::MutableArrayRef<AbstractValue> values,
                                    size_t limit);

/// Calls `function` with the index of each group of `dims` and, of each of
/// `values` (whose dims broadcast to `dims`), the group it takes part in.
void forEachGroup(
    llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<AbstractValue> values,
    llvm::function_ref<void(size_t, llvm::ArrayRef<size_t>)> function);

/// Groups of equal size as one.
Cell mergeCells(llvm::ArrayRef<Cell> cells);

/// Number of groups.
size_t countGroups(llvm::ArrayRef<int64_t> dims);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_ABSTRACTVALUE_H
