//===- TensorTest.cpp - Threads, strides, channels, sizes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reference.h"

#include <gtest/gtest.h>
#include <thread>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace mpopt::kernels::test;

static mpopt_record observe(const mpopt_tensor &tensor,
                            const mpopt_parallel *parallel = nullptr,
                            mpopt_channel_range *channels = nullptr) {
  mpopt_record record;
  mpopt_record_init(&record, 0, MPOPT_VALUE);
  EXPECT_TRUE(mpopt_record_observe(&record, channels, &tensor, 0, parallel));
  return record;
}

static mpopt_tensor tensorOf(const Data &data, const std::vector<int64_t> &dims,
                             const int64_t *strides = nullptr, int axis = -1) {
  return {data.bytes.data(),
          data.dtype,
          uint32_t(dims.size()),
          dims.data(),
          strides,
          axis,
          0};
}

static void runOnThreads(void *, size_t count, void (*task)(void *, size_t),
                         void *data) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back(task, data, i);
  for (std::thread &thread : threads)
    thread.join();
}

/// Squares by channel of any dtype, read as they lie or by strides, by one
/// thread and by several.
TEST(TensorTest, SquaresByChannel) {
  for (uint32_t dtype :
       {MPOPT_F32, MPOPT_F16, MPOPT_BF16, MPOPT_F64, MPOPT_F8E5M2})
    for (bool strided : {false, true})
      for (uint64_t inner : {1, 7, 700}) {
        constexpr int64_t kChannels = 43;
        Data data = randomData(dtype, 2 * 43 * 2100, 1, 4);
        for (size_t i = 0; i < data.size(); ++i)
          if (!std::isfinite(data.value(i)) || std::fabs(data.value(i)) > 100)
            std::memset(&data.bytes[i * bytesOf(dtype)], 0, bytesOf(dtype));
        int64_t outer = 2100 / int64_t(inner);
        std::vector<int64_t> dims = {outer, kChannels, int64_t(inner)};
        // With strides every other element.
        int64_t step = strided ? 2 : 1;
        std::vector<int64_t> strides = {step * kChannels * int64_t(inner),
                                        step * int64_t(inner), step};
        mpopt_tensor tensor =
            tensorOf(data, dims, strided ? strides.data() : nullptr);
        std::vector<double> expected(kChannels);
        for (int64_t i = 0; i < outer * kChannels * int64_t(inner); ++i) {
          double value = data.value(size_t(step * i));
          expected[size_t(i / int64_t(inner) % kChannels)] += value * value;
        }
        for (unsigned threads : {1u, 3u}) {
          mpopt_parallel parallel = {runOnThreads, nullptr, threads};
          std::vector<double> sums(kChannels, 1.0);
          mpopt_squares squares = {inner, kChannels, sums.data()};
          EXPECT_TRUE(mpopt_add_squares(&tensor, &squares, &parallel));
          for (size_t i = 0; i < kChannels; ++i)
            EXPECT_NEAR(sums[i] - 1, expected[i], 1e-5 * expected[i])
                << "dtype " << dtype << ", inner " << inner;
        }
      }
  Data integers{MPOPT_I32, std::vector<char>(40)};
  std::vector<int64_t> dims = {10};
  double sum = 3;
  mpopt_squares squares = {10, 1, &sum};
  mpopt_tensor tensor = tensorOf(integers, dims);
  EXPECT_FALSE(mpopt_add_squares(&tensor, &squares, nullptr));
  EXPECT_EQ(sum, 3);
}

TEST(TensorTest, ThreadsAreNoMatter) {
  for (uint32_t dtype : {MPOPT_F32, MPOPT_F16, MPOPT_F64, MPOPT_F8E5M2}) {
    Data data = randomData(dtype, 300000, 1, 1);
    for (int i = 0; i < 3; ++i)
      data.bytes.insert(data.bytes.end(), data.bytes.begin(), data.bytes.end());
    std::vector<int64_t> dims = {int64_t(data.size())};
    mpopt_tensor tensor = tensorOf(data, dims);
    mpopt_parallel one = {nullptr, nullptr, 1};
    mpopt_record alone = observe(tensor, &one);
    for (unsigned threads : {2u, 3u, 7u}) {
      mpopt_parallel mine = {runOnThreads, nullptr, threads};
      mpopt_parallel own = {nullptr, nullptr, threads};
      mpopt_record a = observe(tensor, &mine), b = observe(tensor, &own);
      EXPECT_EQ(std::memcmp(&alone, &a, sizeof(a)), 0);
      EXPECT_EQ(std::memcmp(&alone, &b, sizeof(b)), 0);
    }
  }
}

