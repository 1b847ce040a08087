//===- Logistic.cpp - Exponentials of many numbers at once
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Logistic.h"

#include "Quadrature.h"
#include "mpopt/Numerics/InstructionSets.h"

#include <bit>
#include <cmath>
#include <cstdint>

using namespace mpopt;

namespace {
/// e^x = 2^k e^r with k = x / ln 2, rounded, and |r| < 0.3466. ln 2 is taken in
/// two parts, the first of 32 bits, so that k times it is exact. The series of
/// e^r is cut after r^13 / 13!: the rest is below 5e-18 of e^r, and Horner's
/// rule adds 3 units in the last place at most.
MPOPT_INLINE double exponential(double x) {
  constexpr double kPerBit = 1.4426950408889634, kBit = 0x1.62e42feep-1,
                   kBitRest = 0x1.a39ef35793c76p-33;
  double at = clampTo(x, -708, 710);
  // The nearest integer is in the last bits.
  double shifted = at * kPerBit + 0x1.8p52;
  double whole = shifted - 0x1.8p52;
  double r = (at - whole * kBit) - whole * kBitRest;
  constexpr double terms[] = {1,
                              1,
                              1.0 / 2,
                              1.0 / 6,
                              1.0 / 24,
                              1.0 / 120,
                              1.0 / 720,
                              1.0 / 5040,
                              1.0 / 40320,
                              1.0 / 362880,
                              1.0 / 3628800,
                              1.0 / 39916800,
                              1.0 / 479001600,
                              1.0 / 6227020800};
  double sum = terms[13];
#pragma clang loop unroll(full)
  for (int i = 13; i-- > 0;)
    sum = sum * r + terms[i];
  // In two steps, as 2^1024 is no double.
  int64_t power =
      std::bit_cast<int64_t>(shifted) - std::bit_cast<int64_t>(0x1.8p52);
  int64_t half = power >> 1, rest = power - half;
  double result = sum * std::bit_cast<double>((half + 1023) << 52) *
                  std::bit_cast<double>((rest + 1023) << 52);
  return x < -708 ? 0 : result;
}

MPOPT_INLINE void expAll(double *numbers, size_t count) {
  for (size_t i = 0; i < count; ++i)
    numbers[i] = exponential(numbers[i]);
}

MPOPT_INLINE double logistic(double x, double rest) {
  return 1 / (1 + exponential(rest - x));
}

MPOPT_INLINE void logisticAll(const LikelyArrays &x,
                              const double *__restrict rest) {
  double *__restrict means = x.mean.data();
  double *__restrict variances = x.variance.data();
  double *__restrict los = x.lo.data();
  double *__restrict his = x.hi.data();
  double total = 0;
  for (const QuadratureNode &node : kNodes)
    total += node.at == 0 ? node.weight : 2 * node.weight;
  for (size_t i = 0, count = x.mean.size(); i < count; ++i) {
    double from = rest[i], lo = los[i], hi = his[i], centre = means[i];
    double sigma = std::sqrt(variances[i]);
    double values[2 * std::size(kNodes) - 1];
    double mean = 0;
#pragma clang loop unroll(full)
    for (size_t k = 0; k < std::size(kNodes); ++k) {
      double step = kNodes[k].at * sigma;
      double above = logistic(clampTo(centre + step, lo, hi), from);
      values[k] = above;
      if (k == 0) {
        mean += kNodes[k].weight * above;
        continue;
      }
      double below = logistic(clampTo(centre - step, lo, hi), from);
      values[std::size(kNodes) - 1 + k] = below;
      mean += kNodes[k].weight * (above + below);
    }
    mean /= total;
    // Around the mean: the difference of large moments would cancel.
    double variance = 0;
#pragma clang loop unroll(full)
    for (size_t k = 0; k < std::size(kNodes); ++k) {
      double off = values[k] - mean;
      variance += kNodes[k].weight * off * off;
      if (k == 0)
        continue;
      off = values[std::size(kNodes) - 1 + k] - mean;
      variance += kNodes[k].weight * off * off;
    }
    variance /= total;
    double low = logistic(lo, from), high = logistic(hi, from);
    mean = clampTo(mean, low, high);
    double most = (high - mean) * (mean - low);
    means[i] = mean;
    variances[i] = variance < most ? variance : most;
    los[i] = low;
    his[i] = high;
  }
}
} // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): TARGET is an attribute.
#define LOOPS_FOR(NAME, BYTES, TARGET)                                         \
  namespace {                                                                  \
  namespace NAME {                                                             \
  TARGET void exp(double *numbers, size_t count) { expAll(numbers, count); }   \
  TARGET void logistic(const LikelyArrays &x, const double *rest) {            \
    logisticAll(x, rest);                                                      \
  }                                                                            \
  ExponentialLoops all() { return {exp, logistic}; }                           \
  }                                                                            \
  }
// NOLINTEND(bugprone-macro-parentheses)

MPOPT_FOR_INSTRUCTION_SETS(LOOPS_FOR)

const std::vector<ExponentialLoops> &mpopt::allExponentialLoops() {
  static const std::vector<ExponentialLoops> found =
      MPOPT_RUNNABLE_LOOPS(ExponentialLoops);
  return found;
}

const ExponentialLoops &mpopt::exponentialLoops() {
  static const ExponentialLoops &best = allExponentialLoops().back();
  return best;
}
