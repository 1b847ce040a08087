//===- CudaPair.h - One tensor for the CUDA logic and for the CPU
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_TEST_CUDAPAIR_H
#define MPOPT_KERNELS_TEST_CUDAPAIR_H

#include "KernelTwin.h"
#include "Reference.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>

namespace mpopt::kernels::test {

inline std::unique_ptr<cuda::Slot> emptySlot() {
  auto slot = std::make_unique<cuda::Slot>();
  std::memset(static_cast<void *>(slot.get()), 0, sizeof(cuda::Slot));
  mpopt_record_init(&slot->record, 3, MPOPT_VALUE);
  cuda::clearScalars(slot->call);
  slot->next = &slot->ownNext;
  return slot;
}

/// A probe on the "device", and the record that the CPU makes of the same
/// calls.
class Pair {
public:
  explicit Pair(uint32_t dtype) : dtype(dtype) {
    mpopt_record_init(&expected, 3, MPOPT_VALUE);
  }

  /// `skew` elements into 16-byte aligned memory.
  void observe(const Data &data, std::vector<int64_t> dims, size_t skew = 0) {
    observe(data.bytes, bytesOf(dtype), dims, nullptr, -1, skew);
  }

  /// The tensor's first element is element `skew` of the bytes, moved to
  /// aligned memory; without strides the bytes are moved by `skew` elements.
  void observe(const std::vector<char> &bytes, size_t width,
               const std::vector<int64_t> &dims, const int64_t *strides,
               int32_t axis, size_t skew) {
    size_t room = bytes.size() + (strides ? 0 : skew * width);
    char *memory =
        static_cast<char *>(std::aligned_alloc(16, (room + 31) / 16 * 16));
    char *at = memory + skew * width;
    std::copy(bytes.begin(), bytes.end(), strides ? memory : at);
    mpopt_tensor tensor = {
        at, dtype, uint32_t(dims.size()), dims.data(), strides, axis, 0};
    observe(tensor);
    std::free(memory);
  }

  void observe(const mpopt_tensor &tensor) {
    cuda::View view;
    ASSERT_TRUE(cuda::viewOf(tensor, view));
    dense = view.dense;
    if (view.shape.channels && keys.empty()) {
      keys.resize(view.shape.channels, {cuda::kNoMinimum, cuda::kNoMaximum});
      ranges.resize(view.shape.channels, {kInf, -kInf});
    }
    bool fits = view.shape.channels && keys.size() == view.shape.channels;
    if (view.shape.channels && !fits)
      view.shape.flags |= MPOPT_CHANNELS_DROPPED;
    cuda::KernelTwin(*slot, {nullptr, step}, view, fits ? keys.data() : nullptr,
                     3, 64)
        .run();
    ASSERT_TRUE(mpopt_record_observe(&expected, fits ? ranges.data() : nullptr,
                                     &tensor, step, nullptr));
  }

  /// Integers, extremes and steps to the bit, sums within their error.
  void check() {
    SCOPED_TRACE("dtype " + std::to_string(dtype));
    mpopt_record got = slot->record, wanted = expected;
    if (dtype != MPOPT_F64) {
      double deviation = mpopt_exact_sum_value(&wanted.sum_squares);
      double unit =
          dtype == MPOPT_F16 || dtype == MPOPT_BF16 ? 0x1p-19 : 0x1p-40;
      EXPECT_NEAR(mpopt_exact_sum_value(&got.sum_squares), deviation,
                  unit * deviation);
      double magnitudes =
          std::sqrt(deviation * double(std::max<uint64_t>(1, got.count)));
      EXPECT_NEAR(mpopt_exact_sum_value(&got.sum),
                  mpopt_exact_sum_value(&wanted.sum), unit * magnitudes);
    }
    got.sum = wanted.sum;
    got.sum_squares = wanted.sum_squares;
    EXPECT_EQ(std::memcmp(&got, &wanted, sizeof(got)), 0);
    for (int bin = 0; bin < MPOPT_BINS; ++bin)
      ASSERT_EQ(got.histogram[bin], wanted.histogram[bin]) << "bin " << bin;
    EXPECT_EQ(got.count, wanted.count);
    EXPECT_EQ(got.min, wanted.min);
    EXPECT_EQ(got.max, wanted.max);
    EXPECT_EQ(got.min_nonzero, wanted.min_nonzero);
    EXPECT_EQ(got.zero, wanted.zero);
    EXPECT_EQ(got.channels, wanted.channels);
    EXPECT_EQ(got.flags, wanted.flags);
    for (size_t i = 0; i < wanted.channels; ++i) {
      ASSERT_EQ(cuda::doubleOf(cuda::bitsOfKey(keys[i].min)) + 0.0,
                ranges[i].min)
          << "channel " << i;
      ASSERT_EQ(cuda::doubleOf(cuda::bitsOfKey(keys[i].max)) + 0.0,
                ranges[i].max)
          << "channel " << i;
    }
  }

  const mpopt_record &record() const { return slot->record; }

  uint64_t step = 0;
  /// True if the last tensor was read as one piece of memory.
  bool dense = false;

private:
  uint32_t dtype;
  std::unique_ptr<cuda::Slot> slot = emptySlot();
  std::vector<cuda::ChannelKeys> keys;
  mpopt_record expected;
  std::vector<mpopt_channel_range> ranges;
};

} // namespace mpopt::kernels::test

#endif // MPOPT_KERNELS_TEST_CUDAPAIR_H
