//===- Rows.cpp - Steps of softmax and of norms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element of a softmax is e^-t with t = ln(sum_j e^(x_j - x_i)), which is
// convex: it lies above its tangent plane at the middle of the box, and below
// the tangent of the logarithm of the chords of the exponentials. e^-t lies
// between a tangent and a chord of its own (Wei et al., "Convex Bounds on the
// Softmax Function with Applications to Robustness Verification", 2023).
//
// A norm is (x_i - mean) r, where the scale r of the row has an interval: with
// its middle b it is b (x_i - mean), off by the radius of r times the largest
// |x_i - mean|. Where that is no nearer than what a norm holds anyway
// (Standardize.h), the element counts as any number there.
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/SoftmaxRows.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::linear;

namespace {
/// Results each of which depends on a row of the operand: along each axis a
/// block of elements.
class RowStep : public Step {
public:
  void trace(const Box &box, Trace &trace) const override {
    Box read = box;
    for (auto [axis, block] : llvm::enumerate(blocks)) {
      read.first[axis] = box.first[axis] / block * block;
      int64_t last = (box.first[axis] + box.size[axis] - 1) / block;
      read.size[axis] = (last + 1) * block - read.first[axis];
      trace.note(box.first[axis] - read.first[axis]);
    }
    trace.read(input, read);
  }
  double cost(const Box &box) const override {
    return costOf(box, 16 * double(count));
  }

protected:
  RowStep(Value input, Shape blocks, TransferContext &ctx)
      : input(input), blocks(std::move(blocks)), known(ctx.of(input)),
        cells(known, this->blocks.size()) {
    for (int64_t block : this->blocks)
      count *= block;
  }

  Box rowOf(ArrayRef<int64_t> index) const {
    Box row = {Index(index), Index(ArrayRef(blocks))};
    for (auto [first, block] : llvm::zip_equal(row.first, blocks))
      first = first / block * block;
    return row;
  }
  Interval boundOf(ArrayRef<int64_t> index) const {
    return cells::bound(known.cell(cells(index)));
  }

  Value input;
  Shape blocks;
  int64_t count = 1;
  AbstractValue known;
  CellMap cells;
};

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// factor_j (x_j - x_i), over the row, plus a number.
struct Plane {
  std::vector<double> factors;
  double offset = 0;

  /// factor times the plane, plus a number.
  Plane scaled(double factor, double number) const {
    Plane result{factors, offset * factor + number};
    for (double &each : result.factors)
      each *= factor;
    return result;
  }
};

struct SoftmaxElement {
  Plane above, below;
  Interval values;
};

class SoftmaxStep : public RowStep {
public:
  SoftmaxStep(mp::SoftmaxOp op, Shape blocks, TransferContext &ctx);

  void pull(const Part &part, Forms &forms) const override;
  /// True if the error of the kernel is known.
  bool isKnown() const { return relative < 0.5; }

private:
  /// The differences x_j - x_i, which are 0 for i itself.
  std::vector<Interval> differences(ArrayRef<int64_t> index,
                                    const Box &row) const;

  double relative, absolute;
};
} // namespace

SoftmaxStep::SoftmaxStep(mp::SoftmaxOp op, Shape blocks, TransferContext &ctx)
    : RowStep(op.getInput(), std::move(blocks), ctx) {
  const FloatFormat &functions = ctx.functionFormat(input);
  double width = 2 * known.hull().absMax();
  relative = 2 * cells::softmaxError(double(count), width, functions,
                                     ctx.sumFormat(input));
  absolute = cells::softmaxFlushLimit(functions);
}

std::vector<Interval> SoftmaxStep::differences(ArrayRef<int64_t> index,
                                               const Box &row) const {
  Interval own = boundOf(index);
  int64_t self = row.find(index);
  std::vector<Interval> found;
  row.forEach([&](ArrayRef<int64_t> other, int64_t at) {
    found.push_back(at == self ? Interval::point(0) : boundOf(other) - own);
  });
  return found;
}

/// Planes below and above t = ln(sum e^u).
static std::pair<Plane, Plane> planesOf(ArrayRef<Interval> differences) {
  Plane below, above;
  double middle = 0, chords = 0, offset = 0;
  for (const Interval &u : differences) {
    middle += std::exp(u.midpoint());
    double slope = u.isPoint() ? std::exp(u.lo)
                               : (std::exp(u.hi) - std::exp(u.lo)) / u.width();
    above.factors.push_back(slope);
    offset += std::exp(u.lo) - slope * u.lo;
    chords += std::exp(u.lo) + slope * (u.midpoint() - u.lo);
  }
  below.offset = std::log(middle);
  for (const Interval &u : differences) {
    below.factors.push_back(std::exp(u.midpoint()) / middle);
    below.offset -= below.factors.back() * u.midpoint();
  }
  // ln S <= ln s + (S - s) / s.
  for (double &factor : above.factors)
    factor /= chords;
  above.offset = std::log(chords) - 1 + offset / chords;
  return {std::move(below), std::move(above)};
}

