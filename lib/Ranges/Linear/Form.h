//===- Form.h - Linear forms of elements ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is an upper bound of an element of the refined tensor, or of its
// negative: a linear form of the elements of earlier tensors, plus a constant,
// plus an error. The rows of a block of elements are held together, for each
// element of a tensor one coefficient a row, so that whatever an op's results
// depend on, the work is to add multiples of one list of coefficients to
// another.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_LINEAR_FORM_H
#define MPOPT_LIB_RANGES_LINEAR_FORM_H

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/AbstractValue.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <map>
#include <vector>

namespace mpopt::linear {

/// The error of the coefficients and constants of a form, as a share of the
/// magnitudes that were added up: each is a sum of at most 2^22 products of
/// doubles (kMostNumbers), so of 2^22 roundings of 2^-53, and one more.
inline constexpr double kSlack = 0x1p-30;
/// The most coefficients that one tensor may have.
inline constexpr size_t kMostNumbers = size_t(1) << 22;

using Index = llvm::SmallVector<int64_t, 6>;

/// A box of the indices of a tensor.
struct Box {
  Index first, size;

  int64_t volume() const;
  bool operator==(const Box &other) const = default;
  bool contains(const Box &other) const;
  /// The smallest box that holds both.
  Box with(const Box &other) const;
  /// The position of an index of the tensor among those of the box.
  int64_t find(llvm::ArrayRef<int64_t> index) const;
  /// Calls `visit` with each index of the box, in row-major order, and its
  /// position.
  void forEach(
      llvm::function_ref<void(llvm::ArrayRef<int64_t>, int64_t)> visit) const;
  /// All indices of a tensor; an axis of open size has one.
  static Box whole(llvm::ArrayRef<int64_t> shape);
};

/// Which cell of a value an index belongs to.
class CellMap {
public:
  CellMap() = default;
  CellMap(const AbstractValue &value, size_t rank);
  size_t operator()(llvm::ArrayRef<int64_t> index) const {
    size_t at = 0;
    for (size_t axis = 0; axis < strides.size(); ++axis)
      at += strides[axis] * size_t(index[axis]);
    return at;
  }
  bool isKept(size_t axis) const {
    return axis < strides.size() && strides[axis] != 0;
  }

private:
  llvm::SmallVector<size_t, 6> strides;
};

/// The coefficients of the elements in a box, those of an element together.
struct Part {
  Box box;
  std::vector<double> numbers;
};

/// Later values first: arguments behind all ops.
struct ByProgramOrder {
  bool operator()(mlir::Value lhs, mlir::Value rhs) const;
};

/// Where on an interval lines are nearest to a function: at the middle, which
/// is best on the whole, or towards an end. For a relu the choice is between
/// the lower lines 0 and x.
inline constexpr std::array<double, 3> kNear = {0.5, 0.05, 0.95};

class Forms {
public:
  Forms(size_t rows, size_t near)
      : rows(rows), near(near), constant(rows), error(rows) {}

  /// The coefficients of a value, which cover `box` from now on. False where
  /// they are too many.
  bool cover(mlir::Value value, const Box &box);
  /// Those of a value that is covered.
  Part &of(mlir::Value value) { return parts.find(value)->second; }

  /// Adds `weight` times the coefficients `from` to `to`.
  void add(const double *from, double *to, double weight) const {
    for (size_t row = 0; row < rows; ++row)
      to[row] += weight * from[row];
  }
  /// Adds a number of magnitude `most` at most, multiplied by coefficients, to
  /// the error.
  void lose(const double *from, double most) {
    if (most == kInfinity) // times 0, that would be NaN
      most = std::numeric_limits<double>::max();
    for (size_t row = 0; row < rows; ++row)
      error[row] += std::fabs(from[row]) * most;
  }
  /// Adds a number, multiplied by coefficients.
  void addNumber(const double *from, double number) {
    double slack = kSlack * std::fabs(number);
    for (size_t row = 0; row < rows; ++row) {
      constant[row] += from[row] * number;
      error[row] += std::fabs(from[row]) * slack;
    }
  }
  size_t rows;
  /// Which of `kNear`.
  size_t near;
  std::map<mlir::Value, Part, ByProgramOrder> parts;
  std::vector<double> constant, error;
};

} // namespace mpopt::linear

#endif // MPOPT_LIB_RANGES_LINEAR_FORM_H
