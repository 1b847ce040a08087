//===- FormatTest.cpp - Counts against the slow reference, in every dtype
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reference.h"

#include <gtest/gtest.h>

using namespace mpopt::kernels::test;

static mpopt_record observe(const Data &data) {
  mpopt_record record;
  mpopt_record_init(&record, 7, MPOPT_VALUE);
  int64_t size = int64_t(data.size());
  mpopt_tensor tensor = {data.bytes.data(), data.dtype, 1, &size,
                         nullptr,           -1,         0};
  EXPECT_TRUE(mpopt_record_observe(&record, nullptr, &tensor, 3, nullptr));
  return record;
}

static void check(const Data &data) {
  SCOPED_TRACE("dtype " + std::to_string(data.dtype) + ", " +
               std::to_string(data.size()) + " elements");
  Expected expected = expect(data);
  mpopt_record record = observe(data);
  EXPECT_EQ(record.count, data.size());
  EXPECT_EQ(record.nan, expected.nan);
  EXPECT_EQ(record.pos_inf, expected.posInf);
  EXPECT_EQ(record.neg_inf, expected.negInf);
  EXPECT_EQ(record.zero, expected.zero);
  EXPECT_EQ(record.min, expected.min);
  EXPECT_EQ(record.max, expected.max);
  EXPECT_EQ(record.absmax, expected.absmax);
  EXPECT_EQ(record.min_nonzero, expected.minNonzero);
  EXPECT_FALSE(std::signbit(record.min) && record.min == 0);
  for (int bin = 0; bin < MPOPT_BINS; ++bin)
    ASSERT_EQ(record.histogram[bin], expected.histogram[size_t(bin)])
        << "bin " << bin;
  for (int format = 0; format < MPOPT_FORMATS; ++format) {
    SCOPED_TRACE(mpopt_format_edges_of(format).name);
    mpopt_format_counts counts = mpopt_record_format(&record, format);
    const mpopt_format_counts &wanted = expected.formats[format];
    EXPECT_EQ(counts.beyond_max, wanted.beyond_max);
    EXPECT_EQ(counts.not_finite, wanted.not_finite);
    EXPECT_EQ(counts.subnormal, wanted.subnormal);
    EXPECT_EQ(counts.rounds_to_zero, wanted.rounds_to_zero);
    EXPECT_EQ(record.first_overflow_step[format],
              wanted.not_finite ? 3 : MPOPT_NEVER);
    EXPECT_EQ(record.first_flush_step[format],
              wanted.rounds_to_zero ? 3 : MPOPT_NEVER);
  }
  EXPECT_EQ(record.first_nan_step, expected.nan ? 3 : MPOPT_NEVER);
  EXPECT_EQ(record.first_inf_step,
            expected.posInf + expected.negInf ? 3 : MPOPT_NEVER);
  // FP64 patterns reach where squares overflow.
  if (data.dtype == MPOPT_F64)
    return;
  bool isShort = bytesOf(data.dtype) == 2;
  long double unit = std::ldexp(1.0L, isShort ? -19 : -44);
  EXPECT_LE(std::abs(mpopt_exact_sum_value(&record.sum) - expected.sum),
            unit * expected.magnitudes);
  EXPECT_LE(
      std::abs(mpopt_exact_sum_value(&record.sum_squares) - expected.squares),
      unit * expected.squares);
}

TEST(FormatTest, EveryValueOfNarrowDtypes) {
  for (uint32_t dtype : floatDtypes()) {
    if (bytesOf(dtype) > 2)
      continue;
    Data data{dtype, {}};
    for (uint64_t code = 0; code < 1ull << (8 * bytesOf(dtype)); ++code)
      data.push(code);
    check(data);
  }
}

/// Every power of two and every edge with its neighbours, both signs.
TEST(FormatTest, EdgesOfWideDtypes) {
  for (uint32_t dtype : {MPOPT_F32, MPOPT_F64}) {
    std::vector<double> values;
    for (int exponent = -160; exponent <= 130; ++exponent)
      values.push_back(std::ldexp(1, exponent));
    for (int format = 0; format < MPOPT_FORMATS; ++format) {
      mpopt_format_edges edges = mpopt_format_edges_of(format);
      for (double edge : {edges.max_finite, edges.not_finite_from,
                          edges.min_normal, edges.zero_at})
        values.push_back(edge);
    }
    values.push_back(464);
    values.push_back(5e-324);
    values.push_back(1e308);
    Data data{dtype, {}};
    auto push = [&](uint64_t code) {
      data.push(code);
      data.push(code | 1ull << (8 * bytesOf(dtype) - 1));
    };
    for (double value : values) {
      uint64_t code;
      if (dtype == MPOPT_F64) {
        std::memcpy(&code, &value, 8);
      } else {
        float narrow = float(value);
        uint32_t bits;
        std::memcpy(&bits, &narrow, 4);
        code = bits;
      }
      push(code);
      push(code + 1);
      if (code)
        push(code - 1);
    }
    check(data);
    // Enough of each for the code that counts them by vectors.
    Data many{dtype, {}};
    for (int i = 0; i < 40; ++i)
      many.bytes.insert(many.bytes.end(), data.bytes.begin(), data.bytes.end());
    check(many);
  }
}

TEST(FormatTest, ValuesAsTensorsHaveThem) {
  uint64_t seed = 0;
  for (uint32_t dtype : floatDtypes())
    for (double scale : {1.0, 0.02, 1e-6, 300.0, 2e4, 1e-25, 1e30})
      check(randomData(dtype, 20000, scale, ++seed));
}

TEST(FormatTest, OneValueOnly) {
  for (uint32_t dtype : floatDtypes()) {
    Layout layout = layoutOf(dtype);
    int magnitude = layout.exponentBits + layout.mantissaBits;
    uint64_t sign = 1ull << magnitude;
    uint64_t one = uint64_t(layout.bias) << layout.mantissaBits;
    uint64_t top = ((1ull << layout.exponentBits) - 1) << layout.mantissaBits;
    for (uint64_t code : {uint64_t(0), sign, uint64_t(1), top, sign | top,
                          sign - 1, 2 * sign - 1, one, sign | one}) {
      Data data{dtype, {}};
      for (int i = 0; i < 5000; ++i)
        data.push(code);
      check(data);
    }
  }
}

TEST(FormatTest, EdgesAsPublished) {
  mpopt_format_edges f16 = mpopt_format_edges_of(MPOPT_TO_F16);
  EXPECT_EQ(f16.not_finite_from, 65520);
  EXPECT_EQ(f16.zero_at, 0x1p-25);
  mpopt_format_edges e4m3 = mpopt_format_edges_of(MPOPT_TO_E4M3);
  EXPECT_GT(e4m3.not_finite_from, 464);
  EXPECT_EQ(e4m3.max_finite, 448);
  EXPECT_EQ(mpopt_format_edges_of(9).name, nullptr);
}
