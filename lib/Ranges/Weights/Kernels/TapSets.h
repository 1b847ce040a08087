//===- TapSets.h - Which taps lie inside the input --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TAPSETS_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TAPSETS_H

#include "mpopt/Ranges/Weights/Kernels/Convolution.h"

#include <vector>

namespace mpopt::kernels {

/// Indices into the kernel, row-major.
using TapSet = std::vector<uint32_t>;

/// Every set of taps that lies inside the input at some output position (or a
/// superset of these sets where a size is unknown), without repetition.
/// Nothing if there are too many.
std::optional<std::vector<TapSet>> tapSets(const ConvolutionRequest &request);

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TAPSETS_H
