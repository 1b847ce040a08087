//===- Product.cpp - Samples of sums of products
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Samples.h"

#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/WindowSupport.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::samples;

namespace {
/// Matrices of an operand: rows, columns and the way from one to the next.
struct Matrices {
  Matrices(const Array &array, bool transposed) : array(array) {
    size_t rank = array.shape.size();
    rows = array.shape[rank - 2];
    columns = array.shape[rank - 1];
    rowStride = columns;
    columnStride = 1;
    if (transposed) {
      std::swap(rows, columns);
      std::swap(rowStride, columnStride);
    }
  }

  /// The matrix for an index of the result's leading axes.
  const float *find(int64_t evaluation, ArrayRef<int64_t> index) const {
    int64_t at = 0;
    size_t leading = array.shape.size() - 2;
    ArrayRef<int64_t> own = index.take_back(leading);
    for (size_t axis = 0; axis < leading; ++axis)
      if (array.shape[axis] != 1)
        at += own[axis] * array.stride(axis);
    return array.evaluation(evaluation).data() + at;
  }

  const Array &array;
  int64_t rows, columns, rowStride, columnStride;
};
} // namespace

/// The leading axes of both under broadcasting; nothing where they do not fit.
static std::optional<Shape> joinLeading(const Array &lhs, const Array &rhs) {
  auto dims = broadcastShapes(Shape(ArrayRef(lhs.shape).drop_back(2)),
                              Shape(ArrayRef(rhs.shape).drop_back(2)));
  if (failed(dims))
    return std::nullopt;
  return *dims;
}

/// factor a b, of matrices along the last two axes.
static Result multiply(const Array *lhs, bool swapLhs, const Array *rhs,
                       bool swapRhs, double factor, Samples &samples) {
  if (!lhs || !rhs || lhs->shape.size() < 2 || rhs->shape.size() < 2)
    return std::nullopt;
  Matrices a(*lhs, swapLhs), b(*rhs, swapRhs);
  std::optional<Shape> shape = joinLeading(*lhs, *rhs);
  if (!shape || a.columns != b.rows)
    return std::nullopt;
  Shape leading = *shape;
  shape->append({a.rows, b.columns});
  int64_t count = std::max(lhs->count, rhs->count);
  double size = double(count) * double(a.columns);
  for (int64_t dim : *shape)
    size *= double(dim);
  if (!samples.spend(size))
    return std::nullopt;
  Array result = Array::zeros(count, std::move(*shape));
  std::vector<double> row(size_t(b.columns));
  SmallVector<int64_t, 4> index(leading.size(), 0);
  float *out = result.numbers.data(), *end = out + result.numbers.size();
  for (int64_t evaluation = 0; out != end;) {
    const float *left = a.find(evaluation, index),
                *right = b.find(evaluation, index);
    for (int64_t i = 0; i < a.rows; ++i, out += b.columns) {
      llvm::fill(row, 0);
      for (int64_t k = 0; k < a.columns; ++k) {
        double x = factor * left[i * a.rowStride + k * a.columnStride];
        for (int64_t j = 0; j < b.columns; ++j)
          row[size_t(j)] += x * right[k * b.rowStride + j * b.columnStride];
      }
      llvm::copy(row, out);
    }
    size_t axis = index.size();
    while (axis-- > 0) {
      if (++index[axis] < leading[axis])
        break;
      index[axis] = 0;
    }
    evaluation += axis == size_t(-1);
  }
  return result;
}

/// Adds `factor` times a bias that is aligned to the right.
static bool addBias(Result &result, Value bias, double factor,
                    Samples &samples) {
  if (!bias || !result)
    return true;
  const Array *added = samples.find(bias);
  if (!added || added->count != 1 ||
      added->shape.size() > result->shape.size() || added->size() == 0)
    return false;
  // One number, or a row as long as the result's.
  if (added->size() != 1 && added->size() != result->shape.back())
    return false;
  for (auto [at, number] : llvm::enumerate(result->numbers))
    number += float(factor) * added->numbers[at % added->numbers.size()];
  return true;
}

namespace {
/// A window along one axis.
struct Tap {
  int64_t kernel, stride, dilation, pad, size, count;
};

/// A convolution of one evaluation and image.
struct Convolution {
  SmallVector<Tap, 3> axes;
  int64_t inputs, outputs, perGroup, taps;

  void add(const float *image, const float *filter, double *out) const;

private:
  void addTap(const float *plane, int64_t tap, double weight,
              double *out) const;
};
} // namespace

