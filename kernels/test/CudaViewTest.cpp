//===- CudaViewTest.cpp - Strides, channels, integers and turns on a device
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Cases.h"
#include "CudaPair.h"

#include <gtest/gtest.h>

using namespace mpopt::kernels;
using namespace mpopt::kernels::test;

TEST(CudaViewTest, StridesInEveryDtype) {
  for (uint32_t dtype : allDtypes())
    for (const ViewCase &view : viewCases()) {
      Pair pair(dtype);
      pair.observe(bytesFor(dtype, kViewElements, dtype), cuda::bytesOf(dtype),
                   view.dims, view.strides.data(), -1, view.first);
      EXPECT_EQ(pair.dense, view.dense);
      pair.check();
    }
}

TEST(CudaViewTest, ChannelsOfEveryAxis) {
  for (uint32_t dtype :
       {MPOPT_F32, MPOPT_BF16, MPOPT_F64, MPOPT_F8E4M3FN, MPOPT_I8, MPOPT_U64})
    for (const ViewCase &view : viewCases())
      for (size_t axis = 0; axis < view.dims.size(); ++axis) {
        SCOPED_TRACE("axis " + std::to_string(axis));
        Pair pair(dtype);
        pair.observe(bytesFor(dtype, kViewElements, dtype),
                     cuda::bytesOf(dtype), view.dims, view.strides.data(),
                     int32_t(axis), view.first);
        pair.check();
        ASSERT_EQ(pair.record().channels, uint64_t(view.dims[axis]));
      }
}

/// Rounds of channels that are no multiple of a vector, any start, and so many
/// that a thread cannot stay in its channels.
TEST(CudaViewTest, ChannelsAndAlignment) {
  for (uint32_t dtype : allDtypes())
    for (const std::vector<int64_t> &dims : std::vector<std::vector<int64_t>>{
             {4, 3, 7}, {9, 1000, 3}, {1, 5}, {2, 4001}, {3, 0}, {7, 1, 9}})
      for (size_t skew : {0, 1, 5})
        for (int32_t axis : {0, 1}) {
          Pair pair(dtype);
          size_t size = 1;
          for (int64_t dim : dims)
            size *= size_t(dim);
          for (pair.step = 0; pair.step < 2; ++pair.step)
            pair.observe(bytesFor(dtype, size, pair.step), cuda::bytesOf(dtype),
                         dims, nullptr, axis, skew);
          pair.check();
        }
}

TEST(CudaViewTest, BackwardsAxes) {
  for (uint32_t dtype : allDtypes()) {
    std::vector<char> bytes = bytesFor(dtype, 24, 3);
    int64_t strides[] = {-6, 1}, both[] = {-6, -1};
    for (int32_t axis : {-1, 0, 1}) {
      Pair pair(dtype);
      pair.observe(bytes, cuda::bytesOf(dtype), {4, 6}, strides, axis, 18);
      EXPECT_EQ(pair.dense, axis != 0);
      pair.check();
      Pair other(dtype);
      other.observe(bytes, cuda::bytesOf(dtype), {4, 6}, both, axis, 23);
      EXPECT_EQ(other.dense, axis == -1);
      other.check();
    }
  }
}

/// As on the CPU: calls that differ in their channels leave none.
TEST(CudaViewTest, ChannelsThatDiffer) {
  std::vector<char> bytes = bytesFor(MPOPT_F32, 24, 1);
  for (const std::vector<int64_t> &second :
       std::vector<std::vector<int64_t>>{{6, 4}, {4, 6, 1, 1, 1}, {24}}) {
    Pair pair(MPOPT_F32);
    pair.observe(bytes, 4, {4, 6}, nullptr, 0, 0);
    EXPECT_EQ(pair.record().channels, 4u);
    pair.observe(bytes, 4, second, nullptr, second.size() > 1 ? 0 : 3, 0);
    pair.check();
    EXPECT_EQ(pair.record().channels, second[0] == 4 ? 4u : 0u);
  }
  Pair many(MPOPT_I8);
  many.observe(bytesFor(MPOPT_I8, 65537, 1), 1, {65537}, nullptr, 0, 0);
  many.check();
  EXPECT_EQ(many.record().flags, uint32_t(MPOPT_CHANNELS_DROPPED));
}

TEST(CudaViewTest, IntegersToTheirEnds) {
  for (uint32_t dtype : integerDtypes()) {
    unsigned width = cuda::bytesOf(dtype);
    for (int sign : {0, 1}) {
      std::vector<char> bytes;
      for (int i = 0; i < 100; ++i) {
        uint64_t value = sign == 0 ? ~0ull >> (i % 64) : 1ull << (i % 64);
        const char *from = reinterpret_cast<const char *>(&value);
        bytes.insert(bytes.end(), from, from + width);
      }
      Pair pair(dtype);
      pair.observe(bytes, width, {20, 5}, nullptr, 1, 0);
      pair.check();
    }
  }
}

