//===- ExactSumTest.cpp - Sums without rounding
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Kernels/Record.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

static double sumOf(const std::vector<double> &values) {
  mpopt_exact_sum sum = {};
  for (double value : values)
    mpopt_exact_sum_add(&sum, value);
  return mpopt_exact_sum_value(&sum);
}

TEST(ExactSumTest, SingleValues) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, 8);
    if (std::isfinite(value))
      ASSERT_EQ(sumOf({value}), value);
  }
  for (double value : {0.0, 5e-324, -5e-324, 2.2250738585072014e-308,
                       1.7976931348623157e308, -1.7976931348623157e308})
    EXPECT_EQ(sumOf({value}), value);
}

TEST(ExactSumTest, NothingIsLost) {
  EXPECT_EQ(sumOf({1e308, 1, -1e308}), 1);
  EXPECT_EQ(sumOf({1e300, 5e-324, -1e300}), 5e-324);
  EXPECT_EQ(sumOf({1, 0x1p-53, 0x1p-53}), 1 + 0x1p-52);
  // Ties to even, and just beyond the tie.
  EXPECT_EQ(sumOf({1, 0x1p-53}), 1);
  EXPECT_EQ(sumOf({1, 0x1p-53, 5e-324}), 1 + 0x1p-52);
  EXPECT_EQ(sumOf({-1, -0x1p-53, -5e-324}), -1 - 0x1p-52);
  EXPECT_EQ(sumOf({1e308, 1e308, -1e308}), 1e308);
  EXPECT_EQ(sumOf({1.7e308, 1.7e308}), HUGE_VAL);
}

TEST(ExactSumTest, OrderIsNoMatter) {
  std::mt19937_64 random(2);
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i)
    values.push_back(
        std::ldexp(double(int64_t(random())), int(random() % 400) - 200));
  mpopt_exact_sum forward = {}, backward = {}, merged = {};
  mpopt_exact_sum parts[7] = {};
  for (size_t i = 0; i < values.size(); ++i) {
    mpopt_exact_sum_add(&forward, values[i]);
    mpopt_exact_sum_add(&backward, values[values.size() - 1 - i]);
    mpopt_exact_sum_add(&parts[random() % 7], values[i]);
  }
  for (int i : {3, 1, 0, 6, 5, 2, 4})
    mpopt_exact_sum_merge(&merged, &parts[i]);
  EXPECT_EQ(std::memcmp(&forward, &backward, sizeof(forward)), 0);
  EXPECT_EQ(std::memcmp(&forward, &merged, sizeof(forward)), 0);
}

/// Negative sums have ones above their digits, and carries run through them.
TEST(ExactSumTest, MergedAcrossZero) {
  std::mt19937_64 random(4);
  mpopt_exact_sum whole = {}, merged = {};
  for (int i = 0; i < 2000; ++i) {
    double value = std::ldexp(double(int64_t(random()) >> random() % 64),
                              int(random() % 1200) - 600);
    // Back across zero every second time.
    if (i % 2)
      value = -mpopt_exact_sum_value(&whole);
    mpopt_exact_sum part = {};
    mpopt_exact_sum_add(&part, value);
    mpopt_exact_sum_add(&whole, value);
    mpopt_exact_sum_merge(&merged, &part);
    ASSERT_EQ(std::memcmp(&whole, &merged, sizeof(whole)), 0) << i;
  }
}

TEST(ExactSumTest, NotFiniteIsCountedApart) {
  mpopt_exact_sum sum = {};
  mpopt_exact_sum_add(&sum, HUGE_VAL);
  mpopt_exact_sum_add(&sum, 2);
  mpopt_exact_sum_add(&sum, NAN);
  EXPECT_EQ(sum.lost, 2u);
  EXPECT_EQ(mpopt_exact_sum_value(&sum), 2);
}
