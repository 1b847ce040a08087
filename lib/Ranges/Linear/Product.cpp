//===- Product.cpp - Steps of products with constant weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of products are linear; the error is that of their accumulator
// (Accumulation.h), for the largest operands. Coefficients of operands are made
// from those of results by the weights themselves, without a matrix for the
// whole op.
//
//===----------------------------------------------------------------------===//

#include "Aligned.h"
#include "Kernel.h"

#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/WindowSupport.h"
#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/Rounding.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::linear;

/// Weights of more elements are not copied.
static constexpr int64_t kMostWeights = 1 << 20;

double linear::contractionError(const FloatFormat &format, double terms,
                                double sum) {
  double error = DotError(Accumulator{&format}, terms).of(sum);
  return addUp(error, mulUp(2 * kSlack, sum));
}

std::optional<std::vector<double>>
linear::readWeights(const std::optional<WeightView> &view) {
  if (!view || view->size() > kMostWeights)
    return std::nullopt;
  std::vector<double> numbers(size_t(view->size()));
  view->read(0, numbers);
  for (double number : numbers)
    if (!std::isfinite(number))
      return std::nullopt;
  return numbers;
}

std::optional<std::vector<double>> linear::readParameter(Value value,
                                                         size_t count,
                                                         double none,
                                                         TransferContext &ctx) {
  // Each has a number of its own here, even if all are alike: more than any
  // network has are not worth the memory.
  constexpr size_t kMostParameters = 1 << 16;
  if (count > kMostParameters)
    return std::nullopt;
  std::vector<double> numbers(count, none);
  if (!value)
    return numbers;
  const AbstractValue &known = ctx.of(value);
  if (known.mayBeNonFinite() || known.rank() != 1 ||
      (known.groups() != 1 && known.groups() != count))
    return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    const Cell &cell = known.cell(known.groups() == 1 ? 0 : i);
    if (cell.lo != cell.hi)
      return std::nullopt;
    numbers[i] = cell.lo;
  }
  return numbers;
}

/// The largest magnitude for each index of an axis, or one for all.
static std::vector<double> magnitudesAlong(const AbstractValue &value,
                                           int64_t axis, size_t count) {
  std::vector<double> most(count, value.hull().absMax());
  if (axis >= int64_t(value.rank()))
    return most;
  AbstractValue kept = value.keeping({axis});
  if (kept.groups() == count)
    for (size_t i = 0; i < count; ++i)
      most[i] = kept.cell(i).absMax();
  return most;
}

namespace {
/// The parts that products and convolutions share: the bias, and an error a
/// channel.
class WeightStep : public Step {
public:
  bool isContraction() const override { return true; }
  size_t held() const override { return weights.size(); }

protected:
  bool setBias(Value value, Value result, double beta, TransferContext &ctx) {
    if (!value)
      return true;
    bias = Aligned::get(value, result, ctx);
    factor = beta;
    return bias && !bias->known.mayBeNonFinite();
  }
  double biasMost() const {
    return bias ? mulUp(std::fabs(factor), bias->known.hull().absMax()) : 0;
  }

  /// The biases of the results' channels, on `axis` of the result.
  std::optional<Aligned> bias;
  double factor = 1;
  std::vector<double> weights, losses;
};

class MatrixStep : public WeightStep {
public:
  static std::unique_ptr<Step> make(OpResult result, Value input, Value matrix,
                                    bool transposed, double alpha, Value bias,
                                    double beta, TransferContext &ctx);

  void trace(const Box &box, Trace &trace) const override {
    trace.read(input, inputBox(box));
    if (bias)
      bias->trace(box, trace);
    trace.note(box.first.back());
  }
  double cost(const Box &box) const override {
    return costOf(box, double(terms));
  }

  void pull(const Part &part, Forms &forms) const override {
    Part &into = forms.of(input);
    size_t count = size_t(part.box.size.back());
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      const double *from = part.numbers.data() + size_t(at) * forms.rows;
      size_t column = size_t(index.back());
      // A row of results at once.
      if (index.back() == part.box.first.back()) {
        Index row(index);
        row.back() = 0;
        WeightedSum{from,
                    count,
                    forms.rows,
                    into.numbers.data() +
                        size_t(into.box.find(row)) * forms.rows,
                    terms,
                    forms.rows,
                    weights.data() + (transposed ? column * terms : column),
                    transposed ? terms : 1,
                    transposed ? 1 : columns,
                    forms.rows}
            .add();
      }
      if (bias)
        bias->add(from, index, factor, forms);
      forms.lose(from, losses[column]);
    });
  }

