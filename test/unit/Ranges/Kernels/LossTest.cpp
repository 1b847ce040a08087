//===- LossTest.cpp - Elements of weights that a format loses
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/Kernels/Summary.h"

#include "gtest/gtest.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace mpopt;

namespace {

template <typename T>
SummaryRequest request(const std::vector<T> &values, const FloatFormat &source,
                       const FloatFormat &target, uint64_t channel = 0) {
  SummaryRequest request;
  request.weights.bytes = {reinterpret_cast<const char *>(values.data()),
                           values.size() * sizeof(T)};
  request.weights.format = &source;
  request.columns = values.size() * sizeof(T) * 8 / source.bits;
  request.target = &target;
  request.channel = channel;
  return request;
}

WeightStats scanWeight(const SummaryRequest &request) {
  WeightStats stats = summarizeWeight(request).losses;
  // By column, too, if there are a few.
  for (uint64_t columns : {1, 5, 16, 1000})
    if (request.columns % columns == 0 && request.columns < 100000) {
      SummaryRequest other = request;
      other.rows = request.columns / columns;
      other.columns = columns;
      other.byColumn = true;
      WeightStats again = summarizeWeight(other).losses;
      EXPECT_EQ(std::memcmp(&stats, &again, sizeof(stats)), 0) << columns;
    }
  return stats;
}

WeightStats scanF32(const std::vector<float> &values,
                    const FloatFormat &target = FloatFormat::f16()) {
  return scanWeight(request(values, FloatFormat::f32(), target));
}

TEST(Losses, OverflowThreshold) {
  WeightStats stats =
      scanF32({1.0f, 65504.0f, 65519.99f, 65520.0f, -65520.0f, -3e38f});
  EXPECT_EQ(stats.overflows, 3u);
  EXPECT_EQ(stats.firstOverflow, 3);
  EXPECT_EQ(stats.max, 65520);
  EXPECT_EQ(stats.min, double(-3e38f));
  EXPECT_EQ(stats.absMax, double(3e38f));
  EXPECT_EQ(stats.minNonZero, 1);
}

TEST(Losses, FlushThreshold) {
  float edge = std::ldexp(1.0f, -25);
  WeightStats stats = scanF32(
      {edge, std::nextafter(edge, 1.0f), -edge, 1e-45f, std::ldexp(1.0f, -14),
       std::nextafter(std::ldexp(1.0f, -14), 0.0f), 0.0f, -0.0f, 5.0f});
  EXPECT_EQ(stats.flushes, 3u);
  EXPECT_EQ(stats.firstFlush, 0);
  EXPECT_EQ(stats.subnormals, 2u);
  EXPECT_EQ(stats.zeros, 2u);
  EXPECT_EQ(stats.nonZero(), 7u);
  EXPECT_EQ(stats.overflows, 0u);
  EXPECT_EQ(stats.firstOverflow, -1);
  EXPECT_EQ(stats.minNonZero, double(1e-45f));
}

TEST(Losses, SpecialValuesAreNotLost) {
  float infinity = std::numeric_limits<float>::infinity();
  uint32_t payloads[] = {0x7f800001, 0xffc00123, 0x7fffffff};
  std::vector<float> values(5, 0.0f);
  std::memcpy(values.data(), payloads, sizeof(payloads));
  values[3] = infinity;
  values[4] = -infinity;
  WeightStats stats = scanF32(values);
  EXPECT_EQ(stats.nans, 3u);
  EXPECT_EQ(stats.infinities, 2u);
  EXPECT_EQ(stats.overflows, 0u);
  EXPECT_EQ(stats.nonZero(), 0u);
  EXPECT_GT(stats.min, stats.max); // nothing finite
  EXPECT_EQ(scanF32({}).elements, 0u);
}

TEST(Losses, SignedRanges) {
  WeightStats negative = scanF32({-3, -1, -2});
  EXPECT_EQ(negative.min, -3);
  EXPECT_EQ(negative.max, -1);
  WeightStats withZero = scanF32({-3, 0, -2});
  EXPECT_EQ(withZero.max, 0);
  EXPECT_EQ(withZero.minNonZero, 2);
  WeightStats positive = scanF32({3, 1, 2});
  EXPECT_EQ(positive.min, 1);
  EXPECT_EQ(positive.max, 3);
  WeightStats zeros = scanF32({0, -0.0f});
  EXPECT_EQ(zeros.min, 0);
  EXPECT_EQ(zeros.max, 0);
  EXPECT_EQ(zeros.absMax, 0);
}

TEST(Losses, OtherFormats) {
  WeightStats stats = scanF32({3.39e38f, 3.4e38f, 1e-40f}, FloatFormat::bf16());
  EXPECT_EQ(stats.overflows, 1u);
  EXPECT_EQ(stats.firstOverflow, 1);
  EXPECT_EQ(stats.subnormals, 1u);

  std::vector<double> doubles = {1e300, 65519.999, -65520, 1e-300, 1.0};
  stats = scanWeight(request(doubles, FloatFormat::f64(), FloatFormat::f16()));
  EXPECT_EQ(stats.overflows, 2u);
  EXPECT_EQ(stats.flushes, 1u);
  EXPECT_EQ(stats.firstFlush, 3);
  EXPECT_EQ(stats.max, 1e300);

  // FP16 values to E4M3: 448 and 464 stay, 465 (rounded up from there) is lost.
  std::vector<uint16_t> halves = {0x5f00 /*448*/,   0x5f40 /*464*/,
                                  0x5f42 /*464.5*/, 0x0001 /*2^-24*/,
                                  0x7c00 /*inf*/,   0x7c01 /*nan*/};
  stats = scanWeight(
      request(halves, FloatFormat::f16(), *FloatFormat::byName("f8E4M3FN")));
  EXPECT_EQ(stats.overflows, 1u);
  EXPECT_EQ(stats.firstOverflow, 2);
  EXPECT_EQ(stats.flushes, 1u);
  EXPECT_EQ(stats.infinities, 1u);
  EXPECT_EQ(stats.nans, 1u);
  // In its own format nothing is lost, whatever it holds.
  stats = scanWeight(request(halves, FloatFormat::f16(), FloatFormat::f16()));
  EXPECT_EQ(stats.overflows + stats.flushes, 0u);
  EXPECT_EQ(stats.subnormals, 1u);
  // BF16 to FP16.
  std::vector<uint16_t> brains = {0x4780 /*65536*/, 0x477f /*65280*/,
                                  0x3300 /*2^-25*/, 0x3301};
  stats = scanWeight(request(brains, FloatFormat::bf16(), FloatFormat::f16()));
  EXPECT_EQ(stats.overflows, 1u);
  EXPECT_EQ(stats.firstOverflow, 0);
  EXPECT_EQ(stats.flushes, 1u);
  EXPECT_EQ(stats.subnormals, 1u);
}

TEST(Losses, NarrowSources) {
  // E5M2: 57344, 2^-16, -0, Inf, NaN.
  std::vector<uint8_t> bytes = {0x7b, 0x01, 0x80, 0x7c, 0x7f};
  WeightStats stats = scanWeight(request(bytes, *FloatFormat::byName("f8E5M2"),
                                         *FloatFormat::byName("f8E4M3FN")));
  EXPECT_EQ(stats.overflows, 1u);
  EXPECT_EQ(stats.firstOverflow, 0);
  EXPECT_EQ(stats.flushes, 1u);
  EXPECT_EQ(stats.firstFlush, 1);
  EXPECT_EQ(stats.zeros, 1u);
  EXPECT_EQ(stats.infinities, 1u);
  EXPECT_EQ(stats.nans, 1u);
  EXPECT_EQ(stats.max, 57344);
  // Three 4-bit values: 6, -0.5, 1; the padding is no zero of the weight.
  std::vector<uint8_t> nibbles = {0x97, 0x02};
  SummaryRequest four =
      request(nibbles, *FloatFormat::byName("f4E2M1FN"), FloatFormat::f16());
  four.columns = 3;
  stats = scanWeight(four);
  EXPECT_EQ(stats.zeros, 0u);
  EXPECT_EQ(stats.max, 6);
  EXPECT_EQ(stats.min, -0.5);
  EXPECT_EQ(stats.minNonZero, 0.5);
}

TEST(Losses, LostChannels) {
  // Rows of 16: the second is lost whole, the third half, the fourth is zero.
  std::vector<float> values(4 * 16, 0.5f);
  std::fill_n(values.begin() + 16, 16, 1e-9f);
  std::fill_n(values.begin() + 32, 8, 1e-9f);
  std::fill_n(values.begin() + 48, 16, 0.0f);
  WeightStats stats =
      scanWeight(request(values, FloatFormat::f32(), FloatFormat::f16(), 16));
  EXPECT_EQ(stats.lostChannels, 1u);
  EXPECT_EQ(stats.firstLostChannel, 1);
  EXPECT_EQ(stats.flushes, 24u);
  // Too few values to speak of a channel.
  std::vector<float> tiny(16, 1e-9f);
  EXPECT_EQ(scanWeight(request(tiny, FloatFormat::f32(), FloatFormat::f16(), 4))
                .lostChannels,
            0u);
  // Channels longer than a block and than a task.
  for (uint64_t channel : {50000u, 3000000u}) {
    std::vector<float> large(2 * channel, 1.0f);
    std::fill_n(large.begin() + channel, channel, -1e-9f);
    stats = scanWeight(
        request(large, FloatFormat::f32(), FloatFormat::f16(), channel));
    EXPECT_EQ(stats.lostChannels, 1u);
    EXPECT_EQ(stats.firstLostChannel, 1);
    EXPECT_EQ(stats.firstFlush, int64_t(channel));
  }
}

/// The plain definition, a value at a time.
WeightStats reference(const std::vector<float> &values,
                      const FloatFormat &target) {
  WeightStats stats;
  for (float value : values) {
    stats.zeros += value == 0;
    stats.overflows += target.overflows(value);
    stats.flushes += target.flushes(value);
    stats.subnormals += target.becomesSubnormal(value);
  }
  return stats;
}

TEST(Losses, AgreesWithTheDefinitionOverThreads) {
  std::mt19937 random(7);
  std::vector<float> values(5'000'011);
  for (float &value : values) {
    value = std::bit_cast<float>(uint32_t(random()));
    if (std::isnan(value))
      value = 0;
  }
  for (const char *name : {"f16", "bf16", "f8E4M3FN"}) {
    const FloatFormat &target = *FloatFormat::byName(name);
    WeightStats expected = reference(values, target);
    WeightStats stats = scanWeight(request(values, FloatFormat::f32(), target));
    EXPECT_EQ(stats.zeros, expected.zeros);
    EXPECT_EQ(stats.overflows, expected.overflows);
    EXPECT_EQ(stats.flushes, expected.flushes);
    EXPECT_EQ(stats.subnormals, expected.subnormals);
  }
}

TEST(Losses, Speed) {
  // Printed, never judged: the machine may be busy.
  std::vector<float> values(16 << 20, 0.01f);
  auto start = std::chrono::steady_clock::now();
  WeightStats stats = scanF32(values);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  EXPECT_EQ(stats.nonZero(), values.size());
  RecordProperty("GBps", std::to_string(values.size() * 4 / seconds / 1e9));
  std::printf("one thread: %.1f GB/s\n", values.size() * 4 / seconds / 1e9);
}

} // namespace
