//===- FiniteErrors.cpp - Errors past first order
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FiniteErrors.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace mlir;
using namespace mpopt;

/// Ops between a value and the number of which it is a function.
static constexpr unsigned kMostOps = 8;

/// True if no slope of the function changes: for multiples and sums.
static bool isLinear(Operation *op) {
  OpKind kind = getOpKind(op);
  if (kind == OpKind::Copy || kind == OpKind::Linear ||
      hasRole(op, Role::Negation))
    return true;
  return (kind == OpKind::Product && op->getOperand(0) != op->getOperand(1)) ||
         (kind == OpKind::Quotient && getSplatConstant(op->getOperand(1)));
}

/// True for functions without a jump whose slope is one of two numbers: errors
/// are too small beside their pieces to matter.
static bool isOfPieces(Operation *op) {
  std::optional<Unary> function = getFunction(op);
  return hasRole(op, Role::Rectifier | Role::LimitsAbove | Role::LimitsBelow) &&
         !(function && function->function == UnaryFunction::ThresholdedRelu);
}

/// False if an op on the way chooses or rounds to steps, whose errors have a
/// place of their own. `bends`: one has another slope elsewhere.
static bool isSmoothBetween(Value value, Value variable, unsigned depth,
                            bool &bends) {
  if (value == variable || getSplatConstant(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || getOpKind(op) == OpKind::Round ||
      getOpKind(op) == OpKind::Decide || isa<mp::WhereOp>(op))
    return false;
  bends |= !isLinear(op) && !isOfPieces(op);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return isSmoothBetween(operand, variable, depth - 1, bends);
  });
}

FunctionOfError::FunctionOfError(Value value) {
  std::optional<Expression> its = Expression::ofValue(value);
  if (!its)
    return;
  Value variable = its->variable();
  // A result that is a function of the same number has the whole change.
  bool goesOn = llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto result = user->getNumResults() == 1
                      ? Expression::ofValue(user->getResult(0))
                      : std::optional<Expression>();
    return result && result->variable() != value &&
           Expression::ofValue(value, result->variable()).has_value();
  });
  bool bends = false;
  if (!goesOn && isSmoothBetween(value, variable, kMostOps, bends) && bends)
    function = std::move(its);
}

namespace {
/// A piece of the line, and the values at its ends.
struct Piece {
  double from, to, first, last;

  double middle() const { return from + (to - from) / 2; }
};

/// The integral over a normal number, as far as it is expected to reach.
class Change {
public:
  Change(const Expression &function, const Cell &x, double before,
         const FloatFormat *format);

  FiniteChange run();

private:
  // Pieces of 1/6 of a deviation; a jump is looked for in 20 halvings.
  static constexpr unsigned kPieces = 64, kMostPieces = 1024;
  // A share far below what errors are known to.
  static constexpr double kSmall = 0.01;

  double errorAt(double at) const;
  double weightOf(double at, double width) const;
  std::vector<Piece> makePieces() const;
  void addLinear(ArrayRef<Piece> pieces);
  std::vector<Piece> halve(ArrayRef<Piece> pieces);
  void add(double weight, double square);

  const Expression &function;
  double mean, deviation, before, from, to;
  const FloatFormat *format;
  FiniteChange sums;
  double weights = 0, squares = 0;
};
} // namespace

Change::Change(const Expression &function, const Cell &x, double before,
               const FloatFormat *format)
    : function(function), mean(x.mean),
      deviation(std::sqrt(std::max(x.variance, 0.0))), before(before),
      format(format) {
  constexpr double kReach = 5; // deviations, past which are 6e-7 of all
  from = mean - kReach * deviation;
  to = mean + kReach * deviation;
  if (x.likelyLo < x.likelyHi) {
    from = std::max(from, x.likelyLo);
    to = std::min(to, x.likelyHi);
  }
}

double Change::errorAt(double at) const {
  double own = format ? StorageFormat(*format).roundingSquare(at) : 0;
  return std::sqrt(before + own);
}

double Change::weightOf(double at, double width) const {
  double z = (at - mean) / deviation;
  return std::exp(-z * z / 2) * width;
}

