//===- CellsTest.cpp - The numbers of groups, and the code on them --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/Cells.h"

#include "lib/Ranges/Value/CellKernels.h"
#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "gtest/gtest.h"

#include <bit>
#include <random>
#include <vector>

using namespace mpopt;
using namespace mpopt::cells;

namespace {
Cell numbered(double value) {
  return {value, value + 1, value, 0.25, value - 1, value + 2};
}

std::vector<Cell> list(const Cells &cells) {
  return {cells.begin(), cells.end()};
}

/// Numbers of all magnitudes, edges of formats and what is no number.
std::vector<double> numbers(size_t count) {
  std::vector<double> result = {0.0,
                                -0.0,
                                kInfinity,
                                -kInfinity,
                                std::nan(""),
                                65504,
                                65519.99,
                                65520,
                                -65520,
                                0x1p-24,
                                0x1p-25,
                                0x1.000001p-25,
                                0x1.8p-25,
                                0x1p-14,
                                0x1.ffffffp-15,
                                0x1.fffffefffffffp127,
                                0x1.ffffffp127,
                                -0x1.fffffep127,
                                0x1p-126,
                                0x1.fffffp-127,
                                0x1p-150,
                                1 + 0x1p-11,
                                1 + 0x1p-10 + 0x1p-11,
                                1e300,
                                5e-324};
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-160, 160);
  while (result.size() < count) {
    double size = std::exp2(exponent(random));
    result.push_back(random() & 1 ? size : -size);
  }
  return result;
}

bool isSame(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}
} // namespace

TEST(Cells, HoldsUniformFieldsOnce) {
  Cells cells(3);
  for (auto [group, cell] : llvm::enumerate(cells.mutate()))
    cell = {double(group), 9, 2, 1, -1, 5};
  std::vector<Cell> before = list(cells);
  cells.pack();
  EXPECT_FALSE(cells.isUniform(Field::Lo));
  EXPECT_TRUE(cells.isUniform(Field::Hi));
  EXPECT_EQ(cells[Field::Lo].size(), 3u);
  EXPECT_EQ(cells[Field::Mean].size(), 1u);
  EXPECT_TRUE(cells.isNarrow());
  for (auto [now, was] : llvm::zip_equal(list(cells), before)) {
    EXPECT_EQ(now.lo, was.lo);
    EXPECT_EQ(now.likelyHi, was.likelyHi);
  }
  cells.mutate()[1].hi = 10;
  EXPECT_FALSE(cells.isUniform(Field::Hi));
  EXPECT_EQ(cells[0].hi, 9);
  EXPECT_EQ(cells[1].hi, 10);
  EXPECT_EQ(cells[1].lo, 1);
}

TEST(Cells, HoldsOnlyFloatsAsFloats) {
  Cells cells({numbered(1), numbered(2)});
  cells.pack();
  EXPECT_TRUE(cells.isNarrow());
  Cells changed = cells;
  changed.mutate()[1].mean = 0.1;
  changed.pack();
  EXPECT_FALSE(changed.isNarrow());
  EXPECT_EQ(changed[1].mean, 0.1);
  EXPECT_EQ(cells[1].mean, 2);
  EXPECT_EQ(cells.gathered({1, 0})[0].likelyHi, 4);
  Cells infinite(2, Cell{-kInfinity, kInfinity, std::nan("")});
  infinite.mutate();
  infinite.pack();
  EXPECT_FALSE(infinite.isNarrow());
  EXPECT_TRUE(std::isnan(infinite[1].mean));
}

TEST(Cells, KeepsMomentsAlone) {
  Cells cells({{1, 2, 0, 0.1, 3, 4}, {5, 6, 0, 0.2, 7, 8}});
  cells.keepMoments();
  for (Field field : {Field::Lo, Field::Hi, Field::Mean, Field::LikelyHi})
    EXPECT_TRUE(cells.isUniform(field));
  EXPECT_EQ(cells[1].lo, -kInfinity);
  EXPECT_EQ(cells[1].likelyHi, kInfinity);
  EXPECT_EQ(cells[0].variance, 0.1);
  EXPECT_EQ(cells[1].variance, 0.2);
}

TEST(Cells, CopiesAreApartOnceChanged) {
  Cells first(4, numbered(1));
  Cells second = first;
  EXPECT_EQ(first[Field::Lo].data(), second[Field::Lo].data());
  second.mutate(Field::Hi).front() = 7;
  EXPECT_EQ(first[3].hi, 2);
  EXPECT_EQ(second[3].hi, 7);
}

