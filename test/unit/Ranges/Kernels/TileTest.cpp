//===- TileTest.cpp - The inner loops of every instruction set
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The other tests see the best loops of the host only; here each set does what
// the first, portable one does.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Weights/Kernels/Tile.h"

#include "Samples.h"

#include "gtest/gtest.h"

#include <bit>

using namespace mpopt;
using namespace mpopt::kernels;
using namespace mpopt::test;

namespace {

constexpr size_t kRows = 13, kColumns = 48;

void expectClose(const std::vector<double> &a, const std::vector<double> &b,
                 double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t at = 0; at < a.size(); ++at)
    EXPECT_NEAR(a[at], b[at], tolerance) << at;
}

/// Row sums without their lanes.
std::vector<double> withoutLanes(const std::vector<double> &lanes) {
  std::vector<double> sums(lanes.size() / kLanes);
  for (size_t at = 0; at < lanes.size(); ++at)
    sums[at / kLanes] += lanes[at];
  return sums;
}

template <typename T>
void expectSame(const SumLoops<T> &loops, const SumLoops<T> &base,
                const void *data, const std::vector<T> &coefficients,
                double tolerance) {
  size_t stride = kColumns + kLanes;
  for (const T *q : {coefficients.data(), static_cast<const T *>(nullptr)}) {
    std::vector<double> a(kSums * kColumns, 1), b = a;
    loops.columns(data, stride, kRows, kColumns, q, kColumns, a.data(),
                  kColumns);
    base.columns(data, stride, kRows, kColumns, q, kColumns, b.data(),
                 kColumns);
    expectClose(a, b, tolerance);
    EXPECT_NE(a[Squares * kColumns], 1);
    a.assign(kSums * kRows * kLanes, 1), b = a;
    loops.rows(data, stride, kRows, kColumns, q, kColumns, a.data(), 0);
    base.rows(data, stride, kRows, kColumns, q, kColumns, b.data(), 0);
    expectClose(withoutLanes(a), withoutLanes(b), tolerance);
    EXPECT_NE(withoutLanes(a)[Squares], 16);
  }
  std::vector<double> a(kColumns), b = a;
  loops.absColumns(data, stride, kRows, kColumns, a.data());
  base.absColumns(data, stride, kRows, kColumns, b.data());
  expectClose(a, b, tolerance);
  a.assign(kRows, 2), b = a;
  loops.absRows(data, stride, kRows, kColumns, a.data());
  base.absRows(data, stride, kRows, kColumns, b.data());
  expectClose(a, b, tolerance);
}

/// Any number of columns: the last ones are part of a vector.
template <typename T>
void expectSameStatistics(const SumLoops<T> &loops, const SumLoops<T> &base,
                          const void *data) {
  constexpr size_t columns = kColumns - 3;
  for (auto statistics :
       {&SumLoops<T>::columnStatistics, &SumLoops<T>::rowStatistics}) {
    Tally<T> a;
    a.counts = true;
    a.overflowFrom = T(1.5), a.minNormal = T(1), a.flushAt = T(0.5);
    Tally<T> b = a;
    std::vector<double> ofA(kStatistics * kColumns, 1), ofB = ofA;
    (loops.*statistics)(data, kColumns + kLanes, kRows, columns, ofA.data(),
                        kColumns, a);
    (base.*statistics)(data, kColumns + kLanes, kRows, columns, ofB.data(),
                       kColumns, b);
    for (size_t statistic = 0; statistic < kStatistics; ++statistic)
      for (size_t at = 0; at < kRows; ++at)
        EXPECT_NEAR(ofA[statistic * kColumns + at],
                    ofB[statistic * kColumns + at],
                    statistic < Total ? 0 : 1e-9);
    EXPECT_NE(ofA[TotalSquares * kColumns], 1);
    EXPECT_EQ(a.zeros, b.zeros);
    EXPECT_EQ(a.overflows, b.overflows);
    EXPECT_EQ(a.flushes, b.flushes);
    EXPECT_EQ(a.small, b.small);
    EXPECT_EQ(a.least, b.least);
    EXPECT_EQ(a.integral, b.integral);
    EXPECT_GT(a.overflows + a.flushes, 0u);
  }
}

