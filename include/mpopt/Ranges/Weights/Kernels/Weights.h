//===- Weights.h - Weights as the range kernels read them -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes are those of the file: row-major, little-endian, of any alignment.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_WEIGHTS_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_WEIGHTS_H

#include "mpopt/Numerics/ConstantLimits.h"
#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace mpopt {

struct WeightTensor {
  /// The elements; those of four bits are two to a byte, the low half first.
  llvm::ArrayRef<char> bytes;
  /// Null for integers of `integerBits` (4, 8, 16, 32 or 64) bits.
  const FloatFormat *format = nullptr;
  unsigned integerBits = 8;
  bool isSigned = true;
  /// If set, weights are rounded to this format (to nearest even). One that
  /// overflows it is not rounded, and is flagged.
  const FloatFormat *storage = nullptr;
  /// Applied before that rounding, to floats.
  ConstantLimits limits;
  /// Zero points, which are subtracted from every weight: none, one, or one per
  /// output channel.
  llvm::ArrayRef<double> zeroPoints;

  unsigned bits() const { return format ? format->bits : integerBits; }
};

/// Weights of a channel that no sum can express. Such a weight counts as 0 in
/// the sums, unless it is `StorageOverflow`.
enum WeightFlag : uint8_t {
  WeightPosInf = 1,
  WeightNegInf = 2,
  WeightNaN = 4,
  /// The weight is finite in the file and Inf in the storage format.
  WeightStorageOverflow = 8,
};

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_WEIGHTS_H
