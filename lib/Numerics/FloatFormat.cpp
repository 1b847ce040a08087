//===- FloatFormat.cpp - The limits of every float format
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every number is derived from APFloat's semantics, so that a format is a line.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace mpopt;
using llvm::APFloat;

namespace {
enum Index { F64, F32, F16, BF16 };
} // namespace

static double toDouble(APFloat value) {
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

/// The smallest double that overflows under round-to-nearest-even. The
/// threshold lies half an ulp above the largest finite value; there the tie
/// goes to the even neighbour, which is the one above if the largest is odd.
static double getOverflowThreshold(const llvm::fltSemantics &semantics) {
  constexpr double infinity = kInfinity;
  if (&semantics == &APFloat::IEEEdouble())
    return infinity;
  unsigned digits = APFloat::semanticsPrecision(semantics);
  double largest = toDouble(APFloat::getLargest(semantics));
  double ulp = std::ldexp(1.0, std::ilogb(largest) - int(digits) + 1);
  double edge = largest + ulp / 2;
  bool odd = std::fmod(largest / ulp, 2) == 1;
  return odd ? edge : std::nextafter(edge, infinity);
}

static FloatFormat make(llvm::StringRef name,
                        const llvm::fltSemantics &semantics) {
  FloatFormat format;
  format.name = name;
  format.semantics = &semantics;
  format.bits = APFloat::semanticsSizeInBits(semantics);
  format.digits = APFloat::semanticsPrecision(semantics);
  format.hasInf = APFloat::semanticsHasInf(semantics);
  format.hasNaN = APFloat::semanticsHasNaN(semantics);
  format.hasZero = APFloat::semanticsHasZero(semantics);
  format.maxFinite = toDouble(APFloat::getLargest(semantics));
  format.minNormal = toDouble(APFloat::getSmallestNormalized(semantics));
  format.minSubnormal = toDouble(APFloat::getSmallest(semantics));
  format.overflowFrom = getOverflowThreshold(semantics);
  // Half the smallest value ties with zero, and zero is even.
  format.flushAt = format.hasZero ? format.minSubnormal / 2 : 0;
  return format;
}

llvm::ArrayRef<FloatFormat> FloatFormat::all() {
  static const FloatFormat formats[] = {
      make("f64", APFloat::IEEEdouble()),
      make("f32", APFloat::IEEEsingle()),
      make("f16", APFloat::IEEEhalf()),
      make("bf16", APFloat::BFloat()),
      make("tf32", APFloat::FloatTF32()),
      make("f8E5M2", APFloat::Float8E5M2()),
      make("f8E4M3FN", APFloat::Float8E4M3FN()),
      make("f8E5M2FNUZ", APFloat::Float8E5M2FNUZ()),
      make("f8E4M3FNUZ", APFloat::Float8E4M3FNUZ()),
      make("f8E8M0FNU", APFloat::Float8E8M0FNU()),
      make("f4E2M1FN", APFloat::Float4E2M1FN())};
  return formats;
}

const FloatFormat &FloatFormat::f64() { return all()[F64]; }
const FloatFormat &FloatFormat::f32() { return all()[F32]; }
const FloatFormat &FloatFormat::f16() { return all()[F16]; }
const FloatFormat &FloatFormat::bf16() { return all()[BF16]; }

const FloatFormat *FloatFormat::byName(llvm::StringRef name) {
  const auto *it = llvm::find_if(
      all(), [&](const FloatFormat &format) { return format.name == name; });
  return it == all().end() ? nullptr : it;
}

const FloatFormat *
FloatFormat::bySemantics(const llvm::fltSemantics &semantics) {
  const auto *it = llvm::find_if(all(), [&](const FloatFormat &format) {
    return format.semantics == &semantics;
  });
  return it == all().end() ? nullptr : it;
}

double FloatFormat::round(double value) const {
  // 53: the digits of the double that is rounded.
  constexpr unsigned kDoubleDigits = std::numeric_limits<double>::digits;
  double magnitude = std::fabs(value);
  if (!(magnitude > 0) || digits == kDoubleDigits)
    return value; // NaN and zeros stay what they are.
  if (magnitude >= overflowFrom)
    return std::copysign(kInfinity, value);
  if (magnitude <= flushAt)
    return std::copysign(0.0, value);
  if (magnitude < minNormal) {
    // The spacing no longer shrinks: at 1.5 2^52 times it, a double has it too.
    double shift = minNormal * epsilon() * 0x1.8p52;
    return std::copysign((magnitude + shift) - shift, value);
  }
  // To the nearest multiple of the last place that is kept, and of two equally
  // near to the one whose last bit is 0; a carry moves into the exponent. The
  // significand of a format of one digit has no last bit: 2^e is even.
  auto bits = std::bit_cast<std::uint64_t>(value);
  unsigned dropped = kDoubleDigits - digits;
  std::uint64_t half = std::uint64_t(1) << (dropped - 1);
  bool odd = digits == 1 || (bits >> dropped & 1);
  bits += half - 1 + odd;
  return std::bit_cast<double>(bits >> dropped << dropped);
}

bool FloatFormat::overflows(double value) const {
  return std::isfinite(value) && std::fabs(value) >= overflowFrom;
}

bool FloatFormat::flushes(double value) const {
  return value != 0 && std::fabs(value) <= flushAt;
}

bool FloatFormat::becomesSubnormal(double value) const {
  // From the smallest normal's half-ulp on a value rounds up to it; what counts
  // is the magnitude before rounding, as the hardware's denormal handling does.
  return std::fabs(value) > flushAt && std::fabs(value) < minNormal;
}