/// Strings, complex numbers: their count.
TEST(CudaViewTest, CountAlone) {
  for (uint32_t dtype : {8u, 14u, 0u, 21u}) {
    Pair pair(dtype);
    int64_t dims[] = {3, 5};
    pair.observe({&pair, dtype, 2, dims, nullptr, 1, 0});
    pair.check();
    EXPECT_EQ(pair.record().count, 15u);
    EXPECT_EQ(pair.record().flags, uint32_t(MPOPT_COUNT_ONLY));
  }
}

TEST(CudaViewTest, WhatIsRefused) {
  alignas(16) float values[8] = {};
  cuda::View view;
  int64_t negative[] = {4, -1}, huge[] = {1ll << 40, 1ll << 40}, two[] = {2},
          most[] = {1ll << 62, 2};
  int64_t zeros[] = {0, 0};
  EXPECT_FALSE(cuda::viewOf({values, 1, 2, negative, nullptr, -1, 0}, view));
  EXPECT_FALSE(cuda::viewOf({values, 1, 2, huge, nullptr, -1, 0}, view));
  EXPECT_FALSE(cuda::viewOf({nullptr, 1, 1, two, nullptr, -1, 0}, view));
  EXPECT_FALSE(cuda::viewOf({values, 1, 1, nullptr, nullptr, -1, 0}, view));
  EXPECT_FALSE(cuda::viewOf({values, 1, 2, most, zeros, -1, 0}, view));
  // A load that is not aligned would end the process's context.
  const char *odd = reinterpret_cast<const char *>(values) + 2;
  EXPECT_FALSE(cuda::viewOf({odd, MPOPT_F32, 1, two, nullptr, -1, 0}, view));
  EXPECT_TRUE(cuda::viewOf({odd, MPOPT_F16, 1, two, nullptr, -1, 0}, view));
  // Nine axes that cannot be joined.
  std::vector<int64_t> dims(9, 2), strides;
  for (int64_t i = 0, stride = 1; i < 9; ++i, stride *= 3)
    strides.push_back(stride);
  EXPECT_FALSE(
      cuda::viewOf({values, 1, 9, dims.data(), strides.data(), -1, 0}, view));
  EXPECT_TRUE(
      cuda::viewOf({values, 1, 8, dims.data(), strides.data(), -1, 0}, view));
}

TEST(CudaViewTest, DivisionIn64Bits) {
  std::mt19937_64 random(5);
  constexpr uint64_t end = 1ull << 63;
  std::vector<uint64_t> divisors = {1, 2, 3, 5, 7, 10, 641, end - 1, end / 2};
  for (int i = 0; i < 63; ++i)
    for (int64_t near : {-1, 0, 1})
      divisors.push_back(std::max<uint64_t>(1, (1ull << i) + uint64_t(near)));
  for (int i = 0; i < 200; ++i)
    divisors.push_back(1 + (random() >> (1 + random() % 63)));
  for (uint64_t divisor : divisors) {
    cuda::Divider divider(divisor);
    std::vector<uint64_t> numbers = {0, 1, end - 1, end / 3};
    for (int i = 0; i < 100; ++i) {
      uint64_t number = random() >> (1 + random() % 63);
      uint64_t multiple = number / divisor * divisor;
      numbers.insert(numbers.end(),
                     {number, multiple, multiple - 1, multiple + divisor - 1});
    }
    for (uint64_t number : numbers)
      if (number < end) {
        ASSERT_EQ(divider.quotient(number), number / divisor)
            << number << " / " << divisor;
      }
  }
}

/// Offsets and channels beyond 2^31 and 2^32 elements, without the memory.
TEST(CudaViewTest, IndicesBeyond32Bits) {
  struct {
    std::vector<int64_t> dims, strides;
    int32_t axis;
  } cases[] = {{{70000, 3, 70000}, {300000, 100000, 1}, 1},
               {{1ll << 33, 2}, {3, 1}, 0},
               {{5, 1ll << 40}, {1ll << 41, 2}, 0},
               {{123457, 98765, 3}, {0, 3, -1}, 2}};
  std::mt19937_64 random(6);
  float value;
  for (auto &one : cases) {
    cuda::View view;
    // 2^33 channels are too many to keep, but not to count.
    int32_t axis = one.dims[size_t(one.axis)] > 65536 ? -1 : one.axis;
    ASSERT_TRUE(cuda::viewOf({&value, MPOPT_F32, uint32_t(one.dims.size()),
                              one.dims.data(), one.strides.data(), axis, 0},
                             view));
    ASSERT_FALSE(view.dense);
    uint64_t count = 1;
    for (int64_t dim : one.dims)
      count *= uint64_t(dim);
    EXPECT_EQ(view.shape.count, count);
    for (int i = 0; i < 1000; ++i) {
      uint64_t index = i == 0 ? count - 1 : random() % count, rest = index;
      // In the order of the view's axes.
      int64_t offset = 0, wantedChannel = 0;
      std::vector<size_t> order(one.dims.size());
      for (size_t k = 0; k < order.size(); ++k)
        order[k] = k;
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::abs(one.strides[a]) < std::abs(one.strides[b]);
      });
      for (size_t k : order) {
        uint64_t extent = uint64_t(one.dims[k]);
        offset += int64_t(rest % extent) * one.strides[k];
        if (int32_t(k) == axis)
          wantedChannel = int64_t(rest % extent);
        rest /= extent;
      }
      uint64_t channel;
      ASSERT_EQ(view.axes.offsetOf(index, channel), offset);
      ASSERT_EQ(axis < 0 ? 0 : channel, uint64_t(wantedChannel));
    }
  }
}

