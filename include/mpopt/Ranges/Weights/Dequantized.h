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

/// saturate(round(number / scale) + zero point) of integer codes, the quotient
/// in FP32 and ties to even, as ONNX defines it. Empty as above, and where a
/// quotient is not finite.
std::vector<float> quantize(const WeightView &numbers, const WeightView &scales,
                            const std::optional<WeightView> &zeroPoints,
                            const StorageFormat &format);

/// The numbers for which such codes stand, of the product with the inverse of
/// the scale, as PyTorch computes them.
std::vector<float> fakeQuantize(const WeightView &numbers,
                                const WeightView &scales,
                                const std::optional<WeightView> &zeroPoints,
                                const StorageFormat &format);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_DEQUANTIZED_H
