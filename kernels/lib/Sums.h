//===- Sums.h - How the sums of a block are formed -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definition (Statistics.h) in plain C++; vector code follows it to the
// bit.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_SUMS_H
#define MPOPT_KERNELS_LIB_SUMS_H

#include "Element.h"

#include <type_traits>

namespace mpopt::kernels {

constexpr size_t kBlock = 4096;
constexpr int kLanes = 16;
/// Number of elements that vector code takes at a time.
constexpr size_t kTile = 4 * kBlock;
/// 16-bit dtypes are summed in FP32 over so many elements at most, 32 a lane.
constexpr size_t kChain = 512;
/// BF16 patterns whose squares FP32 sums cannot over- or underflow: magnitudes
/// in [2^-60, 2^60). Other blocks are summed in double.
constexpr uint32_t kShortSumBegin = (127 - 60) << 7;
constexpr uint32_t kShortSumEnd = (127 + 60) << 7;

/// How much of a block of a 16-bit dtype is summed in FP32.
constexpr size_t shortSumCount(size_t count) {
  return count < 128 ? 0 : count / 32 * 32;
}

/// BF16 elements at even places of sixteen, then those at odd ones: the order
/// in which they widen with one instruction.
template <class Decode> constexpr int laneOf(size_t i) {
  if constexpr (std::is_same_v<Decode, DecodeBF16>)
    return int(i % kLanes / 2 + i % 2 * (kLanes / 2));
  else
    return int(i % kLanes);
}

/// FP32 bits of element i, 0 if it is not finite.
template <class Decode> float finiteAt(const void *data, size_t i) {
  typename Decode::Word word;
  __builtin_memcpy(&word, static_cast<const char *>(data) + i * sizeof(word),
                   sizeof(word));
  uint32_t bits = Decode::decode(word);
  if ((bits & 0x7FFFFFFFu) >= kInf32)
    bits = 0;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

template <class Decode>
void sumWide(const void *data, size_t from, size_t count, double *sums,
             double *squares) {
  for (size_t i = from; i < count; ++i) {
    double value = finiteAt<Decode>(data, i);
    sums[laneOf<Decode>(i)] += value;
    squares[laneOf<Decode>(i)] += value * value;
  }
}

template <class Decode>
void sumShort(const void *data, size_t count, double *sums, double *squares) {
  for (size_t chain = 0; chain < count; chain += kChain) {
    float shortSums[kLanes] = {}, shortSquares[kLanes] = {};
    for (size_t i = chain; i < count && i < chain + kChain; ++i) {
      float value = finiteAt<Decode>(data, i);
      shortSums[laneOf<Decode>(i)] += value;
      // 11 bits squared are exact: no other rounding than that of the sum.
      shortSquares[laneOf<Decode>(i)] += value * value;
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      sums[lane] += shortSums[lane];
      squares[lane] += shortSquares[lane];
    }
  }
}

inline double foldLanes(double *lanes) {
  for (int width = kLanes / 2; width; width /= 2)
    for (int lane = 0; lane < width; ++lane)
      lanes[lane] += lanes[lane + width];
  return lanes[0];
}

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_SUMS_H
