//===- Storage.cpp - What a format keeps of estimated numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Storage.h"

#include <algorithm>
#include <numbers>

using namespace mpopt;

/// Below this spread of the logarithm numbers are the same.
static constexpr double kConstant = 1e-4;

void SizeMixture::add(double square, double part) {
  if (!(square > 0) || !std::isfinite(square) || !(part > 0))
    return;
  // The logarithm of the root is half that of the square.
  parts[int(std::lround(std::log2(square)))] += part;
}

double mpopt::probabilityBelow(double limit, double factors) {
  if (factors == 1)
    return std::erf(limit / std::numbers::sqrt2);
  if (factors < kConstant)
    return limit >= 1 ? 1 : 0;
  // E log|x| of a standard normal number, and its variance.
  constexpr double kMean = -(std::numbers::egamma + std::numbers::ln2) / 2;
  constexpr double kVariance = std::numbers::pi * std::numbers::pi / 8;
  // A number of one sign and that root mean square has this mean.
  double mean = factors < 1 ? -kVariance * factors : kMean * factors;
  double z = (std::log(limit) - mean) / std::sqrt(kVariance * factors);
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

double mpopt::probabilityAbove(double limit, double factors) {
  if (factors < 1)
    return 1 - probabilityBelow(limit, factors);
  if (factors == 1)
    return std::erfc(limit / std::numbers::sqrt2);
  // (2 f - 1)!! is the second moment of the f-th power of a normal number.
  double square = std::exp2(factors) * std::tgamma(factors + 0.5) /
                  std::sqrt(std::numbers::pi);
  double root = std::pow(limit * std::sqrt(square), 1 / factors);
  return std::erfc(root / std::numbers::sqrt2);
}

LostShare SizeMixture::flushed(const FloatFormat &format,
                               double factors) const {
  LostShare result;
  double all = 0;
  for (auto [size, part] : parts)
    all += part;
  for (auto [size, part] : parts)
    for (size_t i = 0; i < LostShare::kCount; ++i) {
      double scale = std::exp2(size / 2.0 + LostShare::exponentOf(i));
      result[i] +=
          part / all * probabilityBelow(format.flushAt / scale, factors);
    }
  return result;
}

std::map<int, double> SizeMixture::histogram(double factors) const {
  std::map<int, double> shares;
  // Shares below a thousandth are left out; 40 binades, as many as FP16 has
  // with its subnormals, are followed to each side of a size.
  constexpr double kLeast = 1e-3;
  constexpr int kReach = 40;
  double all = 0;
  for (auto [size, part] : parts)
    all += part;
  for (auto [size, part] : parts) {
    double root = std::exp2(size / 2.0);
    int middle = int(std::floor(size / 2.0));
    double below = probabilityBelow(std::exp2(middle - kReach) / root, factors);
    for (int exponent = middle - kReach; exponent < middle + kReach;
         ++exponent) {
      double next = probabilityBelow(std::exp2(exponent + 1) / root, factors);
      if (next > below)
        shares[exponent] += part / all * (next - below);
      below = next;
    }
  }
  std::erase_if(shares,
                [](const auto &entry) { return entry.second < kLeast; });
  return shares;
}

double SizeMixture::shareBelow(double limit, double factors) const {
  double all = 0, below = 0;
  for (auto [size, part] : parts) {
    all += part;
    below += part * probabilityBelow(limit / std::exp2(size / 2.0), factors);
  }
  return all > 0 ? below / all : 0;
}

double SizeMixture::largest(double count, double factors) const {
  if (parts.empty())
    return 0;
  double all = 0;
  for (auto [size, part] : parts)
    all += part;
  // In binary logarithms: sizes reach from subnormals to overflow.
  auto exceeding = [&](double exponent) {
    double sum = 0;
    for (auto [size, part] : parts)
      sum += part / all *
             probabilityAbove(std::exp2(exponent - size / 2.0), factors);
    return sum * count;
  };
  double lo = parts.begin()->first / 2.0 - 4,
         hi = parts.rbegin()->first / 2.0 + 12;
  // To a hundredth of the size, from the 2^12 exponents of doubles: 19 steps.
  constexpr int kMostSteps = 24;
  const double kClose = std::log2(1.01);
  for (int step = 0; step < kMostSteps && hi - lo > kClose; ++step) {
    double mid = (lo + hi) / 2;
    (exceeding(mid) > std::numbers::ln2 ? lo : hi) = mid;
  }
  return std::exp2(hi);
}

int mpopt::mostExponent(double absMax, const FloatFormat &format) {
  if (!(absMax > 0))
    return LostShare::kLast;
  if (!std::isfinite(absMax))
    return LostShare::kFirst - 1;
  int exponent = int(std::ceil(std::log2(format.overflowFrom / absMax))) - 1;
  return std::clamp(exponent, LostShare::kFirst - 1, LostShare::kLast);
}
