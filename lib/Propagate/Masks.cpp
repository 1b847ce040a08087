//===- Masks.cpp - Scores that softmax drops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/Masks.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/MaskUse.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"
#include "mpopt/Ranges/Value/FunctionOf.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Ops between a mask and its softmax: scale, cast, addition, selection and the
/// views of each.
static constexpr unsigned kMostSteps = 8;
/// Ops of which a mask is made, and of what it is added to.
static constexpr unsigned kMostOps = 64;

/// True for scores as products and distances of queries and keys give them, of
/// which none is masked however small it is.
static bool areScores(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (hasRole(op, Role::Contraction))
    return true;
  bool passes =
      isa<mp::CastOp, mp::SqrtOp>(op) || isViewLike(op) ||
      hasRole(op, Role::Arithmetic | Role::Negation | Role::Reduction);
  return passes &&
         llvm::any_of(
             op->getOperands(),
             [](Value operand) { return !getSplatConstant(operand); }) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return getSplatConstant(operand) || areScores(operand, depth - 1);
         });
}

/// The elements that are not masked. Nothing if they are not told apart.
static std::optional<Cell> findLive(Value value, const RangeAnalysis &ranges,
                                    unsigned depth) {
  const AbstractValue &x = ranges.preRounding(value);
  if (!x.hasLikely())
    return std::nullopt;
  Cell all = x.hull();
  if (all.likelyLo > maskedBelow() || areScores(value, kMostSteps))
    return all;
  Operation *op = value.getDefiningOp();
  // A mask alone: 0, or a number near it, is kept.
  auto alone = [&]() -> std::optional<Cell> {
    if (isConstant(value) && all.likelyHi < maskedBelow())
      return Cell{0, 0}; // nothing is kept
    if (std::fabs(all.likelyHi) > -maskedBelow())
      return std::nullopt;
    return Cell{0, 0, all.likelyHi, 0, all.likelyHi, all.likelyHi};
  };
  if (!op || depth == 0)
    return alone();
  if (isa<mp::CastOp, mp::IdentityOp>(op) || isViewLike(op))
    return findLive(op->getOperand(0), ranges, depth - 1);
  if (hasRole(op, Role::Addition | Role::Select)) {
    Cell sum{0, 0};
    bool any = false;
    for (Value operand : op->getOperands()) {
      if (!isa<FloatType>(getElementType(operand)))
        continue;
      std::optional<Cell> part = findLive(operand, ranges, depth - 1);
      if (hasRole(op, Role::Addition) && !part)
        return std::nullopt;
      if (!part ||
          (hasRole(op, Role::Select) && part->likelyHi < maskedBelow()))
        continue;
      if (hasRole(op, Role::Select) && any)
        continue;
      any = true;
      sum.mean += part->mean;
      sum.variance += part->variance;
      sum.likelyLo += part->likelyLo;
      sum.likelyHi += part->likelyHi;
    }
    return any ? std::optional(sum) : std::nullopt;
  }
  return alone();
}

/// The expected share of rows, along the last axis, without an element that is
/// kept. Elements are independent, given their group's share.
static double
shareOfFullRows(Value value, const AbstractValue &x,
                llvm::function_ref<double(const Cell &)> shareMasked) {
  MaybeShape shape = getShape(value);
  if (!shape || shape->empty() || shape->back() < 1 ||
      x.rank() != shape->size())
    return 0;
  int64_t kept = x.dims().back();
  double each = double(shape->back()) / double(kept), sum = 0;
  for (size_t first = 0; first < x.groups(); first += size_t(kept)) {
    double all = 1;
    for (int64_t group = 0; group < kept && all > 0; ++group)
      all *= std::pow(shareMasked(x.cell(first + size_t(group))), each);
    sum += all;
  }
  return sum * double(kept) / double(x.groups());
}

/// The share of the rows of a constant condition that are `held` altogether.
static std::optional<double> shareOfConstantRows(mp::ConstantOp constant,
                                                 int64_t length, bool held) {
  constexpr int64_t kMost = 1 << 24;
  auto dense = dyn_cast_or_null<DenseElementsAttr>(constant.getValue());
  if (!dense || !dense.getElementType().isInteger(1) || length < 1 ||
      dense.getNumElements() < length || dense.getNumElements() > kMost)
    return std::nullopt;
  if (dense.isSplat())
    return dense.getSplatValue<bool>() == held;
  int64_t at = 0, full = 0, same = 0;
  for (bool element : dense.getValues<bool>()) {
    same += element == held;
    if (++at % length != 0)
      continue;
    full += same == length;
    same = 0;
  }
  return double(full) * double(length) / double(at);
}

/// True if the op is true where all of its operands are.
static bool isConjunction(Operation *op) {
  return isa_and_present<mp::LogicalAndOp, mp::BitwiseAndOp>(op);
}

