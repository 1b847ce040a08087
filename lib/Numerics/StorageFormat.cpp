//===- StorageFormat.cpp - How numbers are stored
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/StorageFormat.h"
#include "mpopt/Numerics/StorageError.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;

StorageFormat::StorageFormat(const FloatFormat &floats)
    : floats(&floats),
      // Only the format of scales has neither zero nor signs.
      codes{floats.hasZero ? -floats.maxFinite : floats.minSubnormal,
            floats.maxFinite},
      saturates(!floats.hasInf && !floats.hasNaN) {}

StorageFormat StorageFormat::integers(unsigned bits, bool isSigned) {
  double count = std::ldexp(1.0, int(bits));
  return StorageFormat(isSigned ? Interval{-count / 2, count / 2 - 1}
                                : Interval{0, count - 1});
}

std::optional<StorageFormat> StorageFormat::byName(llvm::StringRef name) {
  if (const FloatFormat *floats = FloatFormat::byName(name))
    return *floats;
  bool isSigned = !name.consume_front("u");
  // 64: the widest integer of a tensor.
  unsigned bits;
  if (!name.consume_front("i") || name.getAsInteger(10, bits) || bits == 0 ||
      bits > 64)
    return std::nullopt;
  return integers(bits, isSigned);
}

StorageFormat StorageFormat::scaled(double scale, double zeroPoint) const {
  StorageFormat format = *this;
  format.scale = scale;
  format.zeroPoint = zeroPoint;
  return format;
}

Interval StorageFormat::overflowFrom() const {
  if (floats)
    return Interval::symmetric(floats->overflowFrom * scale);
  Interval inside = ends();
  return {inside.lo - scale / 2, inside.hi + scale / 2};
}

double StorageFormat::growsFrom() const {
  return floats ? floats->minNormal * scale : kInfinity;
}

double StorageFormat::step(double value) const {
  if (!floats)
    return scale;
  return floats->ulp(std::max(std::fabs(value / scale), floats->minNormal)) *
         scale;
}

double StorageFormat::clip(double value) const {
  return std::clamp(value, ends().lo, ends().hi);
}

double StorageFormat::round(double value) const {
  double code =
      (floats ? floats->round(value / scale) : std::nearbyint(value / scale)) +
      zeroPoint;
  if (saturates)
    code = std::clamp(code, codes.lo, codes.hi);
  return (code - zeroPoint) * scale;
}

double StorageFormat::roundingSquare(double value) const {
  value = std::fabs(value);
  if (value < flushAt())
    return value * value;
  if (value < growsFrom())
    return step() * step() / 12;
  double error = floats->unitRoundoff() * value;
  return kRoundingSquare * error * error;
}

bool StorageFormat::holds(const StorageFormat &other) const {
  return floats && other.floats && scale == other.scale &&
         floats->digits >= other.floats->digits &&
         floats->maxFinite >= other.floats->maxFinite &&
         floats->minSubnormal <= other.floats->minSubnormal;
}
