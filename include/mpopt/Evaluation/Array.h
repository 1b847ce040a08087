//===- Array.h - The elements of a tensor in an evaluation ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_EVALUATION_ARRAY_H
#define MPOPT_EVALUATION_ARRAY_H

#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace mpopt {

/// Row-major. Whole numbers and booleans are floats, too: exact up to 2^24.
struct Array {
  Shape shape;
  std::vector<float> numbers;

  static Array zeros(Shape shape);
  static Array full(Shape shape, float number);
  int64_t size() const { return int64_t(numbers.size()); }
  int64_t rank() const { return int64_t(shape.size()); }
  /// From one element to the next along an axis.
  int64_t stride(size_t axis) const;
  llvm::SmallVector<int64_t, 6> strides() const;
};

/// The product of the dims.
int64_t sizeOf(llvm::ArrayRef<int64_t> shape);

/// Visits a box in row-major order, by runs of elements that are as far apart:
/// offsets in two arrays whose strides are given, the run's length, and the way
/// from one element to the next in each.
void forEachRun(
    llvm::ArrayRef<int64_t> size, llvm::ArrayRef<int64_t> from,
    llvm::ArrayRef<int64_t> to,
    llvm::function_ref<void(int64_t source, int64_t target, int64_t length,
                            int64_t sourceStep, int64_t targetStep)>
        visit);

/// Calls `visit` for each index of a box, in row-major order, with the offsets
/// in both arrays.
template <typename Visit>
void forEachIndex(llvm::ArrayRef<int64_t> size, llvm::ArrayRef<int64_t> from,
                  llvm::ArrayRef<int64_t> to, Visit visit) {
  forEachRun(size, from, to,
             [&](int64_t source, int64_t target, int64_t length,
                 int64_t sourceStep, int64_t targetStep) {
               for (int64_t i = 0; i < length; ++i)
                 visit(source + i * sourceStep, target + i * targetStep);
             });
}

/// The elements from `offset` on, so far apart along the axes of `shape`.
Array takeStrided(const Array &from, int64_t offset,
                  llvm::ArrayRef<int64_t> strides, Shape shape);
/// Writes an array into the box of `to` that begins at `offset`.
void place(const Array &from, Array &to, int64_t offset);
Array permute(const Array &from, llvm::ArrayRef<int64_t> axes);

/// The strides of `from` along the axes of `shape`, to which it is broadcast.
llvm::SmallVector<int64_t, 6> broadcastStrides(const Array &from,
                                               llvm::ArrayRef<int64_t> shape);
Array broadcast(const Array &from, llvm::ArrayRef<int64_t> shape);

/// The lines along an axis: `visit` gets the offset of the first element; the
/// others are stride(axis) apart.
void forEachLine(const Array &array, size_t axis,
                 llvm::function_ref<void(int64_t)> visit);

} // namespace mpopt

#endif // MPOPT_EVALUATION_ARRAY_H
