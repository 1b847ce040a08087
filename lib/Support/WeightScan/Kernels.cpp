//===- Kernels.cpp - The inner loops of the weight scan
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include <cstring>
#include <type_traits>

using namespace mpopt::scan;

namespace {
template <typename T> T load(const char *data, uint64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T)); // any alignment
  return value;
}
} // namespace

/// Every quantity has the lane's own width, so that nothing is widened inside
/// the loop; comparisons are unsigned subtractions that vectorise everywhere.
template <typename T>
[[gnu::always_inline]] static inline void
tallyLanes(const char *data, uint64_t count, const Edges &edges, Tally &tally) {
  using S = std::make_signed_t<T>;
  constexpr unsigned signBit = 8 * sizeof(T) - 1;
  constexpr T magnitudeMask = T(~(T(1) << signBit));
  const T infinity = T(edges.infinity), overflowFrom = T(edges.overflowFrom),
          flushAt = T(edges.flushAt), minNormal = T(edges.minNormal);
  T zeros = 0, special = 0, nans = 0, large = 0, tiny = 0, small = 0;
  // Keys order like the values: magnitudes fit in a signed lane.
  S maxPositive = 0, maxNegative = 0;
  S minPositive = S(magnitudeMask), minNegative = S(magnitudeMask);
  for (uint64_t index = 0; index < count; ++index) {
    T bits = load<T>(data, index);
    S magnitude = S(bits & magnitudeMask);
    S negative = S(S(bits) >> signBit); // all ones or zero
    zeros += T(magnitude == 0);
    nans += T(magnitude > S(infinity));
    special += T(magnitude >= S(infinity));
    large += T(magnitude >= S(overflowFrom));
    tiny += T(magnitude <= S(flushAt));
    small += T(magnitude < S(minNormal));
    // A value that is not finite counts as zero for the largest and as the
    // mask, which is a NaN, for the smallest; so does zero for the latter.
    S finite = magnitude < S(infinity) ? magnitude : S(0);
    S present = finite != 0 ? finite : S(magnitudeMask);
    S ifPositive = S(finite & ~negative), ifNegative = S(finite & negative);
    maxPositive = maxPositive > ifPositive ? maxPositive : ifPositive;
    maxNegative = maxNegative > ifNegative ? maxNegative : ifNegative;
    S positive = S(present | (negative & S(magnitudeMask)));
    S opposite = S(present | (~negative & S(magnitudeMask)));
    minPositive = minPositive < positive ? minPositive : positive;
    minNegative = minNegative < opposite ? minNegative : opposite;
  }
  tally.zeros += zeros;
  tally.nans += nans;
  tally.infinities += T(special - nans);
  tally.overflows += T(large - special);
  tally.flushes += T(tiny - zeros);
  tally.subnormals += T(small - tiny);
  auto raise = [](uint64_t &to, S by) {
    if (uint64_t(by) > to)
      to = uint64_t(by);
  };
  auto lower = [](uint64_t &to, S by) {
    if (T(by) != magnitudeMask && uint64_t(by) < to)
      to = uint64_t(by);
  };
  raise(tally.maxPositive, maxPositive);
  raise(tally.maxNegative, maxNegative);
  lower(tally.minPositive, minPositive);
  lower(tally.minNegative, minNegative);
}

[[gnu::always_inline]] static inline void
tallyAny(const void *data, uint64_t count, unsigned bits, const Edges &edges,
         Tally &tally) {
  const char *bytes = static_cast<const char *>(data);
  if (bits == 16)
    return tallyLanes<uint16_t>(bytes, count, edges, tally);
  if (bits == 32)
    return tallyLanes<uint32_t>(bytes, count, edges, tally);
  tallyLanes<uint64_t>(bytes, count, edges, tally);
}

#if defined(__x86_64__)
// The baseline of x86-64 lacks the packed minima; most hosts have AVX2.
[[gnu::target("avx2")]] static void tallyWide(const void *data, uint64_t count,
                                              unsigned bits, const Edges &edges,
                                              Tally &tally) {
  tallyAny(data, count, bits, edges, tally);
}
#endif

void mpopt::scan::tallyBlock(const void *data, uint64_t count, unsigned bits,
                             const Edges &edges, Tally &tally) {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2");
  if (wide)
    return tallyWide(data, count, bits, edges, tally);
#endif
  tallyAny(data, count, bits, edges, tally);
}

void mpopt::scan::countBytes(const void *data, uint64_t count,
                             uint64_t *histogram) {
  // Four tables, because runs of one value would wait for each other.
  uint64_t tables[4][256] = {};
  const auto *bytes = static_cast<const unsigned char *>(data);
  uint64_t index = 0;
  for (; index + 4 <= count; index += 4)
    for (int table = 0; table < 4; ++table)
      ++tables[table][bytes[index + table]];
  for (; index < count; ++index)
    ++tables[0][bytes[index]];
  for (int byte = 0; byte < 256; ++byte)
    histogram[byte] +=
        tables[0][byte] + tables[1][byte] + tables[2][byte] + tables[3][byte];
}