void Change::add(double weight, double square) {
  if (!std::isfinite(square))
    return;
  sums.square += weight * square;
  squares += weight * square * square;
}

std::vector<Piece> Change::makePieces() const {
  std::vector<double> ends(kPieces + 1);
  for (unsigned i = 0; i <= kPieces; ++i)
    ends[i] = from + (to - from) * i / kPieces;
  std::vector<double> values(ends.size());
  function.evaluate(ends, values);
  std::vector<Piece> pieces;
  for (unsigned i = 0; i < kPieces; ++i)
    pieces.push_back({ends[i], ends[i + 1], values[i], values[i + 1]});
  return pieces;
}

/// By the slopes in the middle of each piece, as gradients have them.
void Change::addLinear(ArrayRef<Piece> pieces) {
  // The cube root of a double's roundoff, for differences.
  constexpr double kNear = 1e-5;
  std::vector<double> points;
  for (const Piece &piece : pieces) {
    double at = piece.middle();
    double step = kNear * std::max(std::fabs(at), deviation * kSmall);
    points.insert(points.end(), {at - step, at + step});
  }
  std::vector<double> values(points.size());
  function.evaluate(points, values);
  for (auto [index, piece] : llvm::enumerate(pieces)) {
    double at = piece.middle(), error = errorAt(at);
    double slope = (values[2 * index + 1] - values[2 * index]) /
                   (points[2 * index + 1] - points[2 * index]);
    double weight = weightOf(at, piece.to - piece.from);
    weights += weight;
    if (std::isfinite(slope))
      sums.linear += weight * slope * slope * error * error;
  }
}

/// A piece is halved until the function is a line there, or the error is as
/// wide, or until it counts for nothing even if the function jumps there: a
/// jump J moves the share |d| / width by J, a line each element by J d / width.
std::vector<Piece> Change::halve(ArrayRef<Piece> pieces) {
  constexpr double kStraight = 0.1; // of the rise
  std::vector<double> points;
  for (const Piece &piece : pieces) {
    double at = piece.middle(), error = errorAt(at);
    // However far errors move a value, it has the same distribution.
    points.insert(points.end(),
                  {at, std::max(at - error, from), std::min(at + error, to)});
  }
  std::vector<double> values(points.size());
  function.evaluate(points, values);
  std::vector<Piece> halved;
  for (auto [index, piece] : llvm::enumerate(pieces)) {
    double at = piece.middle(), width = piece.to - piece.from;
    double weight = weightOf(at, width), reach = errorAt(at) / width;
    double here = values[3 * index], rise = piece.last - piece.first;
    double bend = std::fabs(here - piece.first / 2 - piece.last / 2);
    double jump = std::fabs(rise) + bend;
    if (reach >= 1) {
      add(weight / 2, std::pow(values[3 * index + 1] - here, 2));
      add(weight / 2, std::pow(values[3 * index + 2] - here, 2));
    } else if (weight * jump * jump * reach < kSmall * sums.linear / kPieces ||
               !(bend > kStraight * std::fabs(rise))) {
      add(weight, rise * rise * reach * reach);
    } else {
      halved.push_back({piece.from, at, piece.first, here});
      halved.push_back({at, piece.to, here, piece.last});
    }
  }
  return halved;
}

FiniteChange Change::run() {
  if (!(from < to) || !(errorAt(mean) > 0))
    return {};
  std::vector<Piece> pieces = makePieces();
  addLinear(pieces);
  for (size_t left = kMostPieces; !pieces.empty() && left >= pieces.size();) {
    left -= pieces.size();
    pieces = halve(pieces);
  }
  if (!(weights > 0))
    return {};
  FiniteChange change;
  change.linear = sums.linear / weights;
  change.square = sums.square / weights;
  if (squares > 0)
    change.share =
        std::min(1.0, change.square * change.square * weights / squares);
  return change;
}

FiniteChange FunctionOfError::changeOf(const Cell &x, double before,
                                       const FloatFormat *format) const {
  return Change(*function, x, before, format).run();
}
