//===- Stabilizers.cpp - Shifts that cancel
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Were the extreme larger by t, a value that follows it would be v + c t, or
// v e^(c t): the walk from the extreme to its readers keeps c, until it is 0. A
// maximum that is kept from step to step is shifted by the one before; as an
// extreme of its own it may be anything, too, if it is a stabilizer.
//
// Not followed: sums with something that does not scale along (an epsilon),
// selections, sums over axes along which t itself differs, and views, behind
// which an element may meet one that has another t.
//
//===----------------------------------------------------------------------===//

#include "Stabilizers.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <optional>

using namespace mlir;
using namespace mpopt;

/// Readers of one extreme that are followed.
static constexpr unsigned kMostReaders = 128;

namespace {
/// v + c t, or v e^(c t).
struct Degree {
  bool scales = false;
  double by = 0;
  bool isNone() const { return by == 0; }
};

/// The walk from one extreme.
class Walk {
public:
  explicit Walk(Operation *extreme);

  /// Leaves the readers whose results end without the extreme, as far as the
  /// extremes in `needed()` are stabilizers. False if there are none.
  bool run();
  ArrayRef<OpOperand *> left() const { return uses.getArrayRef(); }
  ArrayRef<Operation *> needed() const { return others.getArrayRef(); }

private:
  /// The first op for which `follow` knows nothing; null if there is none.
  Operation *findEnd();
  std::optional<Degree> follow(Operation *op);
  Degree of(Operation *op, unsigned operand) const;
  std::optional<Degree> ofSum(Operation *op, double sign) const;
  std::optional<Degree> ofProduct(Operation *op, double sign) const;
  std::optional<Degree> ofReduction(Operation *op) const;

  Operation *extreme;
  /// The axes along which t is one number; nothing for an elementwise extreme.
  SmallVector<int64_t> axes;
  int64_t rank = -1;
  llvm::SetVector<OpOperand *> uses;
  llvm::DenseMap<Value, Degree> degrees;
  /// The uses by which a value follows the extreme.
  llvm::DenseMap<Value, llvm::DenseSet<OpOperand *>> ways;
  llvm::SetVector<Operation *> others;
};
} // namespace

static bool isExtreme(Operation *op) {
  return isa<mp::MaxOp, mp::MinOp, mp::ReduceMaxOp, mp::ReduceMinOp>(op);
}

static int64_t rankOf(Value value) {
  MaybeShape shape = getShape(value);
  return shape ? int64_t(shape->size()) : -1;
}

Walk::Walk(Operation *extreme) : extreme(extreme) {
  for (OpOperand &use : extreme->getResult(0).getUses())
    uses.insert(&use);
  if (!hasRole(extreme, Role::Reduction))
    return;
  auto known = getReducedAxes(extreme, ShapeFacts());
  rank = rankOf(extreme->getOperand(0));
  // Axes that are gone have no place beside those of the operand.
  if (known && rank == rankOf(extreme->getResult(0)))
    axes.assign(known->begin(), known->end());
}

bool Walk::run() {
  if (extreme->getNumResults() != 1 ||
      !isa<FloatType>(getElementType(extreme->getResult(0))))
    return false;
  while (!uses.empty()) {
    Operation *end = findEnd();
    if (!end)
      return true;
    // Without the uses that lead there.
    size_t before = uses.size();
    for (OpOperand &operand : end->getOpOperands()) {
      uses.remove(&operand);
      for (OpOperand *use : ways.lookup(operand.get()))
        uses.remove(use);
    }
    if (uses.size() == before)
      return false;
  }
  return false;
}

Operation *Walk::findEnd() {
  degrees.clear();
  ways.clear();
  others.clear();
  // Readers in the order of the block, so that operands come first.
  SmallVector<Operation *> work;
  llvm::DenseSet<Operation *> known;
  auto addReader = [&](Operation *user) {
    if (known.insert(user).second)
      work.push_back(user);
  };
  for (OpOperand *use : uses)
    addReader(use->getOwner());
  while (!work.empty()) {
    auto first = llvm::min_element(work, [](Operation *lhs, Operation *rhs) {
      return lhs->getBlock() == rhs->getBlock() && lhs->isBeforeInBlock(rhs);
    });
    Operation *op = *first;
    work.erase(first);
    auto follows = [&](OpOperand &operand) {
      return !of(op, operand.getOperandNumber()).isNone();
    };
    if (llvm::none_of(op->getOpOperands(), follows))
      continue;
    if (op->getBlock() != extreme->getBlock() || known.size() > kMostReaders ||
        op->getNumResults() != 1)
      return op;
    std::optional<Degree> degree = follow(op);
    if (!degree)
      return op;
    if (degree->isNone())
      continue;
    Value result = op->getResult(0);
    degrees[result] = *degree;
    for (OpOperand &operand : op->getOpOperands()) {
      if (uses.contains(&operand))
        ways[result].insert(&operand);
      llvm::DenseSet<OpOperand *> before = ways.lookup(operand.get());
      ways[result].insert(before.begin(), before.end());
    }
    llvm::for_each(result.getUsers(), addReader);
  }
  return nullptr;
}

