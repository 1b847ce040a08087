//===- ZeroRowShare.cpp - How many rows are 0 altogether
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row lies along the last axis. Rows become 0 by a mask with one element for
// each, or behind a softmax over one score, whose gradient is 0; they stay 0
// under functions of which 0 is a fixed point, and under products without a
// bias. Summands are taken to have their rows of zeros in common. Not covered:
// convolutions, sums over rows, and tables.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/Zeros.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Ranges/Value/FunctionOf.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

static int64_t lastDim(Value value) {
  MaybeShape shape = getShape(value);
  return shape && !shape->empty() ? shape->back() : -1;
}

/// Two events that have nothing to do with each other.
static double either(double one, double other) {
  return 1 - (1 - one) * (1 - other);
}

double mpopt::shareOfPaddedRuns(double share, double run, double length) {
  // Where padding begins within a run is as likely one place as another.
  return run == 1       ? share
         : run < length ? std::max(share - run / (2 * length), 0.0)
                        : 0;
}

/// True if the truth value tells tokens from the one that pads.
static bool masksToken(Value truth) {
  Operation *op = getMaker(truth, Peel::CastsAndViews);
  if (auto inverse = dyn_cast_if_present<mp::LogicalNotOp>(op))
    op = getMaker(inverse.getInput(), Peel::CastsAndViews);
  if (!isa_and_present<mp::EqualOp, mp::NotEqualOp>(op))
    return false;
  auto isToken = [](Value value) {
    auto argument = dyn_cast<BlockArgument>(peel(value, Peel::CastsAndViews));
    return argument && getElementType(argument).isIntOrIndex() &&
           isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  };
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  return (isToken(lhs) && getSplatConstant(rhs)) ||
         (isToken(rhs) && getSplatConstant(lhs));
}

/// The scores of which a truth value picks the largest of each row; null for
/// others.
static Value findScores(Value truth) {
  auto equal = getMaker<mp::EqualOp>(truth);
  for (unsigned side : {0u, 1u}) {
    Operation *largest =
        equal ? getMaker(equal->getOperand(side), Peel::CastsAndViews)
              : nullptr;
    Value all = equal ? equal->getOperand(1 - side) : Value();
    if (!isa_and_present<mp::ReduceMaxOp>(largest) ||
        peel(largest->getOperand(0)) != peel(all) ||
        getNumElements(getShape(largest->getResult(0))).value_or(0) *
                lastDim(all) !=
            getNumElements(getShape(all)).value_or(-1))
      continue;
    auto softmax = getMaker<mp::SoftmaxOp>(all);
    return softmax ? softmax.getInput() : all;
  }
  return Value();
}

/// The share of candidates that are the largest of none of `rows` rows of
/// normal scores.
static double shareOfUnchosen(Value scores, double rows,
                              const RangeAnalysis &ranges) {
  AbstractValue value = ranges.preRounding(scores).keeping(
      {int64_t(TransferContext::rankOf(scores)) - 1});
  // A product for each two candidates at so many scores.
  constexpr size_t kMost = 256, kParts = 32;
  size_t count = value.groups();
  if (!value.hasLikely() || count > kMost || int64_t(count) != lastDim(scores))
    return 0;
  double unchosen = 0;
  for (size_t own = 0; own < count; ++own) {
    double chosen = 0;
    for (size_t part = 0; part < kParts; ++part) {
      Cell cell = value.cell(own);
      double score = cell.mean + std::sqrt(cell.variance) *
                                     normalQuantile((part + 0.5) / kParts);
      double share = 1;
      for (size_t other = 0; other < count; ++other)
        if (Cell its = value.cell(other); other != own)
          share *= its.variance > 0 ? normalShareBelow((score - its.mean) /
                                                       std::sqrt(its.variance))
                                    : its.mean < score;
      chosen += share / kParts;
    }
    unchosen += std::pow(1 - std::min(chosen, 1.0), rows) / double(count);
  }
  return unchosen;
}

/// The share of a factor's elements that are 0 where truth values say so, or of
/// the runs of `run` of them.
static double shareOfFalse(Value factor, const RangeAnalysis &ranges,
                           std::optional<double> padding, int64_t run,
                           unsigned depth = 8) {
  Operation *op = factor.getDefiningOp();
  if (!op || depth == 0)
    return 0;
  auto inner = [&](unsigned operand) {
    return shareOfFalse(op->getOperand(operand), ranges, padding, run,
                        depth - 1);
  };
  if (auto cast = dyn_cast<mp::CastOp>(op);
      cast && getElementType(cast.getInput()).isInteger(1)) {
    // Each candidate has a list of its own.
    if (Value scores = findScores(cast.getInput()); scores && run > 1) {
      double rows = double(getNumElements(getShape(scores)).value_or(0)) /
                    double(std::max<int64_t>(lastDim(scores), 1));
      return shareOfUnchosen(scores, std::min(rows, double(run)), ranges);
    }
    Value mask = peel(cast.getInput(), Peel::CastsAndViews);
    auto runsOf = [&](double share) {
      return shareOfPaddedRuns(share, double(run), double(lastDim(mask)));
    };
    if (padding && masksToken(cast.getInput()))
      return runsOf(*padding);
    const AbstractValue &truth = ranges.of(cast.getResult());
    return truth.hasLikely() && !isConstant(factor)
               ? runsOf(std::clamp(1 - truth.hull().mean, 0.0, 1.0))
               : 0;
  }
  if (isa<mp::CastOp, mp::TransposeOp>(op) || isViewLike(op))
    return inner(0);
  if (hasRole(op, Role::Multiplication) && op->getNumOperands() == 2)
    return either(inner(0), inner(1));
  return 0;
}