/// Adds `weight` times what one tap of the window meets at each position.
void Convolution::addTap(const float *plane, int64_t tap, double weight,
                         double *out) const {
  size_t rank = axes.size();
  SmallVector<int64_t, 3> offset(rank), index(rank, 0);
  for (size_t axis = rank; axis-- > 0; tap /= axes[axis].kernel)
    offset[axis] =
        tap % axes[axis].kernel * axes[axis].dilation - axes[axis].pad;
  const Tap &last = axes.back();
  for (;;) {
    int64_t at = 0;
    bool inside = true;
    for (size_t axis = 0; axis + 1 < rank; ++axis) {
      int64_t place = index[axis] * axes[axis].stride + offset[axis];
      inside &= place >= 0 && place < axes[axis].size;
      at = at * axes[axis].size + place;
    }
    for (int64_t i = 0; inside && i < last.count; ++i)
      if (int64_t place = i * last.stride + offset.back();
          place >= 0 && place < last.size)
        out[i] += weight * plane[at * last.size + place];
    out += last.count;
    size_t axis = rank - 1;
    while (axis-- > 0) {
      if (++index[axis] < axes[axis].count)
        break;
      index[axis] = 0;
    }
    if (axis == size_t(-1))
      return;
  }
}

void Convolution::add(const float *image, const float *filter,
                      double *out) const {
  int64_t plane = 1, positions = 1, perOutput = outputs * perGroup / inputs;
  for (const Tap &axis : axes) {
    plane *= axis.size;
    positions *= axis.count;
  }
  for (int64_t output = 0; output < outputs; ++output)
    for (int64_t i = 0; i < perGroup; ++i)
      for (int64_t tap = 0; tap < taps; ++tap)
        addTap(image + (output / perOutput * perGroup + i) * plane, tap,
               filter[(output * perGroup + i) * taps + tap],
               out + output * positions);
}

static Result convolve(mp::ConvOp op, Samples &samples) {
  const Array *input = samples.find(op.getInput()),
              *filter = samples.find(op.getFilter()),
              *bias = op.getBias() ? samples.find(op.getBias()) : nullptr;
  if (!input || !filter || filter->count != 1 || (op.getBias() && !bias) ||
      input->shape.size() < 3 || filter->shape.size() != input->shape.size())
    return std::nullopt;
  Convolution made{{}, input->shape[1], filter->shape[0], filter->shape[1], 1};
  Shape shape = {input->shape[0], made.outputs};
  Window window =
      Window::get(ArrayRef(filter->shape).drop_front(2), op.getStrides(),
                  op.getDilations(), op.getPads(), op.getAutoPad());
  for (auto [i, dim] : llvm::enumerate(window.dims)) {
    int64_t size = input->shape[2 + i];
    auto pads = window.pads(unsigned(i), size);
    auto count = window.outputDim(unsigned(i), size);
    if (!pads || !count || *count < 1)
      return std::nullopt;
    made.axes.push_back(
        {dim.kernel, dim.stride, dim.dilation, pads->first, size, *count});
    made.taps *= dim.kernel;
    shape.push_back(*count);
  }
  if (made.perGroup < 1 || made.inputs % made.perGroup ||
      made.outputs % (made.inputs / made.perGroup))
    return std::nullopt;
  Array result{input->count, std::move(shape), {}};
  if (!samples.spend(double(result.count) * double(result.size()) *
                     double(made.perGroup * made.taps)))
    return std::nullopt;
  int64_t image = input->stride(0), size = result.stride(0);
  std::vector<double> sums;
  for (int64_t at = 0; at < result.count * result.shape[0]; ++at) {
    sums.assign(size_t(size), 0);
    if (bias)
      for (int64_t i = 0; i < size; ++i)
        sums[size_t(i)] = bias->numbers[size_t(i / result.stride(1))];
    made.add(input->numbers.data() + at * image, filter->numbers.data(),
             sums.data());
    result.numbers.insert(result.numbers.end(), sums.begin(), sums.end());
  }
  return result;
}

Result samples::evaluateProduct(OpResult result, Samples &samples) {
  auto matrix = [&](auto op, double alpha, Value bias, double beta) -> Result {
    if (samples.isSampled(op->getOperand(0)) &&
        samples.isSampled(op->getOperand(1)))
      return std::nullopt;
    Result made = multiply(samples.find(op->getOperand(0)), op.getTransA(),
                           samples.find(op->getOperand(1)), op.getTransB(),
                           alpha, samples);
    return addBias(made, bias, beta, samples) ? made : std::nullopt;
  };
  return TypeSwitch<Operation *, Result>(result.getOwner())
      .Case([&](mp::MatMulOp op) {
        return matrix(op, op.getAlpha().convertToDouble(), {}, 0);
      })
      .Case([&](mp::GemmOp op) {
        return matrix(op, op.getAlpha().convertToDouble(), op.getBias(),
                      op.getBeta().convertToDouble());
      })
      .Case([&](mp::LinearOp op) -> Result {
        Result made = multiply(samples.find(op.getInput()), false,
                               samples.find(op.getWeight()), true, 1, samples);
        return addBias(made, op.getBias(), 1, samples) ? made : std::nullopt;
      })
      .Case([&](mp::ConvOp op) { return convolve(op, samples); })
      .Default(std::nullopt);
}
