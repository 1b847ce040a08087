//===- Form.cpp - Linear forms of elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Form.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::linear;

int64_t Box::volume() const {
  int64_t count = 1;
  for (int64_t dim : size)
    if (llvm::MulOverflow(count, dim, count))
      return std::numeric_limits<int64_t>::max(); // too many for any budget
  return count;
}

bool Box::contains(const Box &other) const {
  for (size_t axis = 0; axis < size.size(); ++axis)
    if (other.first[axis] < first[axis] ||
        other.first[axis] + other.size[axis] > first[axis] + size[axis])
      return false;
  return true;
}

Box Box::with(const Box &other) const {
  Box both = *this;
  for (size_t axis = 0; axis < size.size(); ++axis) {
    int64_t end = std::max(first[axis] + size[axis],
                           other.first[axis] + other.size[axis]);
    both.first[axis] = std::min(first[axis], other.first[axis]);
    both.size[axis] = end - both.first[axis];
  }
  return both;
}

int64_t Box::find(ArrayRef<int64_t> index) const {
  int64_t at = 0;
  for (size_t axis = 0; axis < size.size(); ++axis)
    at = at * size[axis] + index[axis] - first[axis];
  return at;
}

void Box::forEach(
    llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> visit) const {
  Index index = first;
  int64_t count = volume();
  for (int64_t at = 0; at < count; ++at) {
    visit(index, at);
    for (size_t axis = size.size(); axis-- > 0;) {
      if (++index[axis] < first[axis] + size[axis])
        break;
      index[axis] = first[axis];
    }
  }
}

Box Box::whole(ArrayRef<int64_t> shape) {
  Box box;
  box.first.assign(shape.size(), 0);
  for (int64_t dim : shape)
    box.size.push_back(dim < 0 ? 1 : dim);
  return box;
}

CellMap::CellMap(const AbstractValue &value, size_t rank) {
  strides.assign(rank, 0);
  if (value.rank() != rank)
    return;
  size_t stride = 1;
  for (size_t axis = rank; axis-- > 0;) {
    if (value.dims()[axis] != 1)
      strides[axis] = stride;
    stride *= size_t(value.dims()[axis]);
  }
}

bool ByProgramOrder::operator()(Value lhs, Value rhs) const {
  if (lhs == rhs)
    return false;
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  if (!left || !right)
    return left    ? true
           : right ? false
                   : cast<BlockArgument>(lhs).getArgNumber() <
                         cast<BlockArgument>(rhs).getArgNumber();
  if (left == right)
    return cast<OpResult>(lhs).getResultNumber() <
           cast<OpResult>(rhs).getResultNumber();
  return right->isBeforeInBlock(left);
}

bool Forms::cover(Value value, const Box &box) {
  auto [known, isNew] = parts.try_emplace(value);
  Part &part = known->second;
  if (!isNew && part.box.contains(box))
    return true;
  Box wanted = isNew ? box : part.box.with(box);
  size_t count = size_t(wanted.volume()) * rows;
  if (count > kMostNumbers)
    return false;
  std::vector<double> numbers(count);
  if (!isNew)
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      std::copy_n(part.numbers.data() + size_t(at) * rows, rows,
                  numbers.data() + size_t(wanted.find(index)) * rows);
    });
  part.box = std::move(wanted);
  part.numbers = std::move(numbers);
  return true;
}