/// As many as a mask of 4,096 positions.
static constexpr int64_t kMostElements = 1 << 24;

/// The elements of a constant, integers as they are; empty if not known.
static std::vector<double> readElements(Value constant,
                                        const RangeAnalysis &ranges) {
  std::vector<double> elements;
  auto op = getMaker<mp::ConstantOp>(constant);
  auto integers = op ? dyn_cast<DenseIntElementsAttr>(op.getValue())
                     : DenseIntElementsAttr();
  if (integers && integers.getNumElements() <= kMostElements) {
    for (const APInt &element : integers.getValues<APInt>())
      elements.push_back(double(element.getSExtValue()));
  } else if (auto floats = ranges.context().weights(constant);
             floats && !floats->splat && floats->size() <= kMostElements) {
    elements.resize(floats->size());
    floats->read(0, elements);
  }
  return elements;
}

/// The share of rows of a constant of which all elements but one are masked; 0
/// of what is no constant of rows of that length.
static double shareOfSingles(Value value, int64_t length,
                             const RangeAnalysis &ranges,
                             llvm::function_ref<bool(double)> isMasked) {
  Value constant = peel(value, Peel::Casts);
  if (length < 2 || lastDim(constant) != length)
    return 0;
  std::vector<double> elements = readElements(constant, ranges);
  if (elements.empty() || elements.size() % length)
    return 0;
  double rows = double(elements.size()) / double(length), singles = 0;
  for (ArrayRef<double> left = elements; !left.empty();
       left = left.drop_front(length))
    singles += length - llvm::count_if(left.take_front(length), isMasked) == 1;
  return singles / rows;
}

/// The share of a softmax's rows of which one score is left, as the first of a
/// causal mask: its probability is 1 whatever the score.
static double shareOfSingles(Value probabilities, const RangeAnalysis &ranges) {
  auto softmax = probabilities.getDefiningOp<mp::SoftmaxOp>();
  int64_t rank = TransferContext::rankOf(probabilities);
  if (!softmax || softmax.getFlatten() ||
      normalizeAxis(softmax.getAxis(), rank) != rank - 1)
    return 0;
  int64_t length = lastDim(probabilities);
  // A probability of e^-100 is no FP32 number.
  constexpr double kMasked = -100;
  Operation *op = getMaker(softmax.getInput(), Peel::Casts);
  if (auto where = dyn_cast_if_present<mp::WhereOp>(op)) {
    for (bool truth : {true, false}) {
      std::optional<double> number =
          getSplatConstant(truth ? where.getLhs() : where.getRhs());
      if (number && *number <= kMasked)
        return shareOfSingles(
            where.getCondition(), length, ranges,
            [&](double element) { return (element != 0) == truth; });
    }
    return 0;
  }
  double share = 0;
  if (op && hasRole(op, Role::Addition))
    for (Value added : op->getOperands())
      share = std::max(
          share, shareOfSingles(added, length, ranges, [](double element) {
            return element <= kMasked;
          }));
  return share;
}

/// True if the heads of attention are joined: their rows are 0 together.
static bool joinsHeads(Operation *op) {
  auto transpose = op->getOperand(0).getDefiningOp<mp::TransposeOp>();
  MaybeShape from = getShape(op->getOperand(0)),
             to = getShape(op->getResult(0));
  if (!isa<mp::ReshapeOp>(op) || !transpose || !from || !to ||
      from->size() != 4 || to->empty())
    return false;
  auto perm = transpose.getPerm();
  return perm && *perm == ArrayRef<int64_t>({0, 2, 1, 3}) && (*from)[2] > 0 &&
         (*from)[3] > 0 && to->back() == (*from)[2] * (*from)[3];
}

double ZeroRowShare::leastOf(ValueRange values) {
  double least = 1;
  for (Value value : values)
    least = std::min(least, of(value));
  return values.empty() ? 0 : least;
}

double ZeroRowShare::ofFactors(Operation *op, Value value) {
  double rows = 0, masked = 0;
  for (Value factor : op->getOperands()) {
    bool isOfRows = lastDim(factor) == 1 && lastDim(value) != 1;
    if (isOfRows)
      masked = either(masked, shareOfFalse(factor, ranges, padding, run));
    else if (lastDim(value) > 0 && lastDim(factor) == lastDim(value))
      rows = std::max(rows, of(factor));
  }
  return either(rows, masked);
}