/// Threads that stay in their channels, and those that cannot.
TEST(CudaViewTest, StridesOfChannels) {
  float value;
  int64_t dims[] = {64, 56, 100};
  cuda::View view;
  ASSERT_TRUE(cuda::viewOf({&value, MPOPT_F32, 3, dims, nullptr, 1, 0}, view));
  EXPECT_EQ(view.inner, 100u);
  cuda::DenseChannels channels = cuda::denseChannels(view, 5000, nullptr);
  EXPECT_TRUE(channels.steady);
  EXPECT_EQ(channels.stride, 4200u); // three rounds of 56 x 100 / 4 vectors
  EXPECT_FALSE(cuda::denseChannels(view, 1399, nullptr).steady);
  EXPECT_EQ(cuda::denseChannels(view, 1399, nullptr).stride, 1399u);
  EXPECT_EQ(cuda::denseChannels(view, 1400, nullptr).stride, 1400u);
  int64_t large[] = {3, 1ll << 40};
  ASSERT_TRUE(cuda::viewOf({&value, MPOPT_F32, 2, large, nullptr, 0, 0}, view));
  EXPECT_FALSE(cuda::denseChannels(view, 1 << 20, nullptr).steady);
}

/// A call in a graph: all of its blocks agree, whatever is written meanwhile.
TEST(CudaViewTest, ControlsChangeDuringACall) {
  auto slot = emptySlot();
  float values[1000];
  for (int i = 0; i < 1000; ++i)
    values[i] = float(i);
  int64_t size = 1000;
  cuda::View view;
  ASSERT_TRUE(
      cuda::viewOf({values, MPOPT_F32, 1, &size, nullptr, -1, 0}, view));
  cuda::Control control = {1, 1, 7};
  auto launch = [&](auto change) {
    cuda::KernelTwin twin(*slot, {&control, 0}, view, nullptr, 3, 64);
    twin.meanwhile = [&](uint64_t block) {
      if (block == 1)
        change();
    };
    twin.run();
  };
  launch([&] { control = {0, 1, 8}; });
  EXPECT_EQ(slot->record.calls, 1u);
  EXPECT_EQ(slot->record.count, 1000u);
  EXPECT_EQ(slot->record.histogram[MPOPT_BIN_OF_EXPONENT(9)], 1000u - 512);
  EXPECT_EQ(slot->record.last_step, 7u);
  EXPECT_EQ(slot->record.skipped, 0u);
  launch([&] { control.enabled = 1; });
  EXPECT_EQ(slot->record.calls, 1u);
  EXPECT_EQ(slot->record.count, 1000u);
  EXPECT_EQ(slot->record.skipped, 1u);
  launch([] {});
  EXPECT_EQ(slot->record.last_step, 8u);
  EXPECT_EQ(slot->direct, 0u);
  EXPECT_EQ(slot->begun, slot->ended);
}

/// Without steps, calls in graphs go on after those launched directly, on
/// whichever stream.
TEST(CudaViewTest, StepsOfCallsInGraphs) {
  auto first = emptySlot(), second = emptySlot();
  second->next = &first->ownNext;
  float value = 1;
  cuda::View view;
  ASSERT_TRUE(
      cuda::viewOf({&value, MPOPT_F32, 0, nullptr, nullptr, -1, 0}, view));
  cuda::Control control = {1, 2, MPOPT_NEVER};
  auto launch = [&](cuda::Slot &slot, cuda::Turn turn) {
    cuda::KernelTwin(slot, turn, view, nullptr, 1, 32).run();
  };
  launch(*first, {nullptr, 4});
  EXPECT_EQ(first->direct, 1u);
  for (int replay = 0; replay < 4; ++replay) // 5 6 7 8
    launch(*second, {&control, 0});
  EXPECT_EQ(second->record.calls, 2u);
  EXPECT_EQ(second->record.skipped, 2u);
  EXPECT_EQ(second->record.first_step, 6u);
  EXPECT_EQ(second->record.last_step, 8u);
  EXPECT_EQ(second->direct, 0u);
}