/// The share of the rows of a condition that are `held` altogether. Of a
/// conjunction with what is true everywhere the other operand decides.
static std::optional<double> shareOfConditionRows(Value condition, bool held,
                                                  const RangeAnalysis &ranges,
                                                  unsigned depth = kMostSteps) {
  MaybeShape shape = getShape(condition);
  Operation *op = condition.getDefiningOp();
  if (!shape || shape->empty())
    return std::nullopt;
  if (auto constant = dyn_cast_if_present<mp::ConstantOp>(op))
    if (auto share = shareOfConstantRows(constant, shape->back(), held))
      return share;
  for (unsigned index : {0u, 1u}) {
    if (depth == 0 || !isConjunction(op))
      break;
    const AbstractValue &other = ranges.of(op->getOperand(1 - index));
    MaybeShape own = getShape(op->getOperand(index));
    if (other.hasLikely() && other.hull().mean >= 1 && own && !own->empty() &&
        own->back() == shape->back())
      return shareOfConditionRows(op->getOperand(index), held, ranges,
                                  depth - 1);
  }
  const AbstractValue &x = ranges.of(condition);
  if (!x.hasLikely())
    return std::nullopt;
  return shareOfFullRows(condition, x, [&](const Cell &cell) {
    double chosen = std::clamp(cell.mean, 0.0, 1.0);
    return held ? chosen : 1 - chosen;
  });
}

/// The same of a choice between scores and a mask, by its condition, which
/// tells rows apart better than what it chooses from.
static std::optional<double> shareByCondition(mp::WhereOp op,
                                              const RangeAnalysis &ranges) {
  MaybeShape own = getShape(op.getCondition()), all = getShape(op.getResult());
  if (!own || !all || own->empty() || own->back() != all->back())
    return std::nullopt;
  auto isMask = [&](Value value) {
    const AbstractValue &x = ranges.preRounding(value);
    return x.hasLikely() && x.hull().likelyHi < maskedBelow();
  };
  auto isLive = [&](Value value) {
    const AbstractValue &x = ranges.preRounding(value);
    return x.hasLikely() && x.hull().likelyLo > maskedBelow();
  };
  bool masksOthers = isLive(op.getLhs()) && isMask(op.getRhs());
  if (!masksOthers && !(isMask(op.getLhs()) && isLive(op.getRhs())))
    return std::nullopt;
  return shareOfConditionRows(op.getCondition(), !masksOthers, ranges);
}

/// The mask that a value is a sum with, or a cast of; null if there is none
/// along the last axis, or if there are several.
static Value findAddedMask(Value value, const RangeAnalysis &ranges) {
  Operation *op = value.getDefiningOp();
  if (!op ||
      (!isa<mp::CastOp, mp::IdentityOp>(op) && !hasRole(op, Role::Addition)))
    return {};
  Value mask;
  for (Value operand : op->getOperands()) {
    const AbstractValue &x = ranges.preRounding(operand);
    if (!x.hasLikely())
      return {};
    if (x.hull().likelyLo > maskedBelow() || areScores(operand, kMostSteps))
      continue;
    if (mask)
      return {};
    mask = operand;
  }
  MaybeShape own = mask ? getShape(mask) : std::nullopt;
  if (!own || own->empty() || own->back() != getShape(value)->back())
    return {};
  return mask;
}

/// The same of a mask that the file holds: rows of a causal one are of all
/// lengths, which independent elements are not. Nothing if it is no such mask.
static std::optional<double> shareOfConstantRows(Value value,
                                                 const RangeAnalysis &ranges) {
  // As many as a mask of 4,096 positions.
  constexpr int64_t kMost = 1 << 24;
  std::optional<WeightView> mask = ranges.context().weights(value);
  if (!mask || mask->splat || mask->shape.empty() || mask->size() > kMost)
    return std::nullopt;
  int64_t length = mask->shape.back(), full = 0;
  if (length < 1 || mask->size() < length)
    return std::nullopt;
  std::vector<double> row(length);
  for (int64_t first = 0; first < mask->size(); first += length) {
    mask->read(first, row);
    full += llvm::all_of(
        row, [](double element) { return element <= maskedBelow(); });
  }
  return double(full) * double(length) / double(mask->size());
}

/// The same by what the value is the sum of: a mask tells its rows apart better
/// than the scores that it is added to. Of several masks each has fewer rows.
static double shareOfFullRows(Value value, const RangeAnalysis &ranges,
                              unsigned depth) {
  double share = shareOfFullRows(value, ranges.preRounding(value), shareMasked);
  if (depth == 0 || share == 0)
    return share;
  if (std::optional<double> held = shareOfConstantRows(value, ranges))
    return *held;
  if (auto where = value.getDefiningOp<mp::WhereOp>())
    return std::min(share, shareByCondition(where, ranges).value_or(share));
  Value mask = findAddedMask(value, ranges);
  return mask ? std::min(share, shareOfFullRows(mask, ranges, depth - 1))
              : share;
}

