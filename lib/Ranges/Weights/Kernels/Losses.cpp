//===- Losses.cpp - A second look at elements that are lost
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Losses.h"

#include "mpopt/Numerics/Infinity.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::kernels;
using llvm::ArrayRef;

int64_t Elements::find(uint64_t begin, uint64_t end,
                       llvm::function_ref<bool(double)> use) const {
  double values[kRead];
  for (uint64_t at = begin; at < end; at += kRead) {
    size_t count = std::min(kRead, end - at);
    std::pair<size_t, double> special[kRead];
    size_t specials = 0;
    reader.read(at, count, values, [&](size_t offset, uint8_t flag) {
      if (flag != WeightStorageOverflow)
        special[specials++] = {offset, flag == WeightNaN      ? NAN
                                       : flag == WeightPosInf ? kInfinity
                                                              : -kInfinity};
    });
    for (auto [offset, value] : ArrayRef(special, specials))
      values[offset] = value;
    for (size_t offset = 0; offset < count; ++offset)
      if (use(values[offset]))
        return int64_t(at + offset);
  }
  return -1;
}

WeightStats kernels::recount(const SummaryRequest &request,
                             const Elements &elements) {
  WeightStats stats;
  const FloatFormat &target = *request.target;
  int64_t index = 0;
  elements.find(0, request.size(), [&](double value) {
    auto count = [&](bool counted, uint64_t &number, int64_t *first) {
      if (counted && number++ == 0 && first)
        *first = index;
    };
    count(std::isnan(value), stats.nans, nullptr);
    count(std::isinf(value), stats.infinities, nullptr);
    count(value == 0, stats.zeros, nullptr);
    count(target.overflows(value), stats.overflows, &stats.firstOverflow);
    count(target.flushes(value), stats.flushes, &stats.firstFlush);
    count(target.becomesSubnormal(value), stats.subnormals, nullptr);
    ++index;
    if (!std::isfinite(value))
      return false;
    bool first = stats.min > stats.max;
    double size = std::fabs(value);
    stats.min = first ? value : std::min(stats.min, value);
    stats.max = first ? value : std::max(stats.max, value);
    stats.absMax = std::max(stats.absMax, size);
    if (size != 0 && (stats.minNonZero == 0 || size < stats.minNonZero))
      stats.minNonZero = size;
    return false;
  });
  return stats;
}

/// Most channels show by their first elements that they are not lost.
void kernels::findLostChannels(const SummaryRequest &request,
                               const Elements &elements, WeightStats &stats) {
  uint64_t size = request.size(), channel = request.channel;
  // Several channels or none: a single one is the tensor.
  if (channel == 0 || channel >= size || size % channel != 0 ||
      request.weights.bits() <= 8 ||
      stats.flushes < WeightStats::kMinLostChannel)
    return;
  for (uint64_t begin = 0; begin < size; begin += channel) {
    uint64_t lost = 0;
    int64_t kept = elements.find(begin, begin + channel, [&](double value) {
      bool flushes = request.target->flushes(value);
      lost += flushes;
      return !flushes && value != 0 && std::isfinite(value);
    });
    if (kept >= 0 || lost < WeightStats::kMinLostChannel)
      continue;
    if (stats.lostChannels++ == 0)
      stats.firstLostChannel = int64_t(begin / channel);
  }
}
