//===- SummaryTest.cpp - One pass over a weight
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/Kernels/Summary.h"

#include "Samples.h"

#include "gtest/gtest.h"

using namespace mpopt;
using namespace mpopt::test;

namespace {

WeightSummary byRow(const WeightTensor &weights, uint64_t rows,
                    uint64_t columns) {
  return summarizeWeight({weights, rows, columns, /*byColumn=*/false});
}

WeightSummary byColumn(const WeightTensor &weights, uint64_t rows,
                       uint64_t columns) {
  return summarizeWeight({weights, rows, columns, /*byColumn=*/true});
}

void expectStats(const GroupStats &stats, const std::vector<double> &values) {
  ASSERT_FALSE(values.empty());
  EXPECT_EQ(stats.range.lo, *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(stats.range.hi, *std::max_element(values.begin(), values.end()));
  long double mean = 0, variance = 0;
  for (double value : values)
    mean += value / (long double)values.size();
  for (double value : values)
    variance += (value - mean) * (value - mean) / (long double)values.size();
  double scale = stats.range.maxAbs();
  EXPECT_NEAR(stats.mean, double(mean), 1e-12 * scale);
  EXPECT_NEAR(stats.variance, double(variance), 1e-12 * scale * scale);
}

TEST(Summary, RowsAndColumnsInEveryDtype) {
  Random random(1);
  for (const char *type :
       {"f64", "f32", "f16", "bf16", "f8E5M2", "i8", "u8", "i16", "i32", "u4"})
    for (auto [rows, columns] : {std::pair<size_t, size_t>{7, 5},
                                 {1, 33},
                                 {40, 1},
                                 {3, 1100},
                                 {2, 70001},
                                 {90, 16}}) {
      SCOPED_TRACE(testing::Message() << type << " " << rows);
      // All of one sign at times: no 0 may slip in.
      double centre = double(random() % 3) * 50 - 50;
      Weights weights(
          type, randomList(random, rows * columns, centre - 20, centre + 20));
      double zero = 3;
      bool shifted = type[1] == '8' && rows == 7;
      if (shifted)
        weights.tensor.zeroPoints = zero;
      for (double &value : weights.values)
        value -= shifted ? zero : 0;
      WeightSummary inRows = byRow(weights.tensor, rows, columns);
      WeightSummary inColumns = byColumn(weights.tensor, rows, columns);
      ASSERT_EQ(inRows.groups.size(), rows);
      ASSERT_EQ(inColumns.groups.size(), columns);
      for (size_t row = 0; row < rows; ++row)
        expectStats(inRows.groups[row],
                    {weights.values.begin() + row * columns,
                     weights.values.begin() + (row + 1) * columns});
      for (size_t column = 0; column < columns; ++column) {
        std::vector<double> list;
        for (size_t row = 0; row < rows; ++row)
          list.push_back(weights.values[row * columns + column]);
        expectStats(inColumns.groups[column], list);
      }
      expectStats(byRow(weights.tensor, 1, rows * columns).groups.front(),
                  weights.values);
      double smallest = HUGE_VAL;
      bool integral = true;
      for (double value : weights.values) {
        smallest = value == 0 ? smallest : std::min(smallest, std::fabs(value));
        integral &= value == std::trunc(value);
      }
      for (const WeightSummary &summary : {inRows, inColumns}) {
        EXPECT_EQ(summary.flags, 0);
        EXPECT_EQ(summary.minNonZero, smallest);
        EXPECT_EQ(summary.integral, integral);
      }
    }
}

TEST(Summary, ManyThreads) {
  Random random(2);
  size_t rows = 3000, columns = 431;
  Weights weights("f16", randomList(random, rows * columns, 1, 1.001));
  std::vector<double> list;
  for (size_t row = 0; row < rows; ++row)
    list.push_back(weights.values[row * columns + 430]);
  expectStats(byColumn(weights.tensor, rows, columns).groups[430], list);
  expectStats(byRow(weights.tensor, rows, columns).groups[2999],
              {weights.values.end() - columns, weights.values.end()});
}

TEST(Summary, OneFractionAmongIntegers) {
  std::vector<double> list(100, 0);
  list[3] = -(1 << 25);
  for (const char *type : {"f64", "f32", "bf16"}) {
    WeightSummary whole = byRow(Weights(type, list).tensor, 2, 50);
    EXPECT_TRUE(whole.integral);
    EXPECT_EQ(whole.minNonZero, 1 << 25);
  }
  EXPECT_EQ(byRow(Weights("f32", {0, 0}).tensor, 1, 2).minNonZero, HUGE_VAL);
  // In a vector, and behind the last whole one.
  for (size_t at : {10, 49}) {
    list[at] = -0.75;
    Weights weights("f32", list);
    for (const WeightSummary &summary :
         {byRow(weights.tensor, 2, 50), byColumn(weights.tensor, 2, 50)}) {
      EXPECT_FALSE(summary.integral);
      EXPECT_EQ(summary.minNonZero, 0.75);
    }
    list[at] = 0;
  }
}

TEST(Summary, EmptyAndFlags) {
  Weights none("f32", {});
  EXPECT_TRUE(byColumn(none.tensor, 0, 4).groups[1].range.isEmpty());
  EXPECT_TRUE(byRow(none.tensor, 0, 4).groups.empty());
  Weights weights("f32", {1, -HUGE_VAL, 70000, std::nan("")});
  weights.tensor.storage = &FloatFormat::f16();
  WeightSummary summary = byColumn(weights.tensor, 2, 2);
  EXPECT_EQ(summary.flags, WeightNegInf | WeightNaN | WeightStorageOverflow);
  EXPECT_EQ(summary.groups[0].range, (Interval{1, 70000}));
  EXPECT_EQ(summary.groups[1].range, (Interval{0, 0}));
}

} // namespace