/// True if a mask that is declared for an input takes part in the value.
static bool readsDeclaredMask(Value value, unsigned &budget) {
  if (budget == 0)
    return false;
  --budget;
  if (Operation *op = value.getDefiningOp())
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return readsDeclaredMask(operand, budget);
    });
  DictionaryAttr assume = getAssumption(value);
  auto source = assume ? assume.getAs<StringAttr>("source") : StringAttr();
  return source && source.getValue() != "default" && assume.contains(kMaskKey);
}

/// True if a single element that an input masks hides a whole row: the first
/// one of a causal mask has no other, which is where padding on the left is.
static bool hidesRow(Value value, const RangeAnalysis &ranges) {
  Value mask = value;
  for (Value next = mask; next; next = findAddedMask(next, ranges))
    mask = next;
  const AbstractValue &x = ranges.preRounding(mask);
  MaybeShape shape = getShape(mask);
  if (!x.hasLikely() || !shape || shape->empty() || shape->back() < 1)
    return false;
  MaskRows rows =
      guessRows(1 - shareMasked(x.hull()), shape, double(shape->back()));
  // A mask that is made of an input by complement, scale, views and casts.
  unsigned budget = kMostOps;
  return llvm::is_contained(rows.lengths, 1.0) &&
         readsDeclaredMask(mask, budget);
}

/// True if the value is made of x x^T, x a mask that is declared for an input.
static bool readsOuterMask(Value value, unsigned &budget) {
  Operation *op = value.getDefiningOp();
  if (!op || budget == 0 || hasRole(op, Role::Contraction))
    return false;
  --budget;
  if (op->getNumOperands() == 2 &&
      (isConjunction(op) || hasRole(op, Role::Multiplication))) {
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    MaybeShape left = getShape(lhs), right = getShape(rhs);
    if (left && right && !left->empty() && !right->empty() &&
        (left->back() == 1) != (right->back() == 1) &&
        peel(lhs, Peel::CastsAndViews) == peel(rhs, Peel::CastsAndViews))
      return readsDeclaredMask(lhs, budget);
  }
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return readsOuterMask(operand, budget);
  });
}

bool mpopt::hidesOwnRow(Value value) {
  unsigned budget = kMostOps;
  return readsOuterMask(value, budget);
}

/// True if nothing but functions that are flat there reads masked numbers, by
/// themselves or among others: a rectifier, a logistic function. A sum with
/// scores that are less than half as large is masked, too.
static bool isFlatAt(double masked, Value value, const RangeAnalysis &ranges,
                     unsigned depth) {
  if (value.use_empty() || depth == 0)
    return false;
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<mp::CastOp>(user) || isViewLike(user) ||
        hasRole(user, Role::Select))
      return isFlatAt(masked, user->getResult(0), ranges, depth - 1);
    if (hasRole(user, Role::Addition) && user->getNumOperands() == 2) {
      const AbstractValue &other =
          ranges.preRounding(user->getOperand(1 - use.getOperandNumber()));
      return other.hasLikely() && other.hull().likelyHi < -masked / 2 &&
             isFlatAt(masked / 2, user->getResult(0), ranges, depth - 1);
    }
    std::optional<Unary> function = getFunction(user);
    return function && user->getNumOperands() == 1 &&
           derivative(*function, masked) == 0;
  });
}

std::optional<MaskedScores>
mpopt::findMaskedScores(Value value, const RangeAnalysis &ranges) {
  const AbstractValue &x = ranges.preRounding(value);
  if (!x.hasLikely() || x.hull().likelyLo > maskedBelow())
    return std::nullopt;
  MaskedScores scores;
  scores.isDropped = isFlatAt(x.hull().likelyLo, value, ranges, kMostSteps);
  if (!scores.isDropped && !reachesSoftmax(value))
    return std::nullopt;
  std::optional<Cell> live = findLive(value, ranges, kMostSteps);
  // Live scores that may be as far below 0 as all are leave nothing masked.
  if (!live || live->likelyLo <= x.hull().likelyLo)
    return std::nullopt;
  scores.live = *live;
  scores.masked = x.hull().likelyLo;
  // A mask alone is broadcast to rows that are not seen here, and is often a
  // number that the format has.
  if (live->variance > 0 && !scores.isDropped) {
    scores.fullRows = shareOfFullRows(value, ranges, kMostSteps);
    double rows = 1;
    MaybeShape shape = getShape(value);
    for (int64_t dim : ArrayRef(*shape).drop_back())
      rows *= double(std::max<int64_t>(dim, 1));
    scores.expectedRows = rows * scores.fullRows;
    if (hidesRow(value, ranges) || hidesOwnRow(value))
      scores.expectedRows = std::max(scores.expectedRows, 1.0);
  }
  return scores;
}