/// The value of a plane where the differences are at their middles.
static double atMiddle(const Plane &plane, ArrayRef<Interval> differences) {
  double value = plane.offset;
  for (auto [factor, u] : llvm::zip_equal(plane.factors, differences))
    value += factor * u.midpoint();
  return value;
}

/// A softmax's element: planes above and below it, and its values.
static SoftmaxElement relax(ArrayRef<Interval> differences) {
  double least = 0, most = 0;
  for (const Interval &u : differences) {
    least += std::exp(u.lo);
    most += std::exp(u.hi);
  }
  double low = std::log(least), high = std::log(most);
  auto [below, above] = planesOf(differences);
  // p <= 1 / least + chord (t - low), which falls with t.
  double chord = high > low ? (1 / most - 1 / least) / (high - low) : -1;
  // p >= e^-touch (1 + touch - t).
  double touch = std::clamp(atMiddle(above, differences), low, high);
  double slope = -std::exp(-touch);
  return {below.scaled(chord, 1 / least - chord * low),
          above.scaled(slope, -slope * (1 + touch)),
          {1 / most * (1 - kSlack), 1 / least * (1 + kSlack)}};
}

void SoftmaxStep::pull(const Part &part, Forms &forms) const {
  Part &into = forms.of(input);
  auto at = [&](ArrayRef<int64_t> index) {
    return into.numbers.data() + size_t(into.box.find(index)) * forms.rows;
  };
  part.box.forEach([&](ArrayRef<int64_t> index, int64_t position) {
    const double *from = part.numbers.data() + size_t(position) * forms.rows;
    Box row = rowOf(index);
    std::vector<Interval> u = differences(index, row);
    SoftmaxElement element = relax(u);
    const Interval &values = element.values;
    forms.lose(from, relative * values.hi + absolute);
    if (!(2 * (atMiddle(element.above, u) - atMiddle(element.below, u)) <
          values.hi - values.lo)) {
      forms.addNumber(from, values.midpoint());
      forms.lose(from, values.radius());
      return;
    }
    // Rounding of the planes' sums: their factors are at most twice the largest
    // value.
    double widths = 1;
    for (const Interval &x : u)
      widths += x.maxAbs();
    forms.lose(from, 16 * kSlack * widths * values.hi);
    double *self = at(index);
    for (size_t r = 0; r < forms.rows; ++r) {
      const Plane &plane = from[r] > 0 ? element.above : element.below;
      forms.constant[r] += from[r] * plane.offset;
    }
    // x_i has the negative of the others' sum.
    row.forEach([&](ArrayRef<int64_t> other, int64_t j) {
      double *to = at(other);
      double up = element.above.factors[size_t(j)],
             down = element.below.factors[size_t(j)];
      for (size_t r = 0; r < forms.rows; ++r) {
        double number = from[r] * (from[r] > 0 ? up : down);
        to[r] += number;
        self[r] -= number;
      }
    });
  });
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

namespace {
struct Norm {
  Value scale, bias;
  /// The axis of the result along which these two lie.
  size_t axis;
  bool centred;
  double epsilon;
  /// Where statistics are computed.
  const FloatFormat *format;
};

class NormStep : public RowStep {
public:
  static std::unique_ptr<Step> make(OpResult result, const Norm &norm,
                                    Shape blocks, TransferContext &ctx);
  NormStep(const Norm &norm, Value input, Shape blocks, TransferContext &ctx)
      : RowStep(input, std::move(blocks), ctx), norm(norm) {}

  void trace(const Box &box, Trace &trace) const override {
    RowStep::trace(box, trace);
    trace.note(box.first[norm.axis]);
  }
  void pull(const Part &part, Forms &forms) const override;

private:
  struct Row {
    Interval sum, inverse;
    double meanError = 0;
    /// The coefficients of elements whose mean is subtracted.
    std::vector<double> total;
  };
  Row statistics(const Box &row) const;
  /// x_i - mean, in real numbers.
  Interval deviation(const Interval &x, const Interval &sum) const;

  Norm norm;
  std::vector<double> scales, biases;
};
} // namespace

Interval NormStep::deviation(const Interval &x, const Interval &sum) const {
  if (!norm.centred)
    return x;
  double n = double(count);
  // The others' sum: the ends of the sum are sums of ends.
  Interval others = {subDown(sum.lo, x.lo), subUp(sum.hi, x.hi)};
  Interval part = x * ((n - 1) / n) - others * (1 / n);
  return part.widened(0, kSlack * (x.maxAbs() + sum.maxAbs() / n));
}

NormStep::Row NormStep::statistics(const Box &row) const {
  Row found;
  Interval all = Interval::empty();
  row.forEach([&](ArrayRef<int64_t> index, int64_t) {
    found.sum = found.sum + boundOf(index);
    all = hull(all, boundOf(index));
  });
  double n = double(count);
  double unit = norm.format->unitRoundoff();
  double relative = relativeSumError(*norm.format, n, 4);
  if (norm.centred)
    found.meanError =
        (relative + 4 * unit) * all.maxAbs() + norm.format->minSubnormal;
  Interval squares = Interval::point(0);
  row.forEach([&](ArrayRef<int64_t> index, int64_t) {
    Interval x = deviation(boundOf(index), found.sum);
    squares = squares + square(x.widened(2 * unit, found.meanError));
  });
  Interval variance = squares.widened(4 * relative + kSlack) * (1 / n);
  // At most the square of half the width, which the mean's error adds to.
  if (norm.centred) {
    double half = addUp(all.width() / 2, found.meanError);
    variance.hi = std::min(
        variance.hi, mulUp(mulUp(half, half), 1 + 8 * relative + 8 * unit));
  }
  double epsilon = norm.format->round(norm.epsilon);
  Interval radicand =
      (variance.widened(0, 2 * norm.format->minSubnormal) + epsilon)
          .widened(4 * unit);
  radicand.lo = std::max(radicand.lo, epsilon * (1 - 4 * unit) -
                                          2 * norm.format->minSubnormal);
  found.inverse = reciprocal(sqrt(radicand)).widened(8 * unit);
  return found;
}

void NormStep::pull(const Part &part, Forms &forms) const {
  Part &into = forms.of(input);
  auto at = [&](ArrayRef<int64_t> index) {
    return into.numbers.data() + size_t(into.box.find(index)) * forms.rows;
  };
  const FloatFormat &own = *getFloatFormat(getElementType(input));
  double unit = norm.format->unitRoundoff(), stored = own.unitRoundoff();
  double smallest = std::max(norm.format->minSubnormal, own.minSubnormal);
  // |y_i| <= sqrt(n), whatever the row is (Standardize.h).
  double closed =
      std::sqrt(double(count)) *
      (1 + relativeSumError(*norm.format, double(count), 4) + 8 * unit);
  std::map<int64_t, Row> rows;
  Box all = Box::whole(*getShape(input));
  part.box.forEach([&](ArrayRef<int64_t> index, int64_t position) {
    const double *from = part.numbers.data() + size_t(position) * forms.rows;
    size_t channel = size_t(index[norm.axis]);
    double scale = scales[channel], bias = biases[channel];
    Box box = rowOf(index);
    auto [entry, isNew] = rows.try_emplace(all.find(box.first));
    Row &row = entry->second;
    if (isNew) {
      row = statistics(box);
      row.total.resize(forms.rows);
    }
    Interval x = deviation(boundOf(index), row.sum);
    Interval y = intersect(x.widened(2 * unit, row.meanError) * row.inverse,
                           Interval::symmetric(closed));
    double most = mulUp(std::fabs(scale), y.maxAbs());
    forms.addNumber(from, bias);
    // Gain and bias may be applied to what was stored.
    forms.lose(from, (16 * unit + 8 * stored) * (most + std::fabs(bias)) +
                         8 * smallest);
    double radius = mulUp(row.inverse.radius(), x.maxAbs()) +
                    row.inverse.hi * (row.meanError + 2 * unit * x.maxAbs());
    if (!(2 * radius < y.radius())) {
      forms.addNumber(from, y.midpoint() * scale);
      forms.lose(from, y.radius() * std::fabs(scale) * (1 + kSlack));
      return;
    }
    double factor = row.inverse.midpoint() * scale;
    forms.add(from, at(index), factor);
    if (norm.centred)
      forms.add(from, row.total.data(), factor);
    forms.lose(from, radius * std::fabs(scale) + 4 * kSlack * most);
  });
  if (!norm.centred)
    return;
  for (const auto &[first, row] : rows) {
    Index start(blocks.size());
    int64_t rest = first;
    for (size_t axis = blocks.size(); axis-- > 0;) {
      start[axis] = rest % all.size[axis];
      rest /= all.size[axis];
    }
    rowOf(start).forEach([&](ArrayRef<int64_t> index, int64_t) {
      forms.add(row.total.data(), at(index), -1 / double(count));
    });
  }
}

std::unique_ptr<Step> NormStep::make(OpResult result, const Norm &norm,
                                     Shape blocks, TransferContext &ctx) {
  Value input = result.getOwner()->getOperand(0);
  size_t size = size_t((*getShape(input))[norm.axis]);
  auto scales = readParameter(norm.scale, size, 1, ctx);
  auto biases = readParameter(norm.bias, size, 0, ctx);
  auto step = std::make_unique<NormStep>(norm, input, std::move(blocks), ctx);
  // Neither squares nor sums overflow, and the radicand is never 0.
  double n = double(step->count), most = step->known.hull().absMax();
  double epsilon = norm.format->round(norm.epsilon);
  if (!scales || !biases || !(relativeSumError(*norm.format, n, 4) < 0.1) ||
      !(epsilon > 8 * norm.format->minSubnormal) ||
      !(4 * n * most * std::max(most, 1.0) < norm.format->overflowFrom))
    return nullptr;
  step->scales = std::move(*scales);
  step->biases = std::move(*biases);
  return step;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Blocks of one element, but from `first` on those of whole axes.
static Shape wholeFrom(const Shape &shape, int64_t first) {
  Shape blocks(shape.size(), 1);
  for (size_t axis = size_t(first); axis < shape.size(); ++axis)
    blocks[axis] = shape[axis];
  return blocks;
}

static std::unique_ptr<Step> makeSoftmax(mp::SoftmaxOp op, const Shape &shape,
                                         TransferContext &ctx) {
  std::optional<int64_t> axis =
      normalizeAxis(op.getAxis(), int64_t(shape.size()));
  if (!axis || op.getFlatten())
    return nullptr;
  Shape blocks(shape.size(), 1);
  blocks[*axis] = shape[*axis];
  auto step = std::make_unique<SoftmaxStep>(op, std::move(blocks), ctx);
  return step->isKnown() ? std::move(step) : nullptr;
}

template <typename OpT>
static std::unique_ptr<Step> makeRowNorm(OpT op, OpResult result, Value bias,
                                         bool centred, const Shape &shape,
                                         TransferContext &ctx) {
  int64_t rank = int64_t(shape.size());
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), rank);
  if (axis != rank - 1)
    return nullptr;
  return NormStep::make(
      result,
      {op.getScale(), bias, size_t(rank - 1), centred,
       op.getEpsilon().convertToDouble(),
       &ctx.statisticsFormat(op.getInput(), op.getStashType())},
      wholeFrom(shape, rank - 1), ctx);
}