double ZeroRowShare::ofProduct(Operation *op) {
  std::optional<ProductOperands> product = getProductOperands(op);
  if (!product || product->bias)
    return 0;
  ArrayRef<AxisPart> axes = product->layouts[0].axes;
  return !axes.empty() && axes.back() == AxisPart::Contracted
             ? of(op->getOperand(0))
             : 0;
}

/// The share of runs of rows of which `read` has none; the list repeats itself
/// `times` times.
static double shareOfRuns(const std::vector<bool> &read, int64_t times,
                          int64_t run) {
  // Runs begin anew after as many times.
  times = std::min(times, run);
  int64_t rows = times * int64_t(read.size()), runs = 0, none = 0;
  for (int64_t from = 0; from < rows; from += run, ++runs) {
    bool isRead = false;
    for (int64_t at = from; at < std::min(from + run, rows); ++at)
      isRead |= read[at % int64_t(read.size())];
    none += !isRead;
  }
  return runs ? double(none) / double(runs) : 0;
}

/// Positions of which none is read have no gradient: all but a class token.
double ZeroRowShare::ofUnread(mp::GatherGradOp gather, Value value) {
  MaybeShape shape = getShape(value);
  auto read = getNumElements(getShape(gather.getIndices()));
  bool isPicked = gather.getKind() == "elements" || gather.getKind() == "nd";
  if (isPicked || !shape || !read || !isConstant(gather.getIndices()))
    return 0;
  auto axis = normalizeAxis(gather.getAxis(), int64_t(shape->size()));
  if (!axis || *axis + 1 == int64_t(shape->size()) || (*shape)[*axis] <= 0)
    return 0;
  int64_t size = (*shape)[*axis];
  double passed = of(gather->getOperand(0));
  if (run == 1)
    return either(std::max(1 - double(*read) / double(size), 0.0), passed);
  // Positions lie behind each other, samples before them.
  auto all = getNumElements(shape);
  if (!all || *axis + 2 != int64_t(shape->size()) || shape->back() <= 0)
    return 0;
  std::vector<bool> isRead(size, false);
  for (double place : readElements(gather.getIndices(), ranges))
    if (auto at = normalizeAxis(int64_t(place), size))
      isRead[*at] = true;
  return llvm::is_contained(isRead, true)
             ? either(shareOfRuns(isRead, *all / shape->back() / size, run),
                      passed)
             : 0;
}

double ZeroRowShare::compute(Operation *op, Value value) {
  if (std::optional<double> number = getSplatConstant(value))
    return *number == 0;
  if (op->getNumOperands() == 0)
    return 0;
  Value first = op->getOperand(0);
  if (std::optional<Unary> function = getFunction(op);
      function && op->getNumOperands() == 1) {
    Interval zero = image(*function, {0, 0});
    return zero.lo == 0 && zero.hi == 0 ? of(first) : 0;
  }
  if (auto gather = dyn_cast<mp::GatherGradOp>(op))
    return ofUnread(gather, value);
  // A norm of the last axis gives a row without a gradient none, and neither
  // does a function.
  if ((isa<mp::LayerNormGradOp, mp::RmsNormGradOp>(op) ||
       getFunctionOfGradient(op)) &&
      value == op->getResult(0))
    return of(first);
  if (hasRole(op, Role::Multiplication))
    return ofFactors(op, value);
  if (hasRole(op, Role::Division))
    return of(first);
  if (hasRole(op, Role::Addition | Role::Subtraction | Role::Concatenation))
    return leastOf(op->getOperands());
  if (auto transpose = dyn_cast<mp::TransposeOp>(op)) {
    auto perm = transpose.getPerm();
    return perm && !perm->empty() && perm->back() + 1 == int64_t(perm->size())
               ? of(first)
               : 0;
  }
  // Parts, and the gradients of parts.
  if (joinsHeads(op) || isa<mp::SliceGradOp>(op) ||
      getOpKind(op) == OpKind::Gather)
    return of(first);
  // A row that is cut into several is 0 in each.
  int64_t before = lastDim(first), now = lastDim(value);
  if (getOpKind(op) == OpKind::Copy)
    return before > 0 && now > 0 && before % now == 0 && now > 1 ? of(first)
                                                                 : 0;
  if (hasRole(op, Role::KeepsZeros | Role::Rectifier | Role::Square))
    return of(first);
  if (auto where = dyn_cast<mp::WhereOp>(op))
    return leastOf({where.getLhs(), where.getRhs()});
  if (isa<mp::SoftmaxGradOp>(op))
    return std::max(of(first),
                    run > 1 ? 0 : shareOfSingles(op->getOperand(1), ranges));
  return ofProduct(op);
}

double ZeroRowShare::of(Value value) {
  // A bound on the stack: each op takes a frame.
  constexpr unsigned kMostDepth = 1000;
  auto [entry, isNew] = known.try_emplace(value, 0);
  Operation *op = value.getDefiningOp();
  if (!isNew || !op || depth == kMostDepth)
    return entry->second;
  ++depth;
  double share = compute(op, value);
  if (seed)
    share = std::max(share, seed(value));
  --depth;
  return known[value] = share;
}
