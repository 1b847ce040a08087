//===- FactorSums.h - Codes beside the numbers they stand for ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With w the numbers before quantisation and q those for which codes and scale
// stand, <w, q> / <q, q> is the factor by which the scale has to be multiplied
// to fit best, and 1 - <w, q>^2 / (<w, w> <q, q>) the share of the square of w
// that no scale gives back.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_FACTORSUMS_H
#define MPOPT_NUMERICS_FACTORSUMS_H

#include <algorithm>
#include <cmath>

namespace mpopt {

struct FactorSums {
  double ww = 0, wq = 0, qq = 0;

  void add(double w, double q) {
    ww += w * w;
    wq += w * q;
    qq += q * q;
  }
  double factor() const { return wq / qq; }
  /// False where all is 0 on either side.
  bool isKnown() const { return qq > 0 && ww > 0 && std::isfinite(ww + qq); }
  double rest() const { return 1 - wq * wq / (ww * qq); }
  /// The sum of the squares of w - q, and of w / factor - q.
  double difference() const { return ww - 2 * wq + qq; }
  double differenceAtBest() const {
    return wq == 0 ? ww + qq : qq * (ww * qq / (wq * wq) - 1);
  }

  /// A fifth of the square is beyond what any 4 bits lose.
  static constexpr double kMostRest = 0.2;
  bool areOthers() const { return rest() > kMostRest; }
  /// A tenth is beyond what rounding and clipping move the best factor by.
  static constexpr double kMostFactor = 1.1;
  bool isOff() const {
    double size = std::fabs(factor());
    return std::max(size, 1 / size) > kMostFactor || factor() < 0;
  }
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_FACTORSUMS_H