static std::unique_ptr<Step> makeGroupNorm(mp::GroupNormOp op, OpResult result,
                                           const Shape &shape,
                                           TransferContext &ctx) {
  int64_t groups = op.getNumGroups();
  if (op.getChannelsLast() || groups <= 0 || shape[1] % groups)
    return nullptr;
  Shape blocks = wholeFrom(shape, 2);
  blocks[1] = shape[1] / groups;
  return NormStep::make(
      result,
      {op.getScale(), op.getBias(), 1, true, op.getEpsilon().convertToDouble(),
       &ctx.statisticsFormat(op.getInput(), op.getStashType())},
      std::move(blocks), ctx);
}

std::unique_ptr<Step> linear::makeRows(OpResult result, TransferContext &ctx) {
  Operation *op = result.getOwner();
  if (op->getNumOperands() == 0 || result.getResultNumber() != 0)
    return nullptr;
  Value input = op->getOperand(0);
  MaybeShape shape = getShape(input);
  if (!shape || shape->size() < 2 || ctx.of(input).rank() != shape->size() ||
      getElementType(input) != getElementType(result) ||
      llvm::any_of(*shape, [](int64_t dim) { return dim <= 0; }))
    return nullptr;
  return TypeSwitch<Operation *, std::unique_ptr<Step>>(op)
      .Case([&](mp::SoftmaxOp op) { return makeSoftmax(op, *shape, ctx); })
      .Case([&](mp::LayerNormOp op) {
        return makeRowNorm(op, result, op.getBias(), true, *shape, ctx);
      })
      .Case([&](mp::RMSNormOp op) {
        return makeRowNorm(op, result, {}, false, *shape, ctx);
      })
      .Case([&](mp::InstanceNormOp op) {
        return NormStep::make(result,
                              {op.getScale(), op.getBias(), 1, true,
                               op.getEpsilon().convertToDouble(),
                               &ctx.sumFormat(input)},
                              wholeFrom(*shape, 2), ctx);
      })
      .Case([&](mp::GroupNormOp op) {
        return makeGroupNorm(op, result, *shape, ctx);
      })
      .Default(nullptr);
}