Degree Walk::of(Operation *op, unsigned operand) const {
  OpOperand &use = op->getOpOperand(operand);
  if (use.get() == extreme->getResult(0))
    return {false, uses.contains(&use) ? 1.0 : 0.0};
  return degrees.lookup(use.get());
}

std::optional<Degree> Walk::ofSum(Operation *op, double sign) const {
  Degree left = of(op, 0), right = of(op, 1);
  if (!left.scales && !right.scales)
    return Degree{false, left.by + sign * right.by};
  // Both have to scale alike.
  if (left.by != right.by || left.scales != right.scales)
    return std::nullopt;
  return left;
}

std::optional<Degree> Walk::ofProduct(Operation *op, double sign) const {
  Degree left = of(op, 0), right = of(op, 1);
  if ((!left.isNone() && !left.scales) || (!right.isNone() && !right.scales))
    return std::nullopt;
  return Degree{true, left.by + sign * right.by};
}

/// Over axes along which t is one number.
std::optional<Degree> Walk::ofReduction(Operation *op) const {
  if (!hasRole(op, Role::Reduction))
    return std::nullopt;
  auto reduced = getReducedAxes(op, ShapeFacts());
  Value operand = op->getOperand(0);
  if (!reduced || rankOf(operand) != rank || rankOf(op->getResult(0)) != rank ||
      !llvm::all_of(*reduced, [&](int64_t axis) {
        return llvm::is_contained(axes, axis);
      }))
    return std::nullopt;
  Degree degree = of(op, 0);
  // A sum of numbers that are shifted counts them.
  if (!degree.scales && !hasRole(op, Role::Mean))
    return std::nullopt;
  return degree;
}

/// How the op's result follows t; nothing where that is not known.
std::optional<Degree> Walk::follow(Operation *op) {
  if (op->getNumRegions() != 0 || op->getNumOperands() == 0)
    return std::nullopt;
  Degree first = of(op, 0);
  if (isExtreme(op)) {
    others.insert(op);
    return Degree();
  }
  using MaybeDegree = std::optional<Degree>;
  auto ofScaled = [&](bool scales, Degree degree) {
    return first.scales == scales ? MaybeDegree(degree) : std::nullopt;
  };
  return llvm::TypeSwitch<Operation *, MaybeDegree>(op)
      .Case<mp::AddOp>([&](auto) { return ofSum(op, 1); })
      .Case<mp::SubOp>([&](auto) { return ofSum(op, -1); })
      .Case<mp::MulOp>([&](auto) { return ofProduct(op, 1); })
      .Case<mp::DivOp>([&](auto) { return ofProduct(op, -1); })
      .Case<mp::ExpOp>([&](auto) { return ofScaled(false, {true, first.by}); })
      .Case<mp::LogOp>([&](auto) { return ofScaled(true, {false, first.by}); })
      .Case<mp::ReciprocalOp>(
          [&](auto) { return ofScaled(true, {true, -first.by}); })
      .Case<mp::NegOp>(
          [&](auto) { return first.scales ? first : Degree{false, -first.by}; })
      .Case<mp::CastOp, mp::IdentityOp>([&](auto) { return first; })
      .Default([&](Operation *) {
        return hasRole(op, Role::Sum | Role::Mean) ? ofReduction(op)
                                                   : std::nullopt;
      });
}

SmallVector<Stabilizer> mpopt::findStabilizers(Block &block) {
  llvm::MapVector<Operation *, Walk> found;
  for (Operation &op : block)
    if (isExtreme(&op)) {
      Walk walk(&op);
      if (walk.run())
        found.insert({&op, std::move(walk)});
    }
  // A maximum that is shifted by one before it may be anything only if all of
  // its own readers cancel.
  auto isFree = [&](Operation *op) {
    auto known = found.find(op);
    return known != found.end() &&
           llvm::range_size(op->getResult(0).getUses()) ==
               known->second.left().size();
  };
  for (bool changed = true; changed;) {
    size_t before = found.size();
    found.remove_if([&](const auto &entry) {
      return !llvm::all_of(entry.second.needed(), isFree);
    });
    changed = found.size() != before;
  }
  SmallVector<Stabilizer> result;
  for (auto &[op, walk] : found)
    result.push_back({op, llvm::to_vector(walk.left())});
  return result;
}