TEST(Loops, Sums) {
  Random random(1);
  size_t count = kRows * (kColumns + kLanes);
  std::vector<double> values = randomList(random, count, -2, 2);
  std::vector<double> factors =
      randomList(random, kCoefficients * kColumns, -1, 1);
  std::vector<float> floats(factors.begin(), factors.end());
  Weights wide("f64", values), f32("f32", values), f16("f16", values),
      bf16("bf16", values), i8("i8", values), u8("u8", values);
  const Weights *direct[] = {&f32, &f16, &bf16, &i8, &u8, &f32, &f32};
  const Loops &base = allLoops().front();
  for (const Loops &loops : allLoops()) {
    expectSame(loops.f64, base.f64, wide.bytes.data(), factors, 1e-12);
    expectSame(loops.f32, base.f32, f32.bytes.data(), floats, 2e-4);
    expectSameStatistics(loops.f64, base.f64, wide.bytes.data());
    expectSameStatistics(loops.f32, base.f32, f32.bytes.data());
    for (size_t at = 0; at < kDirect; ++at) {
      // At any address.
      std::vector<char> odd(1);
      odd.insert(odd.end(), direct[at]->bytes.begin(), direct[at]->bytes.end());
      expectSame(loops.direct[at], base.direct[at], odd.data() + 1, floats,
                 2e-4);
      expectSameStatistics(loops.direct[at], base.direct[at], odd.data() + 1);
      // The portable loads are those of the tile.
      std::vector<float> tile(direct[at]->values.begin(),
                              direct[at]->values.end());
      if (at >= 5)
        for (float &value : tile)
          value =
              (at == 5 ? FloatFormat::f16() : FloatFormat::bf16()).round(value);
      std::vector<double> a(kSums * kColumns), b = a;
      loops.direct[at].columns(odd.data() + 1, kColumns + kLanes, kRows,
                               kColumns, nullptr, 0, a.data(), kColumns);
      base.f32.columns(tile.data(), kColumns + kLanes, kRows, kColumns, nullptr,
                       0, b.data(), kColumns);
      expectClose(a, b, 2e-4);
    }
  }
}

TEST(Loops, EveryHalf) {
  // Two vectors' length of each pattern, as rows of one value.
  for (const Loops &loops : allLoops())
    for (unsigned pattern = 0; pattern < 65536; pattern += 7) {
      std::vector<uint16_t> data(kLanes, uint16_t(pattern));
      for (const FloatFormat *format :
           {&FloatFormat::f16(), &FloatFormat::bf16()}) {
        bool half = format == &FloatFormat::f16();
        llvm::APFloat exact(*format->semantics, llvm::APInt(16, pattern));
        bool inexact;
        exact.convert(llvm::APFloat::IEEEdouble(),
                      llvm::APFloat::rmNearestTiesToEven, &inexact);
        float decoded;
        bool finite = loops.decode(half ? Element::F16 : Element::BF16,
                                   reinterpret_cast<const char *>(data.data()),
                                   3, 1, nullptr, &decoded);
        EXPECT_EQ(finite, exact.isFinite());
        std::vector<double> sums(kSums * kLanes);
        loops.direct[half ? 1 : 2].columns(data.data(), kLanes, 1, kLanes,
                                           nullptr, 0, sums.data(), kLanes);
        if (!exact.isFinite()) {
          EXPECT_FALSE(std::isfinite(decoded));
          EXPECT_FALSE(std::isfinite(sums[Squares * kLanes + 5]));
          continue;
        }
        EXPECT_EQ(decoded, exact.convertToDouble());
        EXPECT_EQ(sums[Centre * kLanes + 5], exact.convertToDouble());
        EXPECT_EQ(sums[Sizes * kLanes], std::fabs(exact.convertToDouble()));
      }
    }
}

TEST(Loops, RoundedFloats) {
  Random random(4);
  std::vector<float> values;
  // Every pattern near an edge of either format, and any.
  for (float edge : {0.0f, 0x1p-25f, 0x1p-24f, 0x1p-14f, 1.0f, 65504.0f,
                     65520.0f, 0x1p-133f, 0x1p-126f, 3.3895e38f})
    for (int step = -600; step < 600; ++step)
      values.push_back(
          std::bit_cast<float>(std::bit_cast<uint32_t>(edge) +
                               uint32_t(edge == 0 && step < 0 ? -step : step)));
  for (int i = 0; i < 20000; ++i)
    values.push_back(std::bit_cast<float>(uint32_t(random())));
  for (const Loops &loops : allLoops())
    for (const FloatFormat *format :
         {&FloatFormat::f16(), &FloatFormat::bf16()})
      for (float value : values) {
        std::vector<float> data(kLanes, value);
        std::vector<double> sums(kSums * kLanes);
        loops.direct[format == &FloatFormat::f16() ? 5 : 6].columns(
            data.data(), kLanes, 1, kLanes, nullptr, 0, sums.data(), kLanes);
        double expected = format->round(value);
        if (std::isfinite(expected))
          EXPECT_EQ(sums[Centre * kLanes + 3], expected) << value;
        else
          EXPECT_FALSE(std::isfinite(sums[Squares * kLanes + 3])) << value;
      }
}