private:
  Box inputBox(const Box &box) const {
    Box read = box;
    read.first.back() = 0;
    read.size.back() = int64_t(terms);
    return read;
  }

  Value input;
  bool transposed = false;
  size_t terms = 0, columns = 0;
};
} // namespace

std::unique_ptr<Step> MatrixStep::make(OpResult result, Value input,
                                       Value matrix, bool transposed,
                                       double alpha, Value bias, double beta,
                                       TransferContext &ctx) {
  MaybeShape in = getShape(input), out = getShape(result);
  const FloatFormat *format = getFloatFormat(getElementType(input));
  bool swapped = false;
  std::optional<WeightView> view = ctx.matrixWeights(matrix, swapped);
  if (!in || !out || in->empty() || in->size() != out->size() || !format ||
      !view || view->shape.size() != 2 || ctx.of(input).mayBeNonFinite())
    return nullptr;
  auto step = std::make_unique<MatrixStep>();
  step->input = input;
  step->transposed = transposed != swapped;
  step->terms = size_t(view->shape[step->transposed ? 1 : 0]);
  step->columns = size_t(view->shape[step->transposed ? 0 : 1]);
  if (int64_t(step->terms) != in->back() ||
      int64_t(step->columns) != out->back() ||
      !step->setBias(bias, result, beta, ctx))
    return nullptr;
  std::optional<std::vector<double>> numbers = readWeights(view);
  if (!numbers)
    return nullptr;
  step->weights = std::move(*numbers);
  std::vector<double> most =
      magnitudesAlong(ctx.of(input), int64_t(in->size()) - 1, step->terms);
  const FloatFormat &sums = ctx.productFormat(input);
  for (double &weight : step->weights)
    weight *= alpha;
  for (size_t column = 0; column < step->columns; ++column) {
    double sum = step->biasMost();
    for (size_t k = 0; k < step->terms; ++k) {
      double weight =
          step->weights[step->transposed ? column * step->terms + k
                                         : k * step->columns + column];
      sum = addUp(sum, mulUp(std::fabs(weight), most[k]));
    }
    // alpha, beta and the bias round as well.
    step->losses.push_back(
        contractionError(sums, double(step->terms + 4), sum));
  }
  return step;
}

namespace {
/// A convolution or, with `transposed`, the transpose of one: there an element
/// of the operand reaches the positions that the window of a convolution would
/// have read.
class ConvolutionStep : public WeightStep {
public:
  template <typename OpT>
  static std::unique_ptr<Step> make(OpT op, TransferContext &ctx);

  void trace(const Box &box, Trace &trace) const override {
    trace.read(input, inputBox(box, &trace));
    if (bias && !bias->fixed)
      trace.read(bias->value, biasBox(box));
    trace.note(box.first[1]);
  }
  double cost(const Box &box) const override {
    return costOf(box, double(perGroup) * double(taps));
  }
  int64_t period() const override;
  void pull(const Part &part, Forms &forms) const override;

private:
  struct Axis {
    int64_t kernel, stride, dilation, pad, size;
    bool transposed;

    /// The elements of the operand, some of them in the padding, that
    /// `count` positions from `position` on read.
    std::pair<int64_t, int64_t> ends(int64_t position, int64_t count) const {
      int64_t reach = (kernel - 1) * dilation;
      if (!transposed)
        return {position * stride - pad,
                (position + count - 1) * stride - pad + reach};
      return {llvm::divideCeilSigned(position + pad - reach, stride),
              llvm::divideFloorSigned(position + count - 1 + pad, stride)};
    }
    /// The element that a tap reads; -1 if there is none.
    int64_t of(int64_t position, int64_t tap) const {
      int64_t at = transposed ? position + pad - tap * dilation
                              : position * stride - pad + tap * dilation;
      if (transposed)
        at = at % stride == 0 ? at / stride : -1;
      return at < size ? at : -1;
    }
  };
  Box inputBox(const Box &box, Trace *trace) const;
  Box biasBox(const Box &box) const { return {{box.first[1]}, {box.size[1]}}; }
  bool setAxes(const Window &window, ArrayRef<int64_t> in,
               ArrayRef<int64_t> out);
  size_t weightAt(int64_t output, int64_t term, int64_t tap) const {
    int64_t group = output / outputsPerGroup;
    int64_t row = transposed ? group * perGroup + term : output;
    int64_t column = transposed ? output % outputsPerGroup : term;
    int64_t columns = transposed ? outputsPerGroup : perGroup;
    return size_t((row * columns + column) * taps + tap);
  }