TEST(Cells, Gathers) {
  Cells cells({numbered(0), numbered(1), numbered(2)});
  cells.pack();
  Cells picked = cells.gathered({2, 0, 0, 1});
  ASSERT_EQ(picked.size(), 4u);
  EXPECT_EQ(picked[0].lo, 2);
  EXPECT_EQ(picked[2].likelyHi, 2);
  EXPECT_EQ(picked[3].variance, 0.25);
  EXPECT_EQ(Cells(1, numbered(5)).gathered({0, 0, 0})[2].lo, 5);
  EXPECT_EQ(cells.gathered({}).size(), 0u);
}

TEST(Cells, MergesToHullsAndMixtures) {
  Cells cells({numbered(0), numbered(4), numbered(10), numbered(20)});
  Cell whole = mergeCells(llvm::SmallVector<Cell>(cells.begin(), cells.end()));
  EXPECT_EQ(whole.lo, 0);
  EXPECT_EQ(whole.hi, 21);
  EXPECT_DOUBLE_EQ(whole.mean, 8.5);
  EXPECT_DOUBLE_EQ(whole.variance, 0.25 + (0 + 16 + 100 + 400) / 4.0 - 72.25);
  Cells halves = mergeGroups(cells, {0, 1, 0, 1}, 2);
  EXPECT_EQ(halves[0].hi, 11);
  EXPECT_EQ(halves[1].likelyLo, 3);
  EXPECT_DOUBLE_EQ(halves[1].mean, 12);
  EXPECT_DOUBLE_EQ(halves[1].variance, 64.25);
}

TEST(CellKernels, RoundAsTheFormatDoes) {
  for (const FloatFormat &format : FloatFormat::all()) {
    if (&format == &FloatFormat::f64())
      continue;
    std::vector<double> input = numbers(5000);
    for (const CellLoops &loops : allLoops()) {
      std::vector<double> output = input;
      NumberRounding rounding(format);
      loops.round(rounding, 0, output.data(), output.size());
      EXPECT_FALSE(loops.isRounded(rounding, 0, input.data(), input.size()));
      EXPECT_TRUE(loops.isRounded(rounding, 0, output.data(), output.size()));
      for (auto [from, to] : llvm::zip_equal(input, output)) {
        bool stays = !(std::fabs(from) < format.overflowFrom);
        double expected = stays ? from : format.round(from);
        ASSERT_TRUE(isSame(to, expected))
            << format.name.str() << ": " << from << " became " << to
            << " instead of " << expected;
      }
    }
  }
}

TEST(CellKernels, LeaveSmallNumbersWhereAsked) {
  const FloatFormat &f16 = FloatFormat::f16();
  std::vector<double> values = {0x1p-20 + 0x1p-40, 1 + 0x1p-20};
  loops().round(NumberRounding(f16), f16.minNormal, values.data(), 2);
  EXPECT_EQ(values[0], 0x1p-20 + 0x1p-40);
  EXPECT_EQ(values[1], 1);
}

TEST(CellKernels, WidenToFloatsOutward) {
  std::vector<double> input = numbers(5000);
  for (const CellLoops &loops : allLoops()) {
    std::vector<double> lo, hi;
    for (double number : input) {
      lo.push_back(std::min(number, 2 * number));
      hi.push_back(std::max(number, 2 * number));
    }
    std::vector<double> low = lo, high = hi;
    loops.widen(low.data(), high.data(), low.size());
    for (size_t i = 0; i < lo.size(); ++i) {
      if (!(lo[i] <= hi[i]))
        continue;
      for (auto [wide, end, up] : {std::tuple(low[i], lo[i], false),
                                   std::tuple(high[i], hi[i], true)}) {
        double size = std::fabs(end);
        if (size < 0x1p-126 || size > 0x1.fffffep127) {
          EXPECT_TRUE(isSame(wide, end));
          continue;
        }
        float to = float(end);
        if (up ? to < end : to > end)
          to = std::nextafter(to, up ? INFINITY : -INFINITY);
        EXPECT_EQ(wide, double(to)) << end;
      }
    }
  }
}

