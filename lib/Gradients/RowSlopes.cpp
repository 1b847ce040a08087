//===- RowSlopes.cpp - Slopes of norms and products of rows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowSlopes.h"

#include "mpopt/Ranges/Value/CellSupport.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;

std::optional<RowNorm> RowNorm::make(const AbstractValue &x, double p,
                                     double count) {
  if (!x.hasLikely() || !(p >= 1 || p == 0) || !(count >= 1))
    return std::nullopt;
  RowNorm row;
  row.p = p;
  row.count = count;
  if (p == 0) {
    row.norm = count;
    return row;
  }
  double most = 0, power = 0;
  for (const Cell &cell : x.cells()) {
    most = std::max(most, cells::getLikely(cell).absMax());
    if (!std::isinf(p))
      power += momentsOf(cell.mean, cell.variance, [&](double value) {
                 return std::pow(std::fabs(value), p);
               }).mean;
  }
  row.norm = std::isinf(p)
                 ? most
                 : std::pow(count * power / double(x.groups()), 1 / p);
  if (!(row.norm > 0) || !std::isfinite(row.norm))
    return std::nullopt;
  return row;
}

Moments RowNorm::slope(const Cell &x) const {
  if (p == 0)
    return {};
  double square = x.mean * x.mean + x.variance;
  if (std::isinf(p)) {
    double sign = square > 0 ? x.mean / std::sqrt(square) : 0;
    return {sign / count, sign * sign / (count * count), 1 / count};
  }
  Moments slope = momentsOf(x.mean, x.variance, [&](double value) {
    return std::copysign(std::pow(std::fabs(value) / norm, p - 1), value);
  });
  slope.square = std::min(slope.square, 1.0);
  return slope;
}

double RowNorm::steepest(const Cell &x) const {
  if (p == 0)
    return 0;
  return std::isinf(p)
             ? 1
             : std::min(1.0,
                        std::pow(cells::getLikely(x).absMax() / norm, p - 1));
}

Moments mpopt::cumulativeProductSlope(const Moments &dy, const Moments &x,
                                      int64_t count) {
  double mean = 0, square = 0;
  // m + m^2 + ... up to the places behind j, from the last j on.
  double behind = 0;
  for (int64_t j = count; j >= 1; --j) {
    double products = double(j) * std::pow(x.square, double(j - 1));
    mean += double(j) * std::pow(x.mean, double(j - 1));
    square += products * (dy.square + 2 * dy.common * behind);
    behind = x.mean * (1 + behind);
  }
  mean *= dy.mean / double(count);
  square /= double(count);
  return {mean, mean * mean, std::max(square, mean * mean)};
}

Moments mpopt::cofactorSlope(const Moments &dy, const Moments &x,
                             int64_t size) {
  if (size == 1)
    return dy;
  double k = double(size - 1), variance = x.variance();
  return {0, 0,
          dy.square * std::tgamma(k + 1) * std::pow(variance, k - 1) *
              (variance + k * x.mean * x.mean)};
}
