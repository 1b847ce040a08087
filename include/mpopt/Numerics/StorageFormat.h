//===- StorageFormat.h - How numbers are stored -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that rounds, clips and flushes. A number x is stored as the
// code round(x / scale) + zeroPoint: a float, or an integer within two ends.
// FP16 is the case without scale and zero point.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_STORAGEFORMAT_H
#define MPOPT_NUMERICS_STORAGEFORMAT_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Interval.h"

#include <optional>

namespace mpopt {

struct StorageFormat {
  /// The format of the codes; null for integers.
  const FloatFormat *floats = nullptr;
  /// The least and the greatest code.
  Interval codes;
  /// True if what lies beyond becomes the code at that end, and not Inf or NaN.
  bool saturates = true;
  double scale = 1, zeroPoint = 0;
  /// Scale and zero point are those of the whole tensor, else of an index of
  /// the axis, else of `block` elements along it.
  std::optional<int64_t> axis;
  int64_t block = 0;

  /// Implicit: each format of floats is a storage format.
  StorageFormat(const FloatFormat &floats);
  /// Integers within those ends.
  explicit StorageFormat(const Interval &codes) : codes(codes) {}
  static StorageFormat integers(unsigned bits, bool isSigned);
  /// By the name of the type in MLIR: `f16`, `f8E4M3FN`, `i8`, `ui4`; nothing
  /// if there is none.
  static std::optional<StorageFormat> byName(llvm::StringRef name);

  /// The same codes for other numbers; `scale` is positive.
  StorageFormat scaled(double scale, double zeroPoint = 0) const;

  /// The interval of the numbers that codes stand for.
  Interval ends() const {
    return {(codes.lo - zeroPoint) * scale, (codes.hi - zeroPoint) * scale};
  }
  /// The numbers, to each side, that are the first to round to none of those.
  Interval overflowFrom() const;
  /// The largest magnitude that rounds to 0.
  double flushAt() const { return (floats ? floats->flushAt : 0.5) * scale; }
  /// From this magnitude on steps grow with the number.
  double growsFrom() const;
  /// The distance of the stored numbers next to `value`.
  double step(double value = 0) const;

  double clip(double value) const;
  /// The number that is stored for `value`: the nearest one, and of two as near
  /// the one with the even code. Past the ends Inf where the format does not
  /// saturate.
  double round(double value) const;

  /// The expected square of what storing changes of numbers near `value` and
  /// within the ends.
  double roundingSquare(double value) const;
  /// True if every finite number of `other`, floats of the same scale, is one
  /// of this format.
  bool holds(const StorageFormat &other) const;
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_STORAGEFORMAT_H