TEST(CellKernels, GiveTheSameOnEachInstructionSet) {
  std::vector<double> input = numbers(6 * 997);
  std::vector<Cells> results;
  for (const CellLoops &loops : allLoops()) {
    Cells cells(997);
    MutableCells all = cells.mutate();
    for (size_t field = 0; field < kFields; ++field)
      for (size_t i = 0; i < 997; ++i)
        all[Field(field)][i] = input[(i * 6 + field * 31) % input.size()];
    all[5] = {-1, 1, std::nan(""), 0, 0, 0};
    CellFit fit = loops.fit({-1e20, 1e21, 0x1p-25, true}, all);
    EXPECT_TRUE(fit.losesLikely);
    double magnitude = loops.magnitude(all[Field::Lo].data(),
                                       all[Field::Hi].data(), all.size());
    all[0].lo = fit.smallest;
    all[1].lo = magnitude;
    results.push_back(std::move(cells));
  }
  for (const Cells &result : results)
    for (size_t i = 0; i < result.size(); ++i)
      for (size_t field = 0; field < kFields; ++field) {
        double one = results.front().get(Field(field), i),
               other = result.get(Field(field), i);
        EXPECT_TRUE(isSame(one, other) ||
                    (std::isnan(one) && std::isnan(other)))
            << i << ' ' << field << ": " << one << ", " << other;
      }
}

TEST(CellKernels, FitEstimatesToBounds) {
  Cells cells({{-1, 2, 5, 100, -9, 9},
               {kInfinity, -kInfinity, 1, 1, 1, 1},
               {std::nan(""), 1, 0, 1, -1, 1},
               {-1e-9, 1e-9, 1e-8, 0, 1e-8, 1e-8}});
  CellFit fit = loops().fit({-10, 10, 0x1p-25, true}, cells.mutate());
  EXPECT_FALSE(fit.losesLikely);
  EXPECT_EQ(fit.smallest, 0);
  EXPECT_EQ(cells[0].mean, 2);
  EXPECT_EQ(cells[0].likelyLo, -1);
  EXPECT_EQ(cells[0].variance, 2.25);
  EXPECT_TRUE(cells[1].empty());
  EXPECT_EQ(cells[2].lo, -10);
  EXPECT_EQ(cells[2].hi, 10);
  // A value that is flushed may be expected above its bound.
  EXPECT_EQ(cells[3].likelyHi, 1e-8);
}

TEST(CellKernels, AddAsRangesAndEstimatesDo) {
  std::vector<double> input = numbers(4000);
  auto valueAt = [&](size_t i) {
    double x = input[i % input.size()], y = input[(i * 7 + 3) % input.size()];
    Cell cell{std::min(x, y), std::max(x, y), (x + y) / 2, 1, x, y};
    if (std::isnan(x) || std::isnan(y))
      cell = {kInfinity, -kInfinity};
    if (i % 5 == 0)
      cell.lo = cell.hi;
    cell.likelyLo = cell.mean - std::min(std::fabs(x), 1e20);
    cell.likelyHi = cell.mean + std::min(std::fabs(y), 1e20);
    if (!std::isfinite(cell.mean))
      cell.mean = cell.likelyLo = cell.likelyHi = 0;
    return cell;
  };
  constexpr double kLeast = 0x1p-30;
  for (const CellLoops &loops : allLoops()) {
    std::vector<Cell> left, right;
    for (size_t i = 0; i < 3000; ++i) {
      left.push_back(valueAt(i));
      right.push_back(valueAt(i * 3 + 11));
    }
    Cells sums(left), others(right);
    CellSum found = loops.add(sums.mutate(), others.mutate(), kLeast);
    double smallest = std::numeric_limits<double>::max();
    for (size_t i = 0; i < left.size(); ++i) {
      FloatRange a = FloatRange::of(bound(left[i])),
                 b = FloatRange::of(bound(right[i]));
      a.minNonZero = b.minNonZero = kLeast;
      FloatRange expected = range::add(a, b);
      EXPECT_TRUE(bound(sums[i]) == expected.finite)
          << i << ": [" << sums[i].lo << ", " << sums[i].hi << "], expected ["
          << expected.finite.lo << ", " << expected.finite.hi << ']';
      if (expected.finite.maxAbs() > 0)
        smallest = std::min(smallest, expected.minNonZero);
      Likely likely = likely::add(getLikely(left[i]), getLikely(right[i]));
      EXPECT_EQ(sums[i].mean, likely.mean);
      if (!found.isExtreme) {
        EXPECT_EQ(sums[i].likelyLo, likely.lo);
      }
    }
    EXPECT_EQ(found.smallest, smallest);
  }
}
