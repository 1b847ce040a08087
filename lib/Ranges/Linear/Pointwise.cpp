//===- Pointwise.cpp - Steps of elementwise ops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums are linear. A product is, but for the product of the radii: with the
// middles a, b of the operands x, y, x y = b x + a y - a b + (x - a)(y - b).
// A function of one number lies between two lines (UnaryKernel::relax,
// Expression::relax).
//
//===----------------------------------------------------------------------===//

#include "Aligned.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Numerics/UnaryKernel.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/Expression.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <map>
#include <tuple>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::linear;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

std::optional<Aligned> Aligned::get(Value value, Value result,
                                    TransferContext &ctx) {
  MaybeShape own = getShape(value), shape = getShape(result);
  if (!own || !shape || own->size() > shape->size())
    return std::nullopt;
  Aligned aligned{value, ctx.of(value)};
  aligned.cells = CellMap(aligned.known, own->size());
  if (aligned.known.rank() != own->size())
    aligned.known = aligned.known.merged();
  aligned.shift = shape->size() - own->size();
  for (size_t axis = 0; axis < own->size(); ++axis) {
    int64_t dim = (*own)[axis], to = (*shape)[axis + aligned.shift];
    if (dim != 1 && dim != to)
      return std::nullopt;
    aligned.repeated.push_back(dim == 1);
  }
  aligned.fixed = aligned.findFixed();
  return aligned;
}

Box Aligned::box(const Box &result) const {
  Box box;
  for (size_t axis = 0; axis < repeated.size(); ++axis) {
    box.first.push_back(repeated[axis] ? 0 : result.first[axis + shift]);
    box.size.push_back(repeated[axis] ? 1 : result.size[axis + shift]);
  }
  return box;
}

Index Aligned::index(ArrayRef<int64_t> result) const {
  Index index(result.drop_front(shift));
  for (size_t axis = 0; axis < repeated.size(); ++axis)
    if (repeated[axis])
      index[axis] = 0;
  return index;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
class PointwiseStep : public Step {
public:
  explicit PointwiseStep(SmallVector<Aligned, 2> operands)
      : operands(std::move(operands)) {}

  void trace(const Box &box, Trace &trace) const override {
    for (const Aligned &operand : operands)
      operand.trace(box, trace);
  }

protected:
  SmallVector<Aligned, 2> operands;
};

/// A sum or difference, or, with one operand, a copy.
class SumStep : public PointwiseStep {
public:
  SumStep(SmallVector<Aligned, 2> operands, double sign, bool exact)
      : PointwiseStep(std::move(operands)), sign(sign), exact(exact) {}

  bool isExact() const override { return exact; }

  void pull(const Part &part, Forms &forms) const override {
    double factor = 1;
    for (const Aligned &operand : operands) {
      part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
        const double *from = part.numbers.data() + size_t(at) * forms.rows;
        operand.add(from, index, factor, forms);
        forms.lose(from, kSlack * operand.cell(operand.index(index)).absMax());
      });
      factor = sign;
    }
  }

private:
  double sign;
  bool exact;
};

class ProductStep : public PointwiseStep {
public:
  explicit ProductStep(SmallVector<Aligned, 2> operands)
      : PointwiseStep(std::move(operands)) {}

  void pull(const Part &part, Forms &forms) const override {
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      const double *from = part.numbers.data() + size_t(at) * forms.rows;
      Index own[2] = {operands[0].index(index), operands[1].index(index)};
      Interval bounds[2];
      for (unsigned i : {0u, 1u})
        bounds[i] = cells::bound(operands[i].cell(own[i]));
      double radius = mulUp(bounds[0].radius(), bounds[1].radius());
      double most = mulUp(bounds[0].maxAbs(), bounds[1].maxAbs());
      forms.lose(from, radius + 4 * kSlack * most);
      for (unsigned i : {0u, 1u}) {
        // A factor that is one number takes part as that number only.
        if (!bounds[i].isPoint())
          operands[i].add(from, index, bounds[1 - i].midpoint(), forms);
      }
      double middle = bounds[0].midpoint() * bounds[1].midpoint();
      if (bounds[0].isPoint() != bounds[1].isPoint())
        return;
      if (!bounds[0].isPoint())
        middle = -middle;
      forms.addNumber(from, middle);
    });
  }
};

