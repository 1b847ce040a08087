//===- SoftmaxEstimate.cpp - Expected values of softmax rows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/SoftmaxEstimate.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Masking.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using llvm::SmallVector;

/// A group whose logits end this far below where the largest group's begin adds
/// nothing to the sum.
static constexpr double kNothing = 40;

bool mpopt::isBimodal(const Cell &cell) {
  double above = cell.likelyHi - cell.mean, below = cell.mean - cell.likelyLo;
  return !(cell.variance <= 0.3 * above * below);
}

bool mpopt::isPartlyMasked(const Cell &cell) {
  return cell.likelyHi - cell.likelyLo > -maskedBelow() && isBimodal(cell);
}

double mpopt::expectedLogSumExp(double mean, double variance, double count) {
  // One draw: what e^x is typically, not on average.
  if (count <= 1)
    return mean;
  double deviation = std::sqrt(variance);
  double largest = expectedMaximum(count);
  // From where its slope is that of the largest element on, the tangent.
  double extra =
      deviation <= largest ? variance / 2 : largest * (deviation - largest / 2);
  return mean + std::log(count) + extra;
}

std::vector<SoftmaxRow> mpopt::estimateSoftmaxRows(const AbstractValue &x,
                                                   const AbstractValue &rows,
                                                   double count) {
  struct Sums {
    double top = -kInfinity, cells = 0;
    double live = 0, mean = 0, second = 0;
  };
  std::vector<Sums> sums(rows.groups());
  SmallVector<uint32_t> rowOf = getPositions(rows.dims(), x.dims());
  for (auto [group, row] : llvm::enumerate(rowOf)) {
    double deviation = std::sqrt(x.cells().get(Field::Variance, group));
    double low = x.cells().get(Field::Mean, group) - deviation;
    sums[row].top = std::max(sums[row].top, low);
    ++sums[row].cells;
  }
  for (auto [group, row] : llvm::enumerate(rowOf)) {
    Sums &sum = sums[row];
    double variance = x.cells().get(Field::Variance, group);
    // Relative to the top: masks are huge.
    double mean = x.cells().get(Field::Mean, group) - sum.top;
    if (mean + 3 * std::sqrt(variance) < -kNothing)
      continue;
    ++sum.live;
    sum.mean += mean;
    sum.second += variance + mean * mean;
  }
  std::vector<SoftmaxRow> result;
  for (const Sums &sum : sums) {
    SoftmaxRow row;
    double live = std::max(sum.live, 1.0), mean = sum.mean / live;
    row.live = std::max(1.0, count * live / std::max(sum.cells, 1.0));
    row.logSum =
        sum.top +
        expectedLogSumExp(mean, std::max(0.0, sum.second / live - mean * mean),
                          row.live);
    if (!std::isfinite(row.logSum))
      row.logSum = 0;
    result.push_back(row);
  }
  return result;
}
