//===- Index.h - Where a tensor's elements lie, for the device -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index arithmetic in 64 bits. The device has no instruction for a division, so
// divisors become multipliers on the host.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_INDEX_H
#define MPOPT_KERNELS_CUDA_INDEX_H

#include "../lib/Element.h"

namespace mpopt::kernels::cuda {

MPOPT_HD uint64_t multiplyHigh(uint64_t a, uint64_t b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b);
#else
  return uint64_t((static_cast<unsigned __int128>(a) * b) >> 64);
#endif
}

/// Divides numbers below 2^63 by one divisor: with 2^(k-1) < d <= 2^k and m =
/// floor(2^(63+k) / d) + 1, which fits in 64 bits, n / d is floor(n m /
/// 2^(63+k)) (Granlund and Montgomery, "Division by Invariant Integers using
/// Multiplication", 1994, theorem 4.2).
struct Divider {
  uint64_t divisor = 1, multiplier = 0;
  uint32_t shift = 0; // k - 1; nothing of this counts for divisor 1

  Divider() = default;
  explicit Divider(uint64_t divisor) : divisor(divisor) {
    if (divisor < 2)
      return;
    int power = highestBit(divisor - 1) + 1;
    auto dividend = static_cast<unsigned __int128>(1) << (63 + power);
    multiplier = uint64_t(dividend / divisor + 1);
    shift = uint32_t(power - 1);
  }

  MPOPT_HD uint64_t quotient(uint64_t number) const {
    return divisor == 1 ? number : multiplyHigh(number, multiplier) >> shift;
  }
};

/// Smallest and largest finite value of a channel over all calls, as keys
/// (Slot.h).
struct ChannelKeys {
  unsigned long long min, max;
};

/// Element i of a dense tensor, in the order of memory, belongs to channel
/// i / inner % count.
struct DenseChannels {
  Divider inner, count;
  ChannelKeys *keys;
  /// Every how many vectors a thread takes one. `steady`: then a place in the
  /// vector has the same channel each time.
  uint64_t stride;
  bool steady;
};

/// The axes of a tensor with gaps, the one with the smallest stride first.
struct Axes {
  uint32_t rank;
  int32_t channelAxis; // -1: none to look at
  ChannelKeys *keys;
  Divider extent[MPOPT_MAX_DIMS];
  int64_t stride[MPOPT_MAX_DIMS];

  /// Offset of element i in the order of the axes, in elements from the first.
  MPOPT_HD int64_t offsetOf(uint64_t i, uint64_t &channel) const {
    int64_t offset = 0;
    channel = 0;
    for (uint32_t axis = 0; axis < rank; ++axis) {
      uint64_t rest = extent[axis].quotient(i);
      uint64_t index = i - rest * extent[axis].divisor;
      offset += int64_t(index) * stride[axis];
      if (int32_t(axis) == channelAxis)
        channel = index;
      i = rest;
    }
    return offset;
  }
};

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_INDEX_H
