//===- SettledCounts.h - Integers that no rounding moves --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_SETTLEDCOUNTS_H
#define MPOPT_LIB_CONVERT_SETTLEDCOUNTS_H

#include "Graph.h"
#include "Tensors.h"

#include "mpopt/Numerics/FloatRange.h"

#include "llvm/ADT/DenseMap.h"

namespace mpopt::convert {

/// Values that are computed of constants alone, element by element.
class SettledCounts {
public:
  SettledCounts(TensorSource &tensors, const FloatFormat &low)
      : tensors(tensors), low(low) {}

  /// True if all that is made of the results of a cast to integers is the same,
  /// whichever of the ops before it are low.
  bool holds(const Value *integers);
  /// True if a constant, or what is computed of one, is below `most` in
  /// magnitude.
  bool isBelow(const Value *value, double most);

private:
  /// The distinct elements of a constant, or the results of each. Two values of
  /// one source have the same elements at the same places.
  struct Elements {
    const Value *source = nullptr;
    std::vector<FloatRange> ranges; ///< empty: not known
  };
  Elements find(const Value *value);
  Elements compute(const Value *value);
  std::vector<FloatRange> read(const onnx::TensorProto &tensor);

  TensorSource &tensors;
  const FloatFormat &low;
  llvm::DenseMap<const Value *, Elements> known;
};

/// True if the op gives the elements of operand 0 another shape or order.
bool isView(const Node &node);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_SETTLEDCOUNTS_H
