//===- ConstantText.cpp - How findings speak about constants
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/ConstantText.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstdio>

std::string mpopt::formatNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

static std::string formatPercent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", 100 * share);
  return share == 1 ? "100" : text;
}

std::string mpopt::describeLoss(const WeightStats &stats, uint64_t lost,
                                int64_t first, const llvm::Twine &what) {
  if (stats.elements == 1)
    return ("its value " + formatNumber(stats.min) + " is " + what).str();
  return llvm::formatv("{0} of {1} values ({2} %), the first at index {3}, are "
                       "{4}; magnitudes from {5} to {6}",
                       lost, stats.elements,
                       formatPercent(double(lost) / double(stats.elements)),
                       first, what.str(), formatNumber(stats.minNonZero),
                       formatNumber(stats.absMax));
}