  bool setBias(Value value, TransferContext &ctx) {
    if (!value)
      return true;
    const AbstractValue &known = ctx.of(value);
    bias = Aligned{value, known};
    bias->cells = CellMap(known, 1);
    bias->repeated.push_back(false);
    bias->fixed = bias->findFixed();
    return !known.mayBeNonFinite() && known.rank() == 1;
  }

  Value input;
  SmallVector<Axis, 3> axes;
  int64_t outputsPerGroup = 1, perGroup = 1, taps = 1;
  bool transposed = false;
};
} // namespace

int64_t ConvolutionStep::period() const {
  int64_t period = 1;
  if (transposed)
    for (const Axis &axis : axes)
      period = std::lcm(period, axis.stride);
  return period;
}

Box ConvolutionStep::inputBox(const Box &box, Trace *trace) const {
  Box read = box;
  int64_t from = box.first[1] / outputsPerGroup;
  int64_t to = (box.first[1] + box.size[1] - 1) / outputsPerGroup;
  read.first[1] = from * perGroup;
  read.size[1] = (to - from + 1) * perGroup;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    auto [first, last] = axis.ends(box.first[2 + i], box.size[2 + i]);
    // A position that reads the padding alone, or nothing, has some element
    // without coefficient.
    int64_t inFirst = std::clamp<int64_t>(first, 0, axis.size - 1);
    int64_t inLast = std::clamp<int64_t>(last, inFirst, axis.size - 1);
    read.first[2 + i] = inFirst;
    read.size[2 + i] = inLast - inFirst + 1;
    if (trace) {
      trace->note(inFirst - first);
      trace->note(last - inLast);
      if (transposed)
        trace->note((box.first[2 + i] + axis.pad) % axis.stride);
    }
  }
  return read;
}

void ConvolutionStep::pull(const Part &part, Forms &forms) const {
  Part &into = forms.of(input);
  auto channelStride = [&](const Box &box) {
    size_t positions = 1;
    for (int64_t size : ArrayRef(box.size).drop_front(2))
      positions *= size_t(size);
    return positions * forms.rows;
  };
  size_t fromStride = channelStride(part.box),
         toStride = channelStride(into.box);
  Box window = {Index(axes.size(), 0), {}};
  for (const Axis &axis : axes)
    window.size.push_back(axis.kernel);
  part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
    const double *from = part.numbers.data() + size_t(at) * forms.rows;
    int64_t output = index[1];
    if (bias)
      bias->add(from, output, 1, forms);
    forms.lose(from, losses[size_t(output)]);
    // All outputs of a group at once.
    int64_t group = output / outputsPerGroup;
    if (output != part.box.first[1] && output % outputsPerGroup != 0)
      return;
    int64_t end = std::min((group + 1) * outputsPerGroup,
                           part.box.first[1] + part.box.size[1]);
    Index own(index);
    own[1] = group * perGroup;
    window.forEach([&](ArrayRef<int64_t> tap, int64_t tapAt) {
      for (auto [i, axis] : llvm::enumerate(axes)) {
        own[2 + i] = axis.of(index[2 + i], tap[i]);
        if (own[2 + i] < 0)
          return;
      }
      WeightedSum{from,
                  size_t(end - output),
                  fromStride,
                  into.numbers.data() + size_t(into.box.find(own)) * forms.rows,
                  size_t(perGroup),
                  toStride,
                  weights.data() + weightAt(output, 0, tapAt),
                  size_t(taps * (transposed ? 1 : perGroup)),
                  size_t(taps * (transposed ? outputsPerGroup : 1)),
                  forms.rows}
          .add();
    });
  });
}

