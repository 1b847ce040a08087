//===- Array.cpp - The elements of a tensor in an evaluation
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Evaluation/Array.h"

#include <algorithm>

using namespace mpopt;
using llvm::ArrayRef;
using llvm::SmallVector;

int64_t mpopt::sizeOf(ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t dim : shape)
    size *= dim;
  return size;
}

Array Array::full(Shape shape, float number) {
  Array array{std::move(shape), {}};
  array.numbers.assign(size_t(sizeOf(array.shape)), number);
  return array;
}

Array Array::zeros(Shape shape) { return full(std::move(shape), 0); }

int64_t Array::stride(size_t axis) const {
  return sizeOf(ArrayRef(shape).drop_front(axis + 1));
}

SmallVector<int64_t, 6> Array::strides() const {
  SmallVector<int64_t, 6> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

void mpopt::forEachRun(
    ArrayRef<int64_t> size, ArrayRef<int64_t> from, ArrayRef<int64_t> to,
    llvm::function_ref<void(int64_t, int64_t, int64_t, int64_t, int64_t)>
        visit) {
  // Neighbouring axes that go on alike in both arrays are one; the last are a
  // run.
  SmallVector<int64_t, 6> dims, strides[2];
  for (size_t axis = 0; axis < size.size(); ++axis) {
    if (size[axis] == 1)
      continue;
    if (!dims.empty() && strides[0].back() == from[axis] * size[axis] &&
        strides[1].back() == to[axis] * size[axis]) {
      dims.back() *= size[axis];
      strides[0].back() = from[axis];
      strides[1].back() = to[axis];
      continue;
    }
    dims.push_back(size[axis]);
    strides[0].push_back(from[axis]);
    strides[1].push_back(to[axis]);
  }
  if (sizeOf(size) == 0)
    return;
  if (dims.empty())
    return visit(0, 0, 1, 1, 1);
  int64_t length = dims.pop_back_val();
  int64_t steps[2] = {strides[0].pop_back_val(), strides[1].pop_back_val()};
  SmallVector<int64_t, 6> index(dims.size(), 0);
  int64_t count = sizeOf(dims), source = 0, target = 0;
  for (int64_t at = 0; at < count; ++at) {
    visit(source, target, length, steps[0], steps[1]);
    for (size_t axis = dims.size(); axis-- > 0;) {
      source += strides[0][axis];
      target += strides[1][axis];
      if (++index[axis] < dims[axis])
        break;
      source -= strides[0][axis] * index[axis];
      target -= strides[1][axis] * index[axis];
      index[axis] = 0;
    }
  }
}

Array mpopt::takeStrided(const Array &from, int64_t offset,
                         ArrayRef<int64_t> strides, Shape shape) {
  Array result = Array::zeros(std::move(shape));
  const float *first = from.numbers.data() + offset;
  float *out = result.numbers.data();
  forEachRun(result.shape, strides, result.strides(),
             [&](int64_t source, int64_t target, int64_t length, int64_t step,
                 int64_t) {
               const float *in = first + source;
               float *to = out + target;
               if (step == 1)
                 std::copy_n(in, length, to);
               else
                 for (int64_t i = 0; i < length; ++i)
                   to[i] = in[i * step];
             });
  return result;
}

void mpopt::place(const Array &from, Array &to, int64_t offset) {
  float *first = to.numbers.data() + offset;
  forEachIndex(from.shape, from.strides(), to.strides(),
               [&](int64_t source, int64_t target) {
                 first[target] = from.numbers[size_t(source)];
               });
}

Array mpopt::permute(const Array &from, ArrayRef<int64_t> axes) {
  SmallVector<int64_t, 6> all = from.strides(), strides;
  Shape shape;
  for (int64_t axis : axes) {
    strides.push_back(all[size_t(axis)]);
    shape.push_back(from.shape[size_t(axis)]);
  }
  return takeStrided(from, 0, strides, std::move(shape));
}

SmallVector<int64_t, 6> mpopt::broadcastStrides(const Array &from,
                                                ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 6> own = from.strides(), strides(shape.size(), 0);
  size_t shift = shape.size() - from.shape.size();
  for (auto [axis, dim] : llvm::enumerate(from.shape))
    if (dim != 1)
      strides[axis + shift] = own[axis];
  return strides;
}

Array mpopt::broadcast(const Array &from, ArrayRef<int64_t> shape) {
  return takeStrided(from, 0, broadcastStrides(from, shape), Shape(shape));
}

void mpopt::forEachLine(const Array &array, size_t axis,
                        llvm::function_ref<void(int64_t)> visit) {
  int64_t stride = array.stride(axis), length = array.shape[axis];
  if (length == 0)
    return;
  for (int64_t line = 0; line < array.size() / length; ++line)
    visit(line / stride * length * stride + line % stride);
}
