//===- Layout.h - Where a tensor's elements lie --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_LIB_LAYOUT_H
#define MPOPT_KERNELS_LIB_LAYOUT_H

#include "Partial.h"
#include "mpopt/Kernels/Statistics.h"

#include <vector>

namespace mpopt::kernels {

/// A tensor's axes with those joined that lie one after the other in memory, in
/// logical order.
class Layout {
public:
  explicit Layout(const mpopt_tensor &tensor);

  uint64_t elements() const { return total; }
  /// In logical order without gaps, from the first element on.
  bool contiguous() const {
    return axes.empty() || (axes.size() == 1 && axes[0].stride == 1);
  }

  /// Copies elements [from, from + count) to `to`.
  void gather(const char *data, unsigned bytes, uint64_t from, size_t count,
              char *to) const;

private:
  struct Axis {
    int64_t extent, stride;
  };
  std::vector<Axis> axes;
  uint64_t total = 1;
};

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_LAYOUT_H