TEST(TensorTest, CallersAtTheSameTime) {
  Data data = randomData(MPOPT_F32, 1 << 20, 1, 1);
  std::vector<int64_t> dims = {1 << 20};
  mpopt_record alone = observe(tensorOf(data, dims));
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        mpopt_record record = observe(tensorOf(data, dims));
        EXPECT_EQ(std::memcmp(&alone, &record, sizeof(record)), 0);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

/// A view gives what its elements, copied one after the other, give.
static void checkView(const Data &data, const std::vector<int64_t> &dims,
                      const std::vector<int64_t> &strides, int64_t offset) {
  Data copy{data.dtype, {}};
  std::vector<int64_t> index(dims.size());
  uint64_t total = 1;
  for (int64_t dim : dims)
    total *= uint64_t(dim);
  for (uint64_t i = 0; i < total; ++i) {
    uint64_t rest = i;
    int64_t at = offset;
    for (size_t axis = dims.size(); axis-- > 0;) {
      at += int64_t(rest % uint64_t(dims[axis])) * strides[axis];
      rest /= uint64_t(dims[axis]);
    }
    copy.push(data.code(size_t(at)));
  }
  mpopt_tensor view = tensorOf(data, dims, strides.data());
  view.data = data.bytes.data() + offset * int64_t(bytesOf(data.dtype));
  mpopt_record a = observe(view), b = observe(tensorOf(copy, dims));
  EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0);
}

TEST(TensorTest, Strides) {
  for (uint32_t dtype : {MPOPT_F32, MPOPT_BF16, MPOPT_F64, MPOPT_F8E4M3FN}) {
    Data data = randomData(dtype, 60 * 70 * 8, 1, 2);
    checkView(data, {60, 70, 8}, {560, 8, 1}, 0);  // as it lies
    checkView(data, {70, 60, 8}, {8, 560, 1}, 0);  // transposed
    checkView(data, {60, 35, 8}, {560, 16, 1}, 8); // every other one
    checkView(data, {8, 70, 60}, {1, 8, 560}, 0);
    checkView(data, {60, 70, 8}, {560, -8, 1}, 69 * 8); // backwards
    checkView(data, {5, 4200}, {0, 8}, 3);              // expanded
    checkView(data, {1, 33600}, {7, 1}, 0);
  }
}

TEST(TensorTest, SmallAndEmpty) {
  Data data = randomData(MPOPT_F16, 10, 1, 3);
  mpopt_record scalar = observe(tensorOf(data, {}));
  EXPECT_EQ(scalar.count, 1u);
  EXPECT_EQ(scalar.rank, 0u);
  mpopt_record empty = observe(tensorOf(data, {3, 0, 5}));
  EXPECT_EQ(empty.count, 0u);
  EXPECT_EQ(empty.calls, 1u);
  EXPECT_EQ(empty.min, kInf);
  EXPECT_EQ(empty.absmax_step, MPOPT_NEVER);
  EXPECT_EQ(empty.dim_max[2], 5);
  std::vector<int64_t> nothing = {0};
  mpopt_tensor null = {nullptr, MPOPT_F32, 1, nothing.data(), nullptr, 0, 0};
  EXPECT_EQ(observe(null).count, 0u);
}

TEST(TensorTest, MalformedIsRefused) {
  mpopt_record record;
  mpopt_record_init(&record, 0, 0);
  std::vector<int64_t> negative = {4, -1}, huge = {1ll << 40, 1ll << 40},
                       some = {2};
  float value[2] = {};
  for (const mpopt_tensor &tensor :
       {mpopt_tensor{value, MPOPT_F32, 2, negative.data(), nullptr, -1, 0},
        mpopt_tensor{value, MPOPT_F32, 2, huge.data(), nullptr, -1, 0},
        mpopt_tensor{nullptr, MPOPT_F32, 1, some.data(), nullptr, -1, 0},
        mpopt_tensor{value, MPOPT_F32, 1, nullptr, nullptr, -1, 0}})
    EXPECT_FALSE(mpopt_record_observe(&record, nullptr, &tensor, 0, nullptr));
  EXPECT_EQ(record.calls, 0u);
}

/// More elements than 32 bits count: one byte, seen again and again.
TEST(TensorTest, MoreThan2To31Elements) {
  uint8_t half = 0x30; // 0.5 in E4M3
  int64_t dims[] = {(1ll << 31) + 5}, strides[] = {0};
  mpopt_tensor tensor = {&half, MPOPT_F8E4M3FN, 1, dims, strides, -1, 0};
  mpopt_record record = observe(tensor);
  EXPECT_EQ(record.count, (1ull << 31) + 5);
  EXPECT_EQ(record.histogram[MPOPT_BIN_OF_EXPONENT(-1)], (1ull << 31) + 5);
  EXPECT_EQ(mpopt_record_mean(&record), 0.5);
  EXPECT_EQ(mpopt_record_stddev(&record), 0);
}

