//===- Storage.h - What a format keeps of estimated numbers -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_GRADIENTS_STORAGE_H
#define MPOPT_LIB_GRADIENTS_STORAGE_H

#include "mpopt/Gradients/LostShare.h"
#include "mpopt/Numerics/FloatFormat.h"

#include <map>

namespace mpopt {

/// A mixture of random numbers of mean 0 by their size: parts whose root mean
/// squares lie in the same half of a binary order are one.
class SizeMixture {
public:
  /// Adds numbers of that second moment, which are not 0.
  void add(double square, double part);
  void add(const SizeMixture &other) {
    for (auto [size, part] : other.parts)
      parts[size] += part;
  }
  /// The share of the numbers that `format` rounds to 0 when they are
  /// multiplied by each loss scale. `factors`: so many normal numbers were
  /// multiplied (1: they are normal themselves).
  LostShare flushed(const FloatFormat &format, double factors) const;
  /// The shares with 2^e <= |x| < 2^(e+1), by e, of a thousandth or more.
  std::map<int, double> histogram(double factors) const;
  /// The share of the numbers whose magnitude is at most `limit`; 0 if there
  /// are none.
  double shareBelow(double limit, double factors) const;
  /// The largest magnitude that is expected of `count` such numbers: as many
  /// of them exceed it as leave an even chance that none does.
  double largest(double count, double factors) const;
  bool empty() const { return parts.empty(); }

private:
  /// By twice the binary logarithm of the root mean square, rounded.
  std::map<int, double> parts;
};

/// The probability that a product of `factors` standard normal numbers is below
/// `limit` in magnitude. Logarithms of factors add up, each with mean
/// -(gamma + ln 2) / 2 and variance pi^2 / 8; their sum is taken as normal,
/// which is exact for a single factor here and near it for several. Fewer than
/// one: numbers of one sign with a logarithm that varies less, down to none.
double probabilityBelow(double limit, double factors);

/// The probability that it is above, for large limits: the tail of a product is
/// near that of the power of one normal number, which has the same logarithm's
/// slope.
double probabilityAbove(double limit, double factors);

/// The greatest exponent k for which 2^k absMax does not overflow in `format`.
int mostExponent(double absMax, const FloatFormat &format);

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_STORAGE_H
