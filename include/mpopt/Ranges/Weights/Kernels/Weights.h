//===- Weights.h - Weights as the range kernels read them -------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes as they lie in the file, row-major, any alignment, little-endian.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_WEIGHTS_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_WEIGHTS_H

#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace mpopt {

struct WeightTensor {
  /// Two elements to a byte, low half first, if they have four bits.
  llvm::ArrayRef<char> bytes;
  /// Null for integers of `integerBits` (4, 8, 16, 32 or 64) bits.
  const FloatFormat *format = nullptr;
  unsigned integerBits = 8;
  bool isSigned = true;
  /// If set, the weight that counts is the one rounded to this format (to
  /// nearest even). One that the format turns into Inf counts as it is and is
  /// flagged.
  const FloatFormat *storage = nullptr;
  /// Subtracted from every weight: none, one, or one per output channel.
  llvm::ArrayRef<double> zeroPoints;

  unsigned bits() const { return format ? format->bits : integerBits; }
};

/// What a channel's weights have that no sum can express. Such a weight counts
/// as 0 in the sums, unless it is `StorageOverflow`.
enum WeightFlag : uint8_t {
  WeightPosInf = 1,
  WeightNegInf = 2,
  WeightNaN = 4,
  /// Finite in the file, Inf in the storage format.
  WeightStorageOverflow = 8,
};

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_WEIGHTS_H