/// Adds `factor` times a number that lies between two lines of an operand, of
/// magnitude `most` at most, whose coefficients are at `to`: the upper line
/// where the number's coefficient is positive, the lower one elsewhere.
void addBetween(const Relaxation &line, const double *from, double factor,
                double most, double *to, Forms &forms) {
  double slope =
      std::max(std::fabs(line.upper.slope), std::fabs(line.lower.slope));
  double offset =
      std::max(std::fabs(line.upper.offset), std::fabs(line.lower.offset));
  double slack = kSlack * (slope * most + offset);
  for (size_t row = 0; row < forms.rows; ++row) {
    double number = factor * from[row];
    double above = std::max(number, 0.0), below = number - above;
    to[row] += above * line.upper.slope + below * line.lower.slope;
    forms.constant[row] +=
        above * line.upper.offset + below * line.lower.offset;
    forms.error[row] += (above - below) * slack;
  }
}

/// A quotient whose divisor is never 0: with the middles a, b of x and of
/// q = 1 / y, x q = b x + a q - a b + (x - a)(q - b), and q lies between two
/// lines of y.
class QuotientStep : public PointwiseStep {
public:
  /// `lines` of 1 / y, one for each cell of y; the division is off by `error`.
  QuotientStep(SmallVector<Aligned, 2> operands, std::vector<Relaxation> lines,
               double error)
      : PointwiseStep(std::move(operands)), lines(std::move(lines)),
        error(error) {}

  void pull(const Part &part, Forms &forms) const override {
    const Aligned &x = operands[0], &y = operands[1];
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      const double *from = part.numbers.data() + size_t(at) * forms.rows;
      Index own = y.index(index);
      size_t cell = y.cells(own);
      Interval numbers = cells::bound(x.cell(x.index(index)));
      Interval factors = reciprocal(cells::bound(y.known.cell(cell)));
      double radius = mulUp(numbers.radius(), factors.radius());
      double most = mulUp(numbers.maxAbs(), factors.maxAbs());
      forms.lose(from, radius + 8 * kSlack * most + error);
      double middle = numbers.midpoint(), factor = factors.midpoint();
      x.add(from, index, factor, forms);
      if (y.fixed)
        return;
      forms.addNumber(from, -middle * factor);
      Part &into = forms.of(y.value);
      addBetween(lines[cell], from, middle, y.known.cell(cell).absMax(),
                 into.numbers.data() + size_t(into.box.find(own)) * forms.rows,
                 forms);
    });
  }

private:
  std::vector<Relaxation> lines;
  double error;
};

/// The larger of two numbers is y + relu(x - y), the smaller one
/// y - relu(y - x).
class ExtremeStep : public PointwiseStep {
public:
  ExtremeStep(SmallVector<Aligned, 2> operands, double sign)
      : PointwiseStep(std::move(operands)), sign(sign) {}

  bool isExact() const override { return true; }

  void pull(const Part &part, Forms &forms) const override {
    const Aligned &x = operands[0], &y = operands[1];
    UnaryKernel relu(Unary{UnaryFunction::Relu}, ComputeError::none());
    std::vector<double> slopes(forms.rows);
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      const double *from = part.numbers.data() + size_t(at) * forms.rows;
      Interval first = cells::bound(x.cell(x.index(index)));
      Interval second = cells::bound(y.cell(y.index(index)));
      Interval difference = (first - second) * sign;
      Line top{0, std::max(difference.hi, 0.0)};
      Relaxation line = relu.relax(difference, kNear[forms.near])
                            .value_or(Relaxation{{}, top});
      llvm::fill(slopes, 0);
      addBetween(line, from, sign, difference.maxAbs(), slopes.data(), forms);
      y.add(from, index, 1, forms);
      x.add(slopes.data(), index, sign, forms);
      y.add(slopes.data(), index, -sign, forms);
      forms.lose(from, 4 * kSlack * addUp(first.maxAbs(), second.maxAbs()));
    });
  }

