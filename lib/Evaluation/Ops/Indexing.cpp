//===- Indexing.cpp - Ops that pick elements by indices
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

/// Indices from the front; nothing if one is out of range.
static std::optional<std::vector<int64_t>> indicesInto(int64_t dim,
                                                       const Array &indices) {
  std::vector<int64_t> list;
  for (float number : indices.numbers) {
    // NaN is neither.
    if (!(number >= -float(dim) && number < float(dim)))
      return std::nullopt;
    int64_t index = int64_t(number) + (number < 0 ? dim : 0);
    if (!(index >= 0 && index < dim))
      return std::nullopt;
    list.push_back(index);
  }
  return list;
}

/// Slices of `table` along an axis: [outer, indices, inner].
static LogicalResult gather(Operation *op, const Array *table,
                            const Array *indices, int64_t along,
                            Evaluation &in) {
  auto axis =
      table ? normalizeAxis(along, table->rank()) : std::optional<int64_t>();
  if (!axis || !indices)
    return failure();
  int64_t dim = table->shape[size_t(*axis)],
          inner = table->stride(size_t(*axis));
  auto list = indicesInto(dim, *indices);
  if (!list)
    return failure();
  Shape shape(ArrayRef(table->shape).take_front(size_t(*axis)));
  shape.append(indices->shape.begin(), indices->shape.end());
  shape.append(table->shape.begin() + *axis + 1, table->shape.end());
  Array result = Array::zeros(std::move(shape));
  float *out = result.numbers.data();
  for (int64_t outer = 0; dim * inner && outer < table->size() / (dim * inner);
       ++outer)
    for (int64_t index : *list)
      out = std::copy_n(table->numbers.data() + (outer * dim + index) * inner,
                        inner, out);
  in.set(op->getResult(0), std::move(result));
  return success();
}

/// Those of GatherElements.
static LogicalResult addElements(mp::GatherGradOp op, const Array &grad,
                                 const Array &indices, Shape shape, size_t axis,
                                 Evaluation &in) {
  Array result = Array::zeros(std::move(shape));
  auto list = indicesInto(result.shape[axis], indices);
  if (!list || grad.shape != indices.shape || indices.rank() != result.rank())
    return failure();
  for (auto [other, dim] : llvm::enumerate(indices.shape))
    if (other != axis && dim > result.shape[other])
      return failure();
  SmallVector<int64_t, 6> strides = result.strides();
  int64_t along = strides[axis];
  strides[axis] = 0;
  forEachIndex(
      indices.shape, strides, indices.strides(),
      [&](int64_t target, int64_t source) {
        result.numbers[size_t(target + (*list)[size_t(source)] * along)] +=
            grad.numbers[size_t(source)];
      });
  in.set(op->getResult(0), std::move(result));
  return success();
}