TEST(Loops, StatisticsAndGram) {
  Random random(2);
  std::vector<double> values = randomList(random, 37, -3, 5);
  std::vector<float> floats(values.begin(), values.end());
  size_t n = 24, count = 9;
  std::vector<double> matrix = randomList(random, n * count, -1, 1);
  for (const Loops &loops : allLoops()) {
    std::vector<double> columns(kStatistics * 48, 1), row = {1, 1, 0, 0};
    Tally<float> tally;
    tally.counts = true;
    tally.overflowFrom = 4;
    tally.flushAt = 0.5f;
    tally.minNormal = 1;
    loops.f32.rowStatistics(floats.data(), 37, 1, 37, row.data(), 1, tally);
    EXPECT_EQ(row[Minimum], *std::min_element(floats.begin(), floats.end()));
    EXPECT_EQ(row[Maximum], *std::max_element(floats.begin(), floats.end()));
    auto countOf = [&](auto is) {
      return std::count_if(floats.begin(), floats.end(),
                           [&](float value) { return is(std::fabs(value)); });
    };
    EXPECT_EQ(tally.zeros, 0u);
    EXPECT_EQ(tally.overflows, countOf([](float size) { return size >= 4; }));
    EXPECT_EQ(tally.flushes, countOf([](float size) { return size <= 0.5f; }));
    EXPECT_EQ(tally.small, countOf([](float size) { return size < 1; }));
    EXPECT_FALSE(tally.integral);
    Tally<float> other = tally;
    loops.f32.columnStatistics(floats.data(), 37, 1, 37, columns.data(), 48,
                               tally);
    EXPECT_EQ(tally.flushes, 2 * other.flushes);
    EXPECT_EQ(tally.least, other.least);
    for (size_t at : {0, 15, 31, 32, 36}) {
      EXPECT_EQ(columns[at], std::min(1.0f, floats[at]));
      EXPECT_EQ(columns[48 + at], std::max(1.0f, floats[at]));
      EXPECT_EQ(columns[96 + at], 1.0 + floats[at]);
      EXPECT_NEAR(columns[144 + at], 1.0 + floats[at] * floats[at], 1e-5);
    }
    std::vector<double> gram(n * n);
    loops.gram(matrix.data(), count, n, gram.data());
    for (size_t i = 0; i < n; ++i)
      for (size_t j = i; j < n; ++j) {
        double exact = 0;
        for (size_t k = 0; k < count; ++k)
          exact += matrix[k * n + i] * matrix[k * n + j];
        EXPECT_NEAR(gram[i * n + j], exact, 1e-12);
      }
  }
}

// R^T R gives the matrix back, whose lower half is not read.
TEST(Symmetric, ProductAndFactor) {
  constexpr size_t n = 24;
  Random random(7);
  for (const Loops &loops : allLoops()) {
    std::vector<double> rows = randomList(random, n * n, -1, 1);
    std::vector<double> x = randomList(random, n, -1, 1), y(n);
    std::vector<double> whole(n * n);
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) {
        for (size_t k = 0; k < n; ++k)
          whole[i * n + j] += rows[k * n + i] * rows[k * n + j];
        whole[i * n + j] += i == j;
      }
    loops.multiply(whole.data(), n, x.data(), y.data());
    std::vector<double> root = whole;
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < i; ++j)
        root[i * n + j] = std::nan("");
    ASSERT_TRUE(loops.factor(root.data(), n));
    for (size_t i = 0; i < n; ++i) {
      double product = 0;
      for (size_t j = 0; j < n; ++j)
        product += whole[i * n + j] * x[j];
      EXPECT_NEAR(y[i], product, 1e-12);
      for (size_t j = i; j < n; ++j) {
        double sum = 0;
        for (size_t k = 0; k <= i; ++k)
          sum += root[k * n + i] * root[k * n + j];
        EXPECT_NEAR(sum, whole[i * n + j], 1e-12);
      }
    }
    // The last pivot is negative.
    whole[n * n - 1] = -1;
    EXPECT_FALSE(loops.factor(whole.data(), n));
  }
}

} // namespace