/// False where sizes or padding are not known.
bool ConvolutionStep::setAxes(const Window &window, ArrayRef<int64_t> in,
                              ArrayRef<int64_t> out) {
  for (auto [i, dim] : llvm::enumerate(window.dims)) {
    int64_t size = in[2 + i];
    if (size <= 0 || out[2 + i] <= 0)
      return false;
    constexpr int64_t kMostStride = 64; // longer periods are not followed
    auto pads = window.pads(i, size);
    if (!pads || (transposed && dim.stride > kMostStride))
      return false;
    axes.push_back(
        {dim.kernel, dim.stride, dim.dilation, pads->first, size, transposed});
    taps *= dim.kernel;
  }
  return true;
}

template <typename OpT>
std::unique_ptr<Step> ConvolutionStep::make(OpT op, TransferContext &ctx) {
  constexpr bool isTransposed = std::is_same_v<OpT, mp::ConvTransposeOp>;
  MaybeShape in = getShape(op.getInput()), out = getShape(op.getResult());
  const FloatFormat *format = getFloatFormat(getElementType(op.getInput()));
  std::optional<WeightView> view = ctx.weights(op.getFilter());
  if (!in || !out || !format || !view || in->size() < 3 ||
      view->shape.size() != in->size() || out->size() != in->size() ||
      ctx.of(op.getInput()).mayBeNonFinite())
    return nullptr;
  // Where the size of the result is given, runtimes differ in where they pad.
  if constexpr (isTransposed)
    if (!op.getOutputShape().empty() || op.getAutoPad().starts_with("SAME"))
      return nullptr;
  auto step = std::make_unique<ConvolutionStep>();
  step->input = op.getInput();
  step->transposed = isTransposed;
  int64_t groups = op.getGroup(), outputs = (*out)[1];
  int64_t inputs = (*in)[1];
  if (groups <= 0 || outputs <= 0 || outputs % groups || inputs % groups)
    return nullptr;
  step->outputsPerGroup = outputs / groups;
  step->perGroup = inputs / groups;
  if (isTransposed
          ? view->shape[0] != inputs || view->shape[1] != step->outputsPerGroup
          : view->shape[0] != outputs || view->shape[1] != step->perGroup)
    return nullptr;
  Window window =
      Window::get(ArrayRef(view->shape).drop_front(2), op.getStrides(),
                  op.getDilations(), op.getPads(), op.getAutoPad());
  if (!step->setAxes(window, *in, *out) || !step->setBias(op.getBias(), ctx))
    return nullptr;
  std::optional<std::vector<double>> numbers = readWeights(view);
  if (!numbers)
    return nullptr;
  step->weights = std::move(*numbers);
  std::vector<double> most =
      magnitudesAlong(ctx.of(op.getInput()), 1, size_t(inputs));
  const FloatFormat &sums = ctx.productFormat(op.getInput());
  for (int64_t output = 0; output < outputs; ++output) {
    double sum = step->biasMost();
    int64_t first = output / step->outputsPerGroup * step->perGroup;
    for (int64_t term = 0; term < step->perGroup; ++term) {
      const double *own =
          step->weights.data() + step->weightAt(output, term, 0);
      for (int64_t tap = 0; tap < step->taps; ++tap)
        sum =
            addUp(sum, mulUp(std::fabs(own[tap]), most[size_t(first + term)]));
    }
    step->losses.push_back(
        contractionError(sums, double(step->perGroup * step->taps + 4), sum));
  }
  return step;
}

std::unique_ptr<Step> linear::makeProduct(OpResult result,
                                          TransferContext &ctx) {
  return TypeSwitch<Operation *, std::unique_ptr<Step>>(result.getOwner())
      .Case([&](mp::MatMulOp op) -> std::unique_ptr<Step> {
        if (op.getTransA())
          return nullptr;
        return MatrixStep::make(result, op.getLhs(), op.getRhs(),
                                op.getTransB(), op.getAlpha().convertToDouble(),
                                {}, 0, ctx);
      })
      .Case([&](mp::GemmOp op) -> std::unique_ptr<Step> {
        if (op.getTransA())
          return nullptr;
        return MatrixStep::make(result, op.getLhs(), op.getRhs(),
                                op.getTransB(), op.getAlpha().convertToDouble(),
                                op.getBias(), op.getBeta().convertToDouble(),
                                ctx);
      })
      .Case([&](mp::LinearOp op) {
        return MatrixStep::make(result, op.getInput(), op.getWeight(), true, 1,
                                op.getBias(), 1, ctx);
      })
      .Case<mp::ConvOp, mp::ConvTransposeOp>(
          [&](auto op) { return ConvolutionStep::make(op, ctx); })
      .Default(nullptr);
}
