//===- InfinityWalk.h - The way of Inf and NaN ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flags of the range analysis say what may be; here are those that one has to
// expect: from where a value is expected to be stored as Inf or NaN although it
// is finite in FP32, to where an op absorbs it. Transfer functions work in it
// as they are, with what is expected in place of bounds.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_INFINITYWALK_H
#define MPOPT_LIB_EFFECTS_INFINITYWALK_H

#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Ranges/Value/ForwardingContext.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SparseBitVector.h"

#include <unordered_map>

namespace mpopt {

class InfinityWalk : public ForwardingContext<> {
public:
  InfinityWalk(mlir::ModuleOp module, const OverflowSites &sites,
               llvm::ArrayRef<FindingList::Entry> findings);

  /// The tensors at which Inf or NaN begins.
  llvm::ArrayRef<mlir::Value> origins() const { return begins; }
  /// Those from which the value has some, as indices into `origins`.
  const llvm::SparseBitVector<> &originsOf(mlir::Value value) const;

  /// The share of the elements of a value that an Inf has made 0 although they
  /// are not: quotients of Inf. 0 for most.
  double lostShare(mlir::Value value) const { return lost.lookup(value); }

  // The members of a TransferContext.
  const AbstractValue &of(mlir::Value value) override;
  const AbstractValue &preRounding(mlir::Value value) override {
    return of(value);
  }
  bool needsBounds() const override { return false; }
  /// Bounds are those of what is expected, not nearly those of a wider box.
  SharedSums sharedSums() override { return {base.sharedSums().memo, false}; }
  void setArgument(mlir::BlockArgument, AbstractValue) override {}
  void walk(mlir::Region &) override {}

protected:
  void setValue(mlir::Value value, AbstractValue pre) override;

private:
  struct Flags {
    bool nan = false, posInf = false, negInf = false;
    bool any() const { return nan || posInf || negInf; }
  };
  struct State {
    Flags flags;
    llvm::SparseBitVector<> origins;
    /// The share of the elements that are Inf or NaN.
    double share = 0;
  };
  struct Hash {
    size_t operator()(mlir::Value value) const { return hash_value(value); }
  };

  void visit(mlir::Operation *op);
  void choose(mp::IfOp branch);
  void begin(mlir::Value value, Flags flags);
  double shareFrom(mlir::Value operand, mlir::Value result) const;
  Flags storedAs(mlir::Value value) const;
  bool isExpected(mlir::Value value, bool positive) const;
  bool takesNoPart(mlir::Operation *op, unsigned operand) const;

  const OverflowSites &sites;
  const RangeAnalysis &ranges;
  /// Where findings say that results are NaN or Inf.
  llvm::DenseMap<mlir::Operation *, Flags> made;
  std::vector<mlir::Value> begins;
  std::unordered_map<mlir::Value, State, Hash> states;
  llvm::DenseMap<mlir::Value, double> lost;
  // The current op's operands and results.
  bool showsInfinities = false;
  std::unordered_map<mlir::Value, AbstractValue, Hash> seen;
  llvm::DenseMap<mlir::Value, Flags> given;
};

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_INFINITYWALK_H