private:
  double sign;
};

/// A function of one number, which lies between two lines.
class LinesStep : public PointwiseStep {
public:
  using PointwiseStep::PointwiseStep;

  void trace(const Box &box, Trace &trace) const override {
    trace.read(operands.front().value, box);
  }

  void pull(const Part &part, Forms &forms) const override {
    const Aligned &operand = operands.front();
    Part &into = forms.of(operand.value);
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      const double *from = part.numbers.data() + size_t(at) * forms.rows;
      double *to =
          into.numbers.data() + size_t(into.box.find(index)) * forms.rows;
      size_t cell = operand.cells(index);
      addBetween(getLines(cell, forms.near), from, 1,
                 operand.known.cell(cell).absMax(), to, forms);
    });
  }

private:
  /// Those of a cell of the operand, nearest at that of `kNear`.
  virtual const Relaxation &getLines(size_t cell, unsigned near) const = 0;
};

/// A row of the function table.
class FunctionStep : public LinesStep {
public:
  /// `middle` are the first of the lines for each of the operand's cells, which
  /// lie in `bounds`.
  FunctionStep(Aligned operand, UnaryKernel kernel,
               std::vector<Interval> bounds, std::vector<Relaxation> middle,
               bool exact)
      : LinesStep({std::move(operand)}), kernel(std::move(kernel)),
        bounds(std::move(bounds)), exact(exact) {
    lines.front() = std::move(middle);
  }

  bool isExact() const override { return exact; }

private:
  const Relaxation &getLines(size_t cell, unsigned which) const override {
    std::vector<Relaxation> &near = lines[which];
    for (size_t next = near.size(); next < bounds.size(); ++next)
      near.push_back(kernel.relax(bounds[next], kNear[which])
                         .value_or(lines.front()[next]));
    return near[cell];
  }

  UnaryKernel kernel;
  std::vector<Interval> bounds;
  /// For each cell of the operand; those that are not the first ones when they
  /// are asked for.
  mutable std::array<std::vector<Relaxation>, kNear.size()> lines;
  bool exact;
};

/// A function that several ops compute.
class ExpressionStep : public LinesStep {
public:
  /// All results lie in `image`.
  ExpressionStep(Aligned operand, Expression expression,
                 const ComputeError &error, const Interval &image)
      : LinesStep({std::move(operand)}), expression(std::move(expression)),
        error(error), flat{{0, image.lo}, {0, image.hi}} {}

  bool isExact() const override { return false; }

private:
  /// Up to a number of 5 digits, so that many cells share an interval.
  static double outward(double x) {
    int exponent;
    double digits = std::frexp(x, &exponent);
    return std::ldexp(std::ceil(digits * 32) / 32, exponent);
  }
  const Relaxation &getLines(size_t cell, unsigned which) const override {
    Interval x = cells::bound(operands.front().known.cell(cell));
    x = {-outward(-x.lo), outward(x.hi)};
    auto [known, isNew] = lines.try_emplace({x.lo, x.hi, which}, flat);
    if (isNew)
      known->second = expression.relax(x, kNear[which], error).value_or(flat);
    return known->second;
  }

  Expression expression;
  ComputeError error;
  Relaxation flat;
  /// By interval and `kNear`, when they are asked for.
  mutable std::map<std::tuple<double, double, unsigned>, Relaxation> lines;
};

/// x factor + offset, by channel, with an error.
class AffineStep : public PointwiseStep {
public:
  struct Channel {
    double factor, offset, error;
  };
  AffineStep(Aligned operand, std::vector<Channel> channels)
      : PointwiseStep({std::move(operand)}), channels(std::move(channels)) {}

