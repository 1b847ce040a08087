//===- LostShare.h - What is lost at each loss scale ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The share of a tensor's elements that are 0 in a narrow format although the
// exact gradient is not, for every power of two by which the loss is scaled.
// Shares travel with the gradient: an element that is lost stays lost, and a
// sum is lost if all of its terms are.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRADIENTS_LOSTSHARE_H
#define MPOPT_GRADIENTS_LOSTSHARE_H

#include <array>
#include <cmath>
#include <cstddef>

namespace mpopt {

class LostShare {
public:
  /// The loss scales that are looked at: 2^kFirst to 2^kLast.
  static constexpr int kFirst = -24, kLast = 60;
  static constexpr size_t kCount = kLast - kFirst + 1;

  /// Nothing is lost at any scale.
  LostShare() : shares{} {}

  /// At the loss scale 2^exponent, in [0, 1]; exponents beyond the range have
  /// the share of its end.
  double at(int exponent) const { return shares[indexOf(exponent)]; }
  double &operator[](size_t index) { return shares[index]; }
  double operator[](size_t index) const { return shares[index]; }
  static int exponentOf(size_t index) { return kFirst + int(index); }

  /// The share lost on the way, and the share of the rest that is lost here.
  LostShare then(const LostShare &next) const {
    LostShare result;
    for (size_t i = 0; i < kCount; ++i)
      result.shares[i] = 1 - (1 - shares[i]) * (1 - next.shares[i]);
    return result;
  }
  /// The share of sums of `count` independent terms all of which are lost.
  LostShare ofSums(double count) const {
    LostShare result;
    for (size_t i = 0; i < kCount; ++i)
      result.shares[i] = std::pow(shares[i], count);
    return result;
  }
  /// The share in a mixture of both, in which this one has that part.
  LostShare mixedWith(const LostShare &other, double part) const {
    LostShare result;
    for (size_t i = 0; i < kCount; ++i)
      result.shares[i] = part * shares[i] + (1 - part) * other.shares[i];
    return result;
  }
  /// The share of sums of two values that are not 0 in those parts of the
  /// elements, wherever these lie: where only one is there, it is what may be
  /// lost.
  LostShare inSum(const LostShare &other, double own, double its) const {
    double alone = own * (1 - its), others = its * (1 - own), both = own * its;
    double all = alone + others + both;
    LostShare result;
    for (size_t i = 0; i < kCount && all > 0; ++i)
      result.shares[i] = (alone * shares[i] + others * other.shares[i] +
                          both * shares[i] * other.shares[i]) /
                         all;
    return result;
  }
  /// The share of sums of two values of which both are lost.
  LostShare both(const LostShare &other) const {
    LostShare result;
    for (size_t i = 0; i < kCount; ++i)
      result.shares[i] = shares[i] * other.shares[i];
    return result;
  }

private:
  static size_t indexOf(int exponent) {
    return exponent <= kFirst  ? 0
           : exponent >= kLast ? kCount - 1
                               : size_t(exponent - kFirst);
  }

  std::array<double, kCount> shares;
};

} // namespace mpopt

#endif // MPOPT_GRADIENTS_LOSTSHARE_H
