//===- NonFinite.h - Propagation of Inf and NaN -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flags of the range analysis state what is possible. This domain states what
// is expected: it carries Inf and NaN from the values at which they begin,
// although FP32 has finite numbers there, to the ops that absorb them. Transfer
// functions work in it as they are, with what is expected in place of bounds.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_NONFINITE_H
#define MPOPT_PROPAGATE_NONFINITE_H

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Propagate/Propagation.h"

#include "llvm/ADT/SparseBitVector.h"

#include <functional>
#include <unordered_map>

namespace mpopt {

struct NonFiniteFlags {
  bool nan = false, posInf = false, negInf = false;

  bool any() const { return nan || posInf || negInf; }
  void join(NonFiniteFlags other);
};

/// True if elements of the value are expected above the largest number of its
/// dtype (or below the least one) before it is stored.
bool isPastEdge(mlir::Value value, bool positive, const RangeAnalysis &ranges);

class NonFinite : public Propagation<NonFinite> {
public:
  /// The flags that begin at a value, which its operands do not have.
  using Origins = std::function<NonFiniteFlags(mlir::Value)>;

  NonFinite(const RangeAnalysis &ranges, Origins beginsAt)
      : Propagation(ranges), beginsAt(std::move(beginsAt)) {}

  /// The tensors at which Inf or NaN begins.
  llvm::ArrayRef<mlir::Value> origins() const { return begins; }
  /// Those from which the value has some, as indices into `origins`.
  const llvm::SparseBitVector<> &originsOf(mlir::Value value) const;

  /// The share of elements that an Inf has made 0 although they are not, as
  /// quotients of Inf are; none of them is larger than `most`.
  struct Lost {
    double share = 0, most = kInfinity;
  };
  Lost lostOf(mlir::Value value) const { return lost.lookup(value); }

  // The members of a domain.
  void begin(mlir::Value value);
  void transfer(mlir::Operation *op, OpKind kind);
  bool flow(mlir::Value from, mlir::Value to);
  void skip(mlir::Operation *op);

private:
  struct State {
    NonFiniteFlags flags;
    llvm::SparseBitVector<> origins;
    /// The share of the elements that are Inf or NaN.
    double share = 0;
    /// None of those has a smaller magnitude in FP32.
    double least = kInfinity;
  };
  struct Hash {
    size_t operator()(mlir::Value value) const { return hash_value(value); }
  };
  using Given = llvm::DenseMap<mlir::Value, NonFiniteFlags>;
  class Context;

  bool takesNoPart(mlir::Operation *op, unsigned operand) const;
  bool isNormalizedByInf(mlir::Operation *op) const;
  bool leavesOut(mlir::Operation *op, mlir::Value result, bool positive) const;
  Given evaluateNew(mlir::Operation *op);
  Interval sizeOfInfinite(mlir::Operation *op, mlir::Value result) const;
  void lose(mlir::Value value, Lost elements);
  void pass(mlir::Operation *op, mlir::Value result, NonFiniteFlags flags);
  double shareFrom(mlir::Value operand, mlir::Value result) const;

  Origins beginsAt;
  std::vector<mlir::Value> begins;
  llvm::DenseMap<mlir::Value, unsigned> indices;
  std::unordered_map<mlir::Value, State, Hash> states;
  llvm::DenseMap<mlir::Value, Lost> lost;
};

} // namespace mpopt

#endif // MPOPT_PROPAGATE_NONFINITE_H