  void trace(const Box &box, Trace &trace) const override {
    trace.read(operands.front().value, box);
    trace.note(box.first[1]);
  }

  void pull(const Part &part, Forms &forms) const override {
    Part &into = forms.of(operands.front().value);
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      const double *from = part.numbers.data() + size_t(at) * forms.rows;
      const Channel &channel = channels[index[1]];
      forms.add(from,
                into.numbers.data() + size_t(into.box.find(index)) * forms.rows,
                channel.factor);
      forms.addNumber(from, channel.offset);
      forms.lose(from, channel.error);
    });
  }

private:
  std::vector<Channel> channels;
};
} // namespace

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static std::optional<SmallVector<Aligned, 2>>
alignAll(ValueRange values, Value result, TransferContext &ctx) {
  SmallVector<Aligned, 2> operands;
  for (Value value : values) {
    std::optional<Aligned> aligned = Aligned::get(value, result, ctx);
    if (!aligned || aligned->known.mayBeNonFinite())
      return std::nullopt;
    operands.push_back(std::move(*aligned));
  }
  return operands;
}

static std::unique_ptr<Step> makeSum(OpResult result, double sign, bool exact,
                                     TransferContext &ctx) {
  auto operands = alignAll(result.getOwner()->getOperands(), result, ctx);
  if (!operands)
    return nullptr;
  return std::make_unique<SumStep>(std::move(*operands), sign, exact);
}

/// Lines around 1 / y, y of one sign: a chord, and the tangent that is parallel
/// to it. Their rounding errors are within the slack of a line.
static Relaxation relaxInverse(const Interval &y) {
  double slope = -1 / y.lo / y.hi, chord = 1 / y.lo + 1 / y.hi;
  double tangent = 2 / std::sqrt(std::fabs(y.lo)) / std::sqrt(std::fabs(y.hi));
  return y.lo > 0 ? Relaxation{{slope, tangent}, {slope, chord}}
                  : Relaxation{{slope, chord}, {slope, -tangent}};
}

static std::unique_ptr<Step> makeQuotient(mp::DivOp op, TransferContext &ctx) {
  auto operands = alignAll({op.getLhs(), op.getRhs()}, op.getResult(), ctx);
  if (!operands)
    return nullptr;
  std::vector<Relaxation> lines;
  double least = kInfinity;
  for (const Cell &cell : operands->back().known.cells()) {
    Interval divisor = cells::bound(cell);
    least = std::min(least, divisor.minAbs());
    if (!(least > 0x1p-300))
      return nullptr;
    lines.push_back(relaxInverse(divisor));
  }
  double most = divUp(operands->front().known.hull().absMax(), least);
  ComputeError error = functionError(ctx, op.getLhs());
  double off = error.widen(Interval::point(most), error.divisionUlps).hi - most;
  return std::make_unique<QuotientStep>(std::move(*operands), std::move(lines),
                                        off);
}

/// Which infinities of the operand the function takes as it takes numbers
/// beyond the format's largest.
static bool isFlat(const Unary &unary, const FloatFormat &format, double sign) {
  SmallVector<Bend, 4> bends = getBends(unary);
  if (bends.empty() || !llvm::all_of(bends, [&](const Bend &bend) {
        return bend.curvature == Curvature::Linear &&
               (std::isinf(bend.from) ||
                std::fabs(bend.from) < format.maxFinite);
      }))
    return false;
  double end = sign * format.maxFinite;
  return evaluate(unary, end) == evaluate(unary, 2 * end);
}

