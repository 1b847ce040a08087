//===- Unfolding.h - The elements that windows meet -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_EVALUATION_OPS_UNFOLDING_H
#define MPOPT_LIB_EVALUATION_OPS_UNFOLDING_H

#include "mpopt/Dialect/WindowSupport.h"
#include "mpopt/Evaluation/Array.h"

#include <optional>

namespace mpopt::evaluation {

/// Windows that slide over the spatial dims of an image.
struct Unfolding {
  /// The number of windows along each dim, and in all.
  Shape shape;
  int64_t outputs = 1, taps = 1;

  /// The element under a tap of a window, in row-major order; -1 beside the
  /// image.
  int64_t source(int64_t tap, int64_t output) const {
    return sources[size_t(output * taps + tap)];
  }

  /// Nothing where the windows are not known, or are not as many as `given`.
  static std::optional<Unfolding>
  get(const Window &window, llvm::ArrayRef<int64_t> input,
      std::optional<llvm::ArrayRef<int64_t>> given = std::nullopt);

private:
  std::vector<int32_t> sources;
};

} // namespace mpopt::evaluation

#endif // MPOPT_LIB_EVALUATION_OPS_UNFOLDING_H