TEST(TensorTest, Integers) {
  int32_t words[] = {5, -7, 0, 3};
  int64_t dims[] = {4};
  mpopt_record record = observe({words, MPOPT_I32, 1, dims, nullptr, -1, 0});
  EXPECT_EQ(record.min, -7);
  EXPECT_EQ(record.max, 5);
  EXPECT_EQ(record.absmax, 7);
  EXPECT_EQ(record.zero, 1u);
  uint64_t wide[] = {~0ull, 1};
  dims[0] = 2;
  EXPECT_EQ(observe({wide, MPOPT_U64, 1, dims, nullptr, -1, 0}).max, 0x1p64);
  bool truth[] = {true, true};
  EXPECT_EQ(observe({truth, MPOPT_BOOL, 1, dims, nullptr, -1, 0}).min, 1);
  EXPECT_EQ(record.histogram[2], 0u);
  // Strings: nothing but their number.
  mpopt_record strings = observe({wide, 8, 1, dims, nullptr, -1, 0});
  EXPECT_EQ(strings.count, 2u);
  EXPECT_EQ(strings.flags, uint32_t(MPOPT_COUNT_ONLY));
  EXPECT_EQ(strings.absmax_step, MPOPT_NEVER);
}

// All codes of 8 bits are counted, signed ones from -128 on.
TEST(TensorTest, Codes) {
  uint8_t codes[] = {0, 255, 255, 7, 128, 128, 128, 0, 200};
  int64_t dims[] = {9};
  mpopt_record record = observe({codes, MPOPT_U8, 1, dims, nullptr, -1, 0});
  EXPECT_EQ(record.min, 0);
  EXPECT_EQ(record.max, 255);
  EXPECT_EQ(record.zero, 2u);
  EXPECT_EQ(record.histogram[0], 2u);
  EXPECT_EQ(record.histogram[255], 2u);
  EXPECT_EQ(record.histogram[128], 3u);
  record = observe({codes, MPOPT_I8, 1, dims, nullptr, -1, 0});
  EXPECT_EQ(record.min, -128);
  EXPECT_EQ(record.max, 7);
  EXPECT_EQ(record.zero, 2u);
  EXPECT_EQ(record.histogram[0], 3u);
  EXPECT_EQ(record.histogram[127], 2u);
  EXPECT_EQ(record.histogram[128 + 7], 1u);
  EXPECT_EQ(mpopt_exact_sum_value(&record.sum), 0);
}

TEST(TensorTest, Channels) {
  Data data = randomData(MPOPT_F16, 7 * 50 * 90, 1, 4);
  std::vector<int64_t> dims = {7, 50, 90};
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<mpopt_channel_range> ranges(size_t(dims[size_t(axis)]),
                                            {kInf, -kInf}),
        expected = ranges;
    mpopt_record record =
        observe(tensorOf(data, dims, nullptr, axis), nullptr, ranges.data());
    EXPECT_EQ(record.channels, ranges.size());
    for (size_t i = 0; i < data.size(); ++i) {
      size_t index[] = {i / 4500, i / 90 % 50, i % 90};
      double value = data.value(i);
      if (!std::isfinite(value))
        continue;
      mpopt_channel_range &range = expected[index[axis]];
      range.min = std::min(range.min, value);
      range.max = std::max(range.max, value);
    }
    for (size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_EQ(ranges[i].min, expected[i].min);
      EXPECT_EQ(ranges[i].max, expected[i].max);
    }
  }
}

#if defined(__x86_64__)
/// A runtime may take subnormals for zero; the record does not.
TEST(TensorTest, ModeOfTheFloatingPointUnit) {
  Data data{MPOPT_F32, {}};
  for (uint32_t i = 0; i < 1000; ++i)
    data.push(1 + i);
  mpopt_record plain = observe(tensorOf(data, {1000}));
  unsigned before = _mm_getcsr();
  unsigned strange = (before | 0x8040 | 0x6000) & ~0x3Fu;
  _mm_setcsr(strange);
  mpopt_record record;
  mpopt_record_init(&record, 0, MPOPT_VALUE);
  int64_t size = 1000;
  mpopt_tensor tensor = {data.bytes.data(), MPOPT_F32, 1, &size,
                         nullptr,           -1,        0};
  mpopt_record_observe(&record, nullptr, &tensor, 0, nullptr);
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after, strange);
  EXPECT_EQ(record.zero, 0u);
  EXPECT_EQ(std::memcmp(&plain, &record, sizeof(record)), 0);
}
#endif