static std::unique_ptr<Step> makeFunction(OpResult result, Value input,
                                          const Unary &unary,
                                          TransferContext &ctx) {
  std::optional<Aligned> operand = Aligned::get(input, result, ctx);
  const FloatFormat *format = getFloatFormat(getElementType(input));
  if (!operand || !format || getElementType(input) != getElementType(result) ||
      getShape(input) != getShape(result) || operand->known.nan ||
      (operand->known.mayBeInf() && ctx.preRounding(input).mayBeNonFinite()) ||
      (operand->known.negInf && !isFlat(unary, *format, -1)) ||
      (operand->known.posInf && !isFlat(unary, *format, 1)))
    return nullptr;
  UnaryKernel kernel(unary, functionError(ctx, input));
  std::vector<Interval> bounds;
  std::vector<Relaxation> lines;
  for (const Cell &cell : operand->known.cells()) {
    bounds.push_back(boundOf(operand->known, cell, *format));
    std::optional<Relaxation> relaxed = kernel.relax(bounds.back(), kNear[0]);
    if (!relaxed)
      return nullptr;
    lines.push_back(*relaxed);
  }
  FunctionFacts facts = getFacts(unary);
  bool exact = facts.growsFromZero && facts.keepsIntegers && facts.contracts &&
               !getBends(unary).empty();
  return std::make_unique<FunctionStep>(std::move(*operand), std::move(kernel),
                                        std::move(bounds), std::move(lines),
                                        exact);
}

/// Nothing where the operands are no functions of one value.
static std::unique_ptr<Step> makeExpression(OpResult result,
                                            TransferContext &ctx) {
  std::optional<Expression> expression = Expression::of(result.getOwner());
  std::optional<Aligned> operand =
      expression ? Aligned::get(expression->variable(), result, ctx)
                 : std::nullopt;
  if (!operand || operand->known.mayBeNonFinite())
    return nullptr;
  ComputeError error = errorOfSteps(*expression, result, ctx);
  FloatRange image = expression->bound(operand->known.range(), error);
  if (!image.isFinite() || !image.finite.isBounded())
    return nullptr;
  return std::make_unique<ExpressionStep>(
      std::move(*operand), std::move(*expression), error, image.finite);
}

/// A limit at numbers that are the same for all elements.
static std::unique_ptr<Step> makeLimit(OpResult result, Value input, Value low,
                                       Value high, TransferContext &ctx) {
  Unary unary{UnaryFunction::HardTanh, -kInfinity, kInfinity};
  for (auto [limit, number] :
       {std::pair(low, &unary.alpha), std::pair(high, &unary.beta)}) {
    if (!limit)
      continue;
    std::optional<double> known = ctx.of(limit).constant();
    if (!known || ctx.of(limit).mayBeNonFinite())
      return nullptr;
    *number = *known;
  }
  if (!(unary.alpha <= unary.beta))
    return nullptr;
  return makeFunction(result, input, unary, ctx);
}

static std::unique_ptr<Step> makeExtreme(OpResult result,
                                         TransferContext &ctx) {
  Operation *op = result.getOwner();
  if (op->getNumOperands() != 2)
    return nullptr;
  unsigned number = ctx.of(op->getOperand(0)).constant() ? 0 : 1;
  Value limit = op->getOperand(number), input = op->getOperand(1 - number);
  if (!ctx.of(limit).constant()) {
    auto operands = alignAll(op->getOperands(), result, ctx);
    return operands ? std::make_unique<ExtremeStep>(std::move(*operands),
                                                    isa<mp::MaxOp>(op) ? 1 : -1)
                    : nullptr;
  }
  return isa<mp::MaxOp>(op) ? makeLimit(result, input, limit, {}, ctx)
                            : makeLimit(result, input, {}, limit, ctx);
}

