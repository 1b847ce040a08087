//===- Collisions.cpp - Sums of squares of softmax rows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With y = e^x and S the sum of all y, 1 / S^2 is the integral of u e^-uS over
// u > 0, and the terms of S are independent:
//
//   E sum_i y_i^2 / S^2 = n int u E[y^2 e^-uy] (E e^-uy)^(n-1) du
//
// Both expectations are sums over a grid of normal numbers, which converge
// fast, as the integral over ln u does.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Collisions.h"

#include "mpopt/Numerics/Likely.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

using namespace mpopt;

/// Rows of 2^0 to 2^20 elements, and deviations up to 6 in quarters.
static constexpr int kCounts = 21, kDeviations = 25;
static constexpr double kPerDeviation = 4;

/// ln of the collisions for one deviation, by the binary logarithm of the
/// number of elements.
static std::array<double, kCounts> integrate(double deviation) {
  // Of normal numbers: both sums have four digits with them.
  constexpr double kStep = 0.25, kFar = 8;
  // Of ln u: less than the width of both factors.
  double step = kStep * std::max(1.0, deviation);
  double from = -kCounts * std::numbers::ln2 - kFar * deviation - 4,
         to = kFar * deviation + 5;
  std::array<double, kCounts> sums = {};
  for (int at = 0; from + at * step < to; ++at) {
    double t = from + at * step, first = 0, second = 0;
    for (int point = 0; point <= int(2 * kFar / kStep); ++point) {
      double x = point * kStep - kFar;
      double density =
          std::exp(-x * x / 2) * kStep / std::sqrt(2 * std::numbers::pi);
      double its = density * std::exp(-std::exp(t + deviation * x));
      first += its;
      second += its * std::exp(2 * (deviation * x + t));
    }
    for (int index = 0; index < kCounts; ++index) {
      double count = std::ldexp(1, index);
      sums[index] += count * step * second *
                     std::exp((count - 1) * std::log(std::max(first, 1e-300)));
    }
  }
  for (double &sum : sums)
    sum = std::log(std::min(sum, 1.0));
  sums.front() = 0;
  return sums;
}

double mpopt::expectedCollisions(double count, double variance) {
  static const std::vector<std::array<double, kCounts>> table = [] {
    std::vector<std::array<double, kCounts>> rows;
    for (int index = 0; index < kDeviations; ++index)
      rows.push_back(integrate(index / kPerDeviation));
    return rows;
  }();
  // One element has the row where logits are infinitely far apart; nothing is
  // known of them where their variance is not.
  if (!(count > 1) || !std::isfinite(count) || !std::isfinite(variance))
    return 1;
  // The last deviation of the table.
  constexpr double kLast = (kDeviations - 1) / kPerDeviation;
  double deviation = std::sqrt(std::max(variance, 0.0));
  double within = std::min(deviation, kLast), of = std::log2(count);
  int row = std::min(int(within * kPerDeviation), kDeviations - 2),
      column = std::min(int(of), kCounts - 2);
  // For small variances v the logarithm is v - ln n.
  double low = row / kPerDeviation, high = (row + 1) / kPerDeviation;
  double share = (within * within - low * low) / (high * high - low * low);
  auto along = [&](int index) {
    const auto &logarithms = table[size_t(index)];
    return logarithms[column] +
           (logarithms[column + 1] - logarithms[column]) * (of - column);
  };
  double collisions =
      std::exp(along(row) + (along(row + 1) - along(row)) * share);
  // Far out the gap between the two largest decides, 1 - m / sigma with m the
  // expected largest: what the integral has more or less fades.
  if (deviation > kLast) {
    auto others = [&](double at) {
      double ratio = expectedMaximum(count) / at;
      return ratio * (1 + 1.4 * ratio);
    };
    double more = (1 / collisions - 1) / others(kLast);
    collisions =
        1 / (1 + others(deviation) * std::pow(more, kLast / deviation));
  }
  return std::clamp(collisions, 1 / count, 1.0);
}