/// dY added up at the indices.
static LogicalResult gatherGradient(mp::GatherGradOp op, Evaluation &in) {
  const Array *grad = in.find(op.getGrad()),
              *indices = in.find(op.getIndices());
  auto shape = in.integers(op.getShape());
  if (!grad || !indices || !shape || op.getKind() == "nd")
    return failure();
  auto axis = normalizeAxis(op.getAxis(), int64_t(shape->size()));
  if (!axis)
    return failure();
  if (op.getKind() == "elements")
    return addElements(op, *grad, *indices, Shape(ArrayRef<int64_t>(*shape)),
                       size_t(*axis), in);
  Array result = Array::zeros(Shape(ArrayRef<int64_t>(*shape)));
  int64_t dim = result.shape[size_t(*axis)],
          inner = result.stride(size_t(*axis));
  auto list = indicesInto(dim, *indices);
  int64_t outer = dim * inner ? result.size() / (dim * inner) : 0;
  if (!list || grad->size() != outer * int64_t(list->size()) * inner)
    return failure();
  const float *from = grad->numbers.data();
  for (int64_t each = 0; each < outer; ++each)
    for (int64_t index : *list) {
      float *to = result.numbers.data() + (each * dim + index) * inner;
      bool counts =
          !op.getPaddingIndex() || int64_t(*op.getPaddingIndex()) != index;
      for (int64_t i = 0; i < inner; ++i)
        to[i] += counts ? from[i] : 0;
      from += inner;
    }
  in.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult gatherElements(mp::GatherElementsOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput()),
              *indices = in.find(op.getIndices());
  auto axis = input ? normalizeAxis(op.getAxis(), input->rank())
                    : std::optional<int64_t>();
  if (!axis || !indices || indices->rank() != input->rank())
    return failure();
  auto list = indicesInto(input->shape[size_t(*axis)], *indices);
  for (int64_t other = 0; other < input->rank(); ++other)
    if (other != *axis &&
        indices->shape[size_t(other)] > input->shape[size_t(other)])
      return failure();
  if (!list)
    return failure();
  Array result = *indices;
  SmallVector<int64_t, 6> strides = input->strides();
  int64_t along = strides[size_t(*axis)];
  strides[size_t(*axis)] = 0;
  forEachIndex(
      indices->shape, strides, indices->strides(),
      [&](int64_t source, int64_t target) {
        result.numbers[size_t(target)] =
            input->numbers[size_t(source + (*list)[size_t(target)] * along)];
      });
  in.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult oneHot(mp::OneHotOp op, Evaluation &in) {
  const Array *indices = in.find(op.getIndices()),
              *values = in.find(op.getValues());
  std::optional<double> depth = in.scalar(op.getDepth());
  if (!indices || !values || values->size() != 2 || !depth || *depth < 1)
    return failure();
  auto axis = normalizeAxis(op.getAxis(), indices->rank() + 1);
  if (!axis)
    return failure();
  int64_t size = int64_t(*depth);
  Shape shape = indices->shape;
  shape.insert(shape.begin() + *axis, size);
  Array result = Array::full(std::move(shape), values->numbers[0]);
  int64_t inner = result.stride(size_t(*axis));
  for (int64_t at = 0; at < indices->size(); ++at) {
    int64_t index = int64_t(indices->numbers[size_t(at)]);
    index += index < 0 ? size : 0;
    if (index >= 0 && index < size)
      result.numbers[size_t((at / inner * size + index) * inner + at % inner)] =
          values->numbers[1];
  }
  in.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult argMax(Operation *op, std::optional<uint64_t> along,
                            bool largest, bool keeps, bool last,
                            Evaluation &in) {
  const Array *input = in.find(op->getOperand(0));
  if (!input || !along || input->size() == 0)
    return failure();
  auto axis = normalizeAxis(int64_t(*along), input->rank());
  if (!axis)
    return failure();
  int64_t stride = input->stride(size_t(*axis)),
          length = input->shape[size_t(*axis)];
  Array result;
  forEachLine(*input, size_t(*axis), [&](int64_t first) {
    int64_t best = 0;
    for (int64_t i = 1; i < length; ++i) {
      float is = input->numbers[size_t(first + i * stride)],
            was = input->numbers[size_t(first + best * stride)];
      if (largest ? is > was : is < was)
        best = i;
      else if (last && is == was)
        best = i;
    }
    result.numbers.push_back(float(best));
  });
  for (auto [number, dim] : llvm::enumerate(input->shape))
    if (int64_t(number) != *axis)
      result.shape.push_back(dim);
    else if (keeps)
      result.shape.push_back(1);
  in.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult topK(mp::TopKOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  std::optional<double> count;
  if (op.getK())
    count = double(*op.getK());
  else if (op.getDynamicK())
    count = in.scalar(op.getDynamicK());
  auto axis = input ? normalizeAxis(op.getAxis(), input->rank())
                    : std::optional<int64_t>();
  if (!axis || !count || *count < 0 || *count > input->shape[size_t(*axis)])
    return failure();
  int64_t k = int64_t(*count), length = input->shape[size_t(*axis)];
  Shape shape = input->shape;
  shape[size_t(*axis)] = k;
  Array values = Array::zeros(shape), indices = values;
  int64_t stride = input->stride(size_t(*axis));
  std::vector<int64_t> order(static_cast<size_t>(length));
  bool largest = op.getLargest();
  forEachLine(*input, size_t(*axis), [&](int64_t first) {
    auto at = [&](int64_t i) {
      return input->numbers[size_t(first + i * stride)];
    };
    for (int64_t i = 0; i < length; ++i)
      order[size_t(i)] = i;
    llvm::stable_sort(order, [&](int64_t a, int64_t b) {
      return largest ? at(a) > at(b) : at(a) < at(b);
    });
    int64_t to = first / (stride * length) * stride * k + first % stride;
    for (int64_t i = 0; i < k; ++i) {
      values.numbers[size_t(to + i * stride)] = at(order[size_t(i)]);
      indices.numbers[size_t(to + i * stride)] = float(order[size_t(i)]);
    }
  });
  in.set(op.getValues(), std::move(values));
  in.set(op.getIndices(), std::move(indices));
  return success();
}

static LogicalResult cumSum(mp::CumSumOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  std::optional<double> along;
  if (op.getAxis())
    along = double(int64_t(*op.getAxis()));
  else if (op.getDynamicAxis())
    along = in.scalar(op.getDynamicAxis());
  auto axis = input && along ? normalizeAxis(int64_t(*along), input->rank())
                             : std::optional<int64_t>();
  if (!axis)
    return failure();
  Array result = *input;
  int64_t stride = input->stride(size_t(*axis)),
          length = input->shape[size_t(*axis)];
  forEachLine(*input, size_t(*axis), [&](int64_t first) {
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      int64_t place = op.getReverse() ? length - 1 - i : i;
      float &number = result.numbers[size_t(first + place * stride)];
      double before = sum;
      sum += number;
      number = float(op.getExclusive() ? before : sum);
    }
  });
  in.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult range(mp::RangeOp op, Evaluation &in) {
  auto start = in.scalar(op.getStart()), limit = in.scalar(op.getLimit()),
       delta = in.scalar(op.getDelta());
  if (!start || !limit || !delta || *delta == 0)
    return failure();
  double count = std::max(std::ceil((*limit - *start) / *delta), 0.0);
  // Beyond, a float does not hold every whole number.
  constexpr double kMost = 0x1p24;
  if (!(count <= kMost))
    return failure();
  Array result{{int64_t(count)}, {}};
  for (int64_t i = 0; i < int64_t(count); ++i)
    result.numbers.push_back(float(*start + double(i) * *delta));
  in.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult triangle(mp::TriluOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  std::optional<double> k = double(op.getK());
  if (op.getDynamicK())
    k = in.scalar(op.getDynamicK());
  if (!input || !k || input->rank() < 2)
    return failure();
  Array result = *input;
  int64_t columns = input->shape.back(),
          rows = input->shape[input->shape.size() - 2];
  for (int64_t at = 0; at < input->size(); ++at) {
    int64_t off = at % columns - at / columns % rows;
    if (op.getUpper() ? off < int64_t(*k) : off > int64_t(*k))
      result.numbers[size_t(at)] = 0;
  }
  in.set(op->getResult(0), std::move(result));
  return success();
}

LogicalResult evaluation::evaluateIndexing(Operation *op, Evaluation &in) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::GatherOp each) {
        return gather(op, in.find(each.getInput()), in.find(each.getIndices()),
                      each.getAxis(), in);
      })
      .Case([&](mp::EmbeddingOp each) {
        return gather(op, in.find(op->getOperand(0)),
                      in.find(op->getOperand(1)), 0, in);
      })
      .Case([&](mp::GatherGradOp each) { return gatherGradient(each, in); })
      .Case([&](mp::GatherElementsOp each) { return gatherElements(each, in); })
      .Case([&](mp::OneHotOp each) { return oneHot(each, in); })
      .Case([&](mp::ArgMaxOp each) {
        return argMax(op, each.getAxis(), true, each.getKeepDims(),
                      each.getSelectLastIndex(), in);
      })
      .Case([&](mp::ArgMinOp each) {
        return argMax(op, each.getAxis(), false, each.getKeepDims(),
                      each.getSelectLastIndex(), in);
      })
      .Case([&](mp::TopKOp each) { return topK(each, in); })
      .Case([&](mp::CumSumOp each) { return cumSum(each, in); })
      .Case([&](mp::RangeOp each) { return range(each, in); })
      .Case([&](mp::TriluOp each) { return triangle(each, in); })
      .Default(failure());
}