/// Mean and variance are given.
static std::unique_ptr<Step> makeBatchNorm(mp::BatchNormOp op,
                                           TransferContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  if (op.getTraining() || !shape || shape->size() < 2 || (*shape)[1] < 0)
    return nullptr;
  auto operands = alignAll(op.getInput(), op.getResult(), ctx);
  if (!operands)
    return nullptr;
  size_t count = size_t((*shape)[1]);
  auto read = [&](Value value, double none) {
    return readParameter(value, count, none, ctx);
  };
  auto mean = read(op.getMean(), 0), variance = read(op.getVariance(), 1),
       scale = read(op.getScale(), 1), bias = read(op.getBias(), 0);
  if (!mean || !variance || !scale || !bias)
    return nullptr;
  const FloatFormat &format = ctx.functionFormat(op.getInput());
  double epsilon = format.round(op.getEpsilon().convertToDouble());
  double unit = format.unitRoundoff();
  AbstractValue channels = operands->front().known.keeping({1});
  std::vector<AffineStep::Channel> affine;
  for (size_t i = 0; i < count; ++i) {
    Interval radicand = Interval::point((*variance)[i]) + epsilon;
    if (!(radicand.lo > 0))
      return nullptr;
    // As the transfer function has it (BatchNorm.cpp).
    Interval factor =
        (Interval::point((*scale)[i]) / sqrt(radicand)).widened(8 * unit);
    double middle = factor.midpoint();
    double x = channels.cell(channels.groups() == 1 ? 0 : i).absMax();
    double far = addUp(x, std::fabs((*mean)[i]));
    double terms = addUp(mulUp(factor.maxAbs(), far), std::fabs((*bias)[i]));
    double error =
        addUp(mulUp(factor.radius(), far), mulUp(8 * unit + 4 * kSlack, terms));
    affine.push_back({middle, (*bias)[i] - (*mean)[i] * middle,
                      addUp(error, 8 * format.minSubnormal)});
  }
  return std::make_unique<AffineStep>(std::move(operands->front()),
                                      std::move(affine));
}

static std::unique_ptr<Step> makeCast(mp::CastOp op, TransferContext &ctx) {
  if (op.getSaturate() || op.getRoundMode() ||
      !getFloatFormat(getElementType(op.getInput())))
    return nullptr;
  return makeSum(cast<OpResult>(op.getResult()), 1, /*exact=*/false, ctx);
}

std::unique_ptr<Step> linear::makePointwise(OpResult result,
                                            TransferContext &ctx) {
  Operation *op = result.getOwner();
  if (op->getNumOperands() == 1)
    if (std::optional<Unary> unary = getFunction(op))
      return makeFunction(result, op->getOperand(0), *unary, ctx);
  bool squares = isa<mp::MulOp>(op) &&
                 ctx.isSameValue(op->getOperand(0), op->getOperand(1));
  if (isa<mp::MulOp, mp::DivOp, mp::WhereOp>(op) && !squares)
    if (std::unique_ptr<Step> step = makeExpression(result, ctx))
      return step;
  return TypeSwitch<Operation *, std::unique_ptr<Step>>(op)
      .Case([&](mp::AddOp) { return makeSum(result, 1, false, ctx); })
      .Case([&](mp::SubOp) { return makeSum(result, -1, false, ctx); })
      .Case([&](mp::IdentityOp) { return makeSum(result, 1, true, ctx); })
      .Case([&](mp::CastOp cast) { return makeCast(cast, ctx); })
      .Case([&](mp::MulOp mul) -> std::unique_ptr<Step> {
        if (squares)
          return makeFunction(result, mul.getLhs(),
                              Unary{UnaryFunction::Square}, ctx);
        auto operands = alignAll(op->getOperands(), result, ctx);
        return operands ? std::make_unique<ProductStep>(std::move(*operands))
                        : nullptr;
      })
      .Case([&](mp::DivOp quotient) { return makeQuotient(quotient, ctx); })
      .Case([&](mp::ClipOp clip) {
        return makeLimit(result, clip.getInput(), clip.getMin(), clip.getMax(),
                         ctx);
      })
      .Case<mp::MaxOp, mp::MinOp>(
          [&](auto) { return makeExtreme(result, ctx); })
      .Case([&](mp::BatchNormOp norm) { return makeBatchNorm(norm, ctx); })
      .Default(nullptr);
}
