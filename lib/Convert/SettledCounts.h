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

  /// True if a cast to integers gives the same ones of `value`, whichever of
  /// the ops before it are low.
  bool holds(const Value *value);

private:
  /// Empty where nothing is known.
  std::vector<FloatRange> find(const Value *value);
  std::vector<FloatRange> compute(const Node &node);
  std::vector<FloatRange> read(const onnx::TensorProto &tensor);

  TensorSource &tensors;
  const FloatFormat &low;
  llvm::DenseMap<const Value *, std::vector<FloatRange>> known;
};

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_SETTLEDCOUNTS_H
