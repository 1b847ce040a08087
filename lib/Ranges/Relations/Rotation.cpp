//===- Rotation.cpp - Sums that rotate pairs of values
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   a cos(t) + b sin(t)                 |y| <= sqrt(a^2 + b^2)
//   x cos(t) + concat(-x2, x1) sin(t)   also ‖y‖ <= sqrt(2) ‖x‖, and ‖y‖ <= ‖x‖
//                                       where t is concat(f, f)
//
// the rotary embedding as exporters write it for x = concat(x1, x2); the first
// line also holds for the form that rotates the halves apart. Not covered:
// sines from a table, and pairs of neighbours.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/RelationSupport.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

namespace {
/// factor * cos(angle), or its sine.
struct Wave {
  Value angle;
  double factor = 1;
  bool cosine = false;
  Rounding error;
};

/// One of the two products.
struct Term {
  Value value; // what is multiplied
  Value operand;
  Wave wave;
};
} // namespace

static std::optional<Wave> getWave(Value value, TransferContext &ctx) {
  Wave wave;
  for (unsigned depth = 0; depth < 6; ++depth) {
    value = peel(value, &wave.error);
    Operation *op = value.getDefiningOp();
    if (isa_and_present<mp::CosOp, mp::SinOp>(op)) {
      wave.angle = op->getOperand(0);
      wave.cosine = isa<mp::CosOp>(op);
      wave.error.add(functionError(value, ctx));
      return wave;
    }
    if (isa_and_present<mp::UnsqueezeOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    if (!isa_and_present<mp::MulOp>(op))
      return std::nullopt;
    std::optional<double> number = ctx.of(op->getOperand(1)).constant();
    if (!number || !std::isfinite(*number))
      return std::nullopt;
    wave.factor *= *number;
    wave.error.add(storeError(value));
    value = op->getOperand(0);
  }
  return std::nullopt;
}

static std::optional<Term> getTerm(Value value, TransferContext &ctx) {
  auto product = value.getDefiningOp<mp::MulOp>();
  if (!product)
    return std::nullopt;
  for (unsigned index : {1u, 0u}) {
    Value operand = product->getOperand(index);
    if (std::optional<Wave> wave = getWave(operand, ctx))
      return Term{product->getOperand(1 - index), operand, *wave};
  }
  return std::nullopt;
}

/// The half of `x`'s last axis that the value is: 0 or 1.
static std::optional<unsigned> getHalf(Value value, Value x, int64_t size) {
  Operation *op = value.getDefiningOp();
  MaybeShape shape = getShape(x);
  if (!op || op->getNumOperands() == 0 || op->getOperand(0) != x || !shape)
    return std::nullopt;
  int64_t last = int64_t(shape->size()) - 1;
  auto isHalf = [&](Value part) {
    MaybeShape of = getShape(part);
    return of && of->size() == shape->size() && (*of)[last] * 2 == size;
  };
  if (auto split = dyn_cast<mp::SplitOp>(op)) {
    if (split.getParts().size() != 2 || !isHalf(split.getParts()[0]) ||
        !isHalf(split.getParts()[1]) ||
        normalizeAxis(split.getAxis(), last + 1) != last)
      return std::nullopt;
    return value == split.getParts()[0] ? 0 : 1;
  }
  auto slice = dyn_cast<mp::SliceOp>(op);
  if (!slice || slice->getNumOperands() != 1 || !slice.getStarts() ||
      !slice.getAxes() || slice.getAxes()->size() != 1 || !isHalf(value) ||
      normalizeAxis(slice.getAxes()->front(), last + 1) != last ||
      (slice.getSteps() && slice.getSteps()->front() != 1))
    return std::nullopt;
  int64_t start = slice.getStarts()->front();
  if (start == 0 || start == -size)
    return 0;
  if (start * 2 == size || start * 2 == -size)
    return 1;
  return std::nullopt;
}

/// True if `value` is concat(-x2, x1) of x = concat(x1, x2).
static bool turnsHalves(Value value, Value x) {
  auto concat = value.getDefiningOp<mp::ConcatOp>();
  MaybeShape shape = getShape(x);
  if (!concat || concat.getInputs().size() != 2 || !shape || shape->empty() ||
      shape->back() < 0 || shape->back() % 2 != 0 ||
      normalizeAxis(concat.getAxis(), shape->size()) !=
          int64_t(shape->size()) - 1)
    return false;
  auto neg = concat.getInputs()[0].getDefiningOp<mp::NegOp>();
  int64_t size = shape->back();
  return neg && getHalf(neg.getInput(), x, size) == 1u &&
         getHalf(concat.getInputs()[1], x, size) == 0u;
}

/// True if both halves of the angle's last axis are the same numbers.
static bool repeatsHalf(Value angle, TransferContext &ctx) {
  auto concat = peel(angle, Peel::Rounded).getDefiningOp<mp::ConcatOp>();
  MaybeShape shape = getShape(angle);
  return concat && shape && !shape->empty() && concat.getInputs().size() == 2 &&
         concat.getInputs()[0] == concat.getInputs()[1] &&
         normalizeAxis(concat.getAxis(), shape->size()) ==
             int64_t(shape->size()) - 1;
}

/// True if `operand` has the whole last axis of `angle`.
static bool endsWith(Value operand, Value angle, Value x) {
  MaybeShape from = getShape(angle), to = getShape(operand), of = getShape(x);
  return from && to && of && !from->empty() && !to->empty() && !of->empty() &&
         from->back() == to->back() && to->back() == of->back() &&
         from->back() > 1;
}

void relations::refineRotation(Operation *op, AbstractValue &value,
                               TransferContext &ctx) {
  std::optional<Term> a = getTerm(op->getOperand(0), ctx);
  std::optional<Term> b = a ? getTerm(op->getOperand(1), ctx) : std::nullopt;
  if (!b || a->wave.cosine == b->wave.cosine ||
      std::fabs(a->wave.factor) != std::fabs(b->wave.factor) ||
      !ctx.isSameValue(a->wave.angle, b->wave.angle) || !getShape(a->operand) ||
      getShape(a->operand) != getShape(b->operand))
    return;
  // Each element is multiplied by one number at the same place: unsqueezing
  // keeps the order, so equal shapes mean equal angles.
  Rounding error = a->wave.error;
  error.add(b->wave.error);
  for (Value stored : std::initializer_list<Value>{
           op->getOperand(0), op->getOperand(1), op->getResult(0)})
    error.add(functionError(stored, ctx));
  if (!(error.relative < 0.1))
    return;
  double left = ctx.of(a->value).hull().absMax();
  double right = ctx.of(b->value).hull().absMax();
  double factor = std::fabs(a->wave.factor) * (1 + 4 * error.relative);
  double lost = 4 * error.absolute * (1 + left + right);
  double bound = std::hypot(left, right) * factor + lost;
  if (std::isfinite(bound))
    clamp(value, -bound, bound);
  if (!isa<mp::AddOp>(op))
    return;
  const Term &plain = a->wave.cosine ? *a : *b;
  const Term &turned = a->wave.cosine ? *b : *a;
  const AbstractValue &x = ctx.of(plain.value);
  if (!x.norm || x.norm->axis != int64_t(x.rank()) - 1 ||
      getShape(plain.value) != getShape(op->getResult(0)) ||
      !turnsHalves(turned.value, plain.value))
    return;
  bool repeats = repeatsHalf(plain.wave.angle, ctx) &&
                 endsWith(plain.operand, plain.wave.angle, plain.value);
  double rows = x.norm->bound * (repeats ? 1 : std::sqrt(2.0)) * factor +
                std::sqrt(double(x.norm->count)) *
                    (lost + 4 * error.relative * x.norm->bound *
                                std::fabs(plain.wave.factor) /
                                std::sqrt(double(x.norm->count)));
  setNorm(value, x.norm->axis, rows * (1 + 1e-12), x.norm->count);
}
