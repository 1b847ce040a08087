//===- Dequantized.h - Numbers for which codes stand ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_WEIGHTS_DEQUANTIZED_H
#define MPOPT_RANGES_WEIGHTS_DEQUANTIZED_H

#include "mpopt/Numerics/StorageFormat.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <vector>

namespace mpopt {

/// All elements of a constant; of a splat the one.
std::vector<double> readAll(const WeightView &view);

/// (code - zero point) * scale in FP32, row-major, of codes of a known shape.
/// Empty where scales and codes do not fit.
std::vector<float> dequantize(const WeightView &codes, const WeightView &scales,
                              const std::optional<WeightView> &zeroPoints,
                              const StorageFormat &format);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_DEQUANTIZED_H
