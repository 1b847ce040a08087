//===- LinearTest.cpp - Ranges of a product with known weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/Kernels/Linear.h"
#include "mpopt/Numerics/Accumulation.h"

#include "Samples.h"

#include "llvm/Support/Parallel.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace mpopt;
using namespace mpopt::test;

namespace {

struct Box {
  std::vector<double> centre, radius, mean, variance, halfRange;

  Box(Random &random, size_t count, double spread)
      : centre(randomList(random, count, -spread, spread)),
        radius(randomList(random, count, 0, spread)),
        mean(randomList(random, count, -spread, spread)),
        variance(randomList(random, count, 0, spread)),
        halfRange(randomList(random, count, 0, spread)) {}
  LinearInputs inputs() const {
    return {centre, radius, mean, variance, halfRange};
  }
};

struct Shape {
  uint64_t matrices, k, n;
  bool transposed;

  size_t index(uint64_t matrix, uint64_t row, uint64_t column) const {
    size_t base = matrix * k * n;
    return base + (transposed ? column * k + row : row * n + column);
  }
};

double pick(const std::vector<double> &list, const Shape &shape,
            uint64_t matrix, uint64_t k) {
  if (list.size() == 1)
    return list[0];
  return list[list.size() == shape.k ? k : matrix * shape.k + k];
}

LinearRequest request(const Weights &weights, const Shape &shape,
                      const Box &box) {
  LinearRequest wanted;
  wanted.weights = weights.tensor;
  wanted.matrices = shape.matrices;
  wanted.k = shape.k;
  wanted.n = shape.n;
  wanted.transposed = shape.transposed;
  wanted.inputs = box.inputs();
  return wanted;
}

/// The formulas, word for word, in long double. `slack` is relative to the sum
/// of magnitudes.
void expectFormulas(const LinearSums &sums, const std::vector<double> &values,
                    const Shape &shape, const Box &box, double slack) {
  ASSERT_EQ(sums.size(), shape.matrices * shape.n);
  uint64_t step = shape.n > 100 ? 61 : 1; // of many channels a sample
  for (uint64_t matrix = 0; matrix < shape.matrices; ++matrix)
    for (uint64_t n = matrix % step; n < shape.n; n += step) {
      long double centre = 0, radius = 0, terms = 0, mean = 0, meanTerms = 0,
                  variance = 0, squares = 0, sixth = 0;
      for (uint64_t k = 0; k < shape.k; ++k) {
        long double w = values[shape.index(matrix, k, n)], size = fabsl(w);
        long double c = pick(box.centre, shape, matrix, k);
        long double r = pick(box.radius, shape, matrix, k);
        centre += w * c;
        radius += size * r;
        terms += size * (fabsl(c) + r);
        mean += w * pick(box.mean, shape, matrix, k);
        meanTerms += size * fabs(pick(box.mean, shape, matrix, k));
        variance += w * w * pick(box.variance, shape, matrix, k);
        squares += w * w;
        sixth += powl(size * pick(box.halfRange, shape, matrix, k), 6);
      }
      size_t at = matrix * shape.n + n;
      Interval bound = sums.bound(at);
      // Sound, and tight to `slack`.
      EXPECT_LE(bound.lo, centre - radius);
      EXPECT_GE(bound.hi, centre + radius);
      EXPECT_GE(bound.lo, centre - radius - slack * terms);
      EXPECT_LE(bound.hi, centre + radius + slack * terms);
      EXPECT_GE(sums.terms[at], terms);
      EXPECT_LE(sums.terms[at], terms * (1 + slack));
      EXPECT_GE(sums.norm[at], sqrtl(squares));
      EXPECT_LE(sums.norm[at], sqrtl(squares) * (1 + slack));
      EXPECT_NEAR(sums.mean[at], double(mean), 1e-5 * double(meanTerms));
      EXPECT_NEAR(sums.variance[at], double(variance), 1e-5 * variance);
      double tail = double(powl(sixth, 1.0L / 6));
      EXPECT_NEAR(sums.tail[at], tail, 1e-4 * tail);
    }
}

TEST(LinearSums, FormulasInEveryDtype) {
  Random random(1);
  for (const char *type : {"f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2",
                           "i8", "u8", "i16", "i32", "i4", "u4"})
    for (bool transposed : {false, true})
      for (auto [matrices, k, n] :
           {std::array<uint64_t, 3>{1, 7, 5}, {3, 65, 17}, {2, 1, 300}}) {
        SCOPED_TRACE(std::string(type) + (transposed ? " transposed" : ""));
        Shape shape{matrices, k, n, transposed};
        double spread = type[0] == 'i' || type[0] == 'u' ? 100 : 2;
        Weights weights(type,
                        randomList(random, matrices * k * n, -spread, spread));
        for (size_t count : {size_t(1), size_t(k), size_t(matrices * k)}) {
          Box box(random, count, 3);
          LinearSums sums = linearSums(request(weights, shape, box));
          expectFormulas(sums, weights.values, shape, box, 1e-12);
          EXPECT_TRUE(sums.flags.empty());
        }
      }
}

// Large enough for sums in float tiles, several tasks and threads.
TEST(LinearSums, FormulasWhenLarge) {
  Random random(2);
  for (const char *type : {"f32", "f16", "bf16", "i8", "u8"})
    for (Shape shape : {Shape{1, 701, 411, false},
                        {1, 701, 411, true},
                        {1, 30, 9001, false},
                        {1, 9001, 30, true},
                        {9, 70, 301, true},
                        {9, 70, 301, false}}) {
      SCOPED_TRACE(std::string(type) + " " + std::to_string(shape.n));
      // Two shapes will do for each further dtype.
      if (type[1] != '3' && shape.k != 701)
        continue;
      double spread = type[1] == '8' ? 100 : 0.1;
      Weights weights(type,
                      randomList(random, shape.matrices * shape.k * shape.n,
                                 -spread, spread));
      for (size_t count : {uint64_t(1), shape.matrices * shape.k}) {
        Box box(random, count, 3);
        LinearRequest wanted = request(weights, shape, box);
        LinearSums sums = linearSums(wanted);
        expectFormulas(sums, weights.values, shape, box, 3e-5);
        // Whatever the threads do, the result is the same.
        llvm::parallel::strategy.ThreadsRequested = 1;
        LinearSums alone = linearSums(wanted);
        llvm::parallel::strategy = {};
        EXPECT_EQ(sums.centre, alone.centre);
        EXPECT_EQ(sums.radius, alone.radius);
      }
    }
}

TEST(LinearSums, NoTermsAndNoOutputs) {
  Weights weights("f32", {});
  Random random(1);
  Box box(random, 1, 1);
  LinearSums sums = linearSums(request(weights, {1, 0, 3, false}, box));
  EXPECT_EQ(sums.bound(2), Interval::point(0));
  EXPECT_EQ(sums.norm[2], 0);
  EXPECT_EQ(linearSums(request(weights, {1, 3, 0, false}, box)).size(), 0u);
}

/// A sum of products in `format`, terms in random order, maybe fused.
double emulate(Random &random, const FloatFormat &format,
               std::vector<std::pair<double, double>> products) {
  std::shuffle(products.begin(), products.end(), random);
  bool fused = random() % 2, tree = random() % 2;
  if (tree) {
    std::vector<double> level;
    for (auto [a, b] : products)
      level.push_back(format.round(a * b));
    while (level.size() > 1) {
      std::vector<double> next;
      for (size_t at = 0; at + 1 < level.size(); at += 2)
        next.push_back(format.round(level[at] + level[at + 1]));
      if (level.size() % 2)
        next.push_back(level.back());
      level = next;
    }
    return level.front();
  }
  double sum = 0;
  for (auto [a, b] : products)
    sum = fused ? format.round(sum + a * b)
                : format.round(sum + format.round(a * b));
  return sum;
}

// Values of the box, multiplied and added in the accumulator's format.
TEST(LinearSums, HoldsEmulatedSums) {
  Random random(3);
  for (const FloatFormat *format :
       {&FloatFormat::f32(), &FloatFormat::f16(), &FloatFormat::bf16()})
    for (int round = 0; round < 120; ++round) {
      Shape shape{1, 1 + random() % 90, 1 + random() % 6, random() % 2 == 0};
      double spread = std::ldexp(1.0, int(random() % 10) - 9);
      Weights weights(format->name.str(),
                      randomList(random, shape.k * shape.n, -spread, spread));
      Box box(random, random() % 2 ? shape.k : 1, spread);
      // Multiples of 1/16 of `spread`, so that ends are numbers of the format.
      for (std::vector<double> *list : {&box.centre, &box.radius})
        for (double &value : *list)
          value = std::nearbyint(value / spread * 16) * spread / 16;
      LinearSums sums = linearSums(request(weights, shape, box));
      for (int sample = 0; sample < 20; ++sample) {
        uint64_t n = random() % shape.n;
        std::vector<std::pair<double, double>> products;
        for (uint64_t k = 0; k < shape.k; ++k) {
          // Ends are numbers of the format (below).
          double x = format->round(member(random, pick(box.centre, shape, 0, k),
                                          pick(box.radius, shape, 0, k)));
          products.push_back({x, weights.values[shape.index(0, k, n)]});
        }
        double sum = emulate(random, *format, products);
        double error = dotError({format}, shape.k, sums.terms[n]);
        EXPECT_LE(sum, sums.bound(n).hi + error);
        EXPECT_GE(sum, sums.bound(n).lo - error);
      }
    }
}

// Without a box around it a sum's error still obeys the bound, and is not far
// from it where every addition rounds the same way.
TEST(DotError, IsReached) {
  const FloatFormat &format = FloatFormat::f16();
  // 2048 + 1 ties to even and stays.
  double sum = 2048;
  for (int i = 0; i < 1000; ++i)
    sum = format.round(sum + 1);
  EXPECT_EQ(sum, 2048);
  double error = dotError({&format}, 1001, 3048);
  EXPECT_GE(error, 1000);
  EXPECT_LE(error, 1500);
  EXPECT_EQ(dotError({&format}, 0, 5), 0);
}

TEST(LinearSums, UnboundedInputs) {
  double inf = HUGE_VAL;
  Weights weights("f32", {1, 0, 2, 0, 3, 4});
  Random random(4);
  Box box(random, 3, 1);
  box.radius = {1, inf, 1};
  // [K, N] = [3, 2]: channel 0 has 1 2 3, channel 1 has 0 0 4.
  LinearSums sums = linearSums(request(weights, {1, 3, 2, false}, box));
  EXPECT_EQ(sums.bound(0), Interval::whole());
  EXPECT_TRUE(sums.bound(1).isBounded());
  box.centre = {0};
  box.radius = {inf};
  Weights zeros("f32", {0, 1, 0, 1, 0, 1});
  sums = linearSums(request(zeros, {1, 3, 2, false}, box));
  EXPECT_EQ(sums.bound(0), Interval::point(0));
  EXPECT_EQ(sums.bound(1), Interval::whole());
}

// Exactly 0, also in float tiles; and not where weights are only tiny.
TEST(LinearSums, DeadChannels) {
  Random random(12);
  for (Shape shape : {Shape{1, 20, 7, false}, {1, 500, 300, true}}) {
    std::vector<double> list = randomList(random, shape.k * shape.n, -1, 1);
    for (uint64_t k = 0; k < shape.k; ++k) {
      list[shape.index(0, k, 3)] = 0;
      list[shape.index(0, k, 4)] = 1e-40;
    }
    Weights weights("f32", list);
    Box box(random, shape.k, 1);
    LinearSums sums = linearSums(request(weights, shape, box));
    EXPECT_EQ(sums.bound(3), Interval::point(0));
    EXPECT_EQ(sums.terms[3], 0);
    EXPECT_EQ(sums.norm[3], 0);
    EXPECT_GT(sums.norm[4], 1e-40);
    EXPECT_GT(sums.bound(4).hi, sums.bound(4).lo);
  }
}

TEST(LinearSums, NonFiniteWeights) {
  double inf = HUGE_VAL, nan = std::nan("");
  for (const char *type : {"f64", "f32", "f16", "bf16", "f8E5M2"}) {
    SCOPED_TRACE(type);
    Weights weights(type, {1, inf, 2, -inf, nan, 3});
    Random random(5);
    Box box(random, 1, 1);
    box.centre = {0}, box.radius = {1};
    LinearSums sums = linearSums(request(weights, {1, 2, 3, true}, box));
    EXPECT_EQ(sums.flags,
              (std::vector<uint8_t>{WeightPosInf, WeightNegInf, WeightNaN}));
    EXPECT_NEAR(sums.bound(1).hi, 2, 1e-9);
    sums = linearSums(request(weights, {1, 2, 3, false}, box));
    EXPECT_EQ(sums.flags, (std::vector<uint8_t>{WeightNegInf,
                                                WeightPosInf | WeightNaN, 0}));
    EXPECT_NEAR(sums.bound(2).hi, 5, 1e-9);
  }
}

// Large enough to be summed where they lie, in the last rows and columns, too.
TEST(LinearSums, NonFiniteWeightsWhenLarge) {
  Random random(13);
  for (const char *type : {"f32", "f16"})
    for (bool transposed : {false, true})
      for (uint64_t channel : {0, 333}) {
        Shape shape{1, 601, 334, transposed};
        std::vector<double> list = randomList(random, shape.k * shape.n, -1, 1);
        Weights clean(type, list);
        Box box(random, shape.k, 1);
        LinearRequest wanted = request(clean, shape, box);
        wanted.wantNorm = true;
        EXPECT_TRUE(linearSums(wanted).flags.empty());
        list[shape.index(0, 600, channel)] = -HUGE_VAL;
        list[shape.index(0, 5, channel)] = std::nan("");
        Weights weights(type, list);
        wanted = request(weights, shape, box);
        wanted.wantNorm = true;
        LinearSums sums = linearSums(wanted);
        std::vector<uint8_t> expected(shape.n);
        expected[channel] = WeightNegInf | WeightNaN;
        EXPECT_EQ(sums.flags, expected);
        for (double &value : weights.values)
          value = std::isfinite(value) ? value : 0;
        expectFormulas(sums, weights.values, shape, box, 3e-5);
        EXPECT_GT(sums.operatorNorm[0], 1);
        EXPECT_LT(sums.operatorNorm[0], 601);
      }
}

// The stored weight counts: every rounding of every FP16 neighbourhood.
TEST(LinearSums, StorageFormat) {
  Random random(6);
  for (const char *source : {"f32", "f64", "bf16"})
    for (const FloatFormat *storage :
         {&FloatFormat::f16(), &FloatFormat::bf16(),
          FloatFormat::byName("f8E4M3FN"), FloatFormat::byName("f8E5M2")}) {
      SCOPED_TRACE(source + (" as " + storage->name.str()));
      std::vector<double> list;
      for (int i = 0; i < 4000; ++i) {
        double edge = std::ldexp(1.0 + double(random() % 64) / 64,
                                 int(random() % 44) - 27);
        list.push_back((random() % 2 ? edge : -edge) *
                       (1 + (double(random() % 5) - 2) / 65536));
      }
      Weights weights(source, list);
      weights.tensor.storage = storage;
      Shape shape{1, 1, list.size(), false};
      Box box(random, 1, 1);
      box.centre = {1}, box.radius = {0};
      LinearSums sums = linearSums(request(weights, shape, box));
      for (size_t at = 0; at < list.size(); ++at) {
        double rounded = storage->round(weights.values[at]);
        bool over = std::isinf(rounded);
        EXPECT_EQ(sums.centre[at], over ? weights.values[at] : rounded);
        EXPECT_EQ(sums.flags.empty() ? 0 : sums.flags[at],
                  over ? WeightStorageOverflow : 0);
      }
    }
}

TEST(LinearSums, StorageFormatInFloats) {
  Random random(7);
  for (const FloatFormat *storage : {&FloatFormat::f16(), &FloatFormat::bf16()})
    for (bool transposed : {false, true})
      for (bool overflows : {false, true}) {
        Shape shape{1, 500, 401, transposed};
        std::vector<double> list = randomList(random, shape.k * shape.n, -1, 1);
        if (overflows) // in the first channel
          list[transposed ? 77 : 77 * shape.n] = 3.4e38;
        Weights weights("f32", list);
        weights.tensor.storage = storage;
        Box box(random, shape.k, 1);
        LinearSums sums = linearSums(request(weights, shape, box));
        if (overflows) {
          ASSERT_FALSE(sums.flags.empty());
          EXPECT_EQ(sums.flags[0], WeightStorageOverflow);
          EXPECT_EQ(std::accumulate(sums.flags.begin(), sums.flags.end(), 0),
                    WeightStorageOverflow);
          continue;
        }
        EXPECT_TRUE(sums.flags.empty());
        std::vector<double> rounded;
        for (double value : weights.values)
          rounded.push_back(storage->round(value));
        expectFormulas(sums, rounded, shape, box, 3e-5);
      }
}

TEST(LinearSums, OverflowOfStorageInFloats) {
  Random random(7);
  Shape shape{1, 500, 401, true};
  std::vector<double> list = randomList(random, shape.k * shape.n, -1, 1);
  list[77] = 1e6;
  Weights weights("f32", list);
  weights.tensor.storage = &FloatFormat::f16();
  std::vector<double> rounded;
  for (double value : weights.values) {
    double stored = FloatFormat::f16().round(value);
    rounded.push_back(std::isinf(stored) ? value : stored);
  }
  Box box(random, shape.k, 1);
  LinearSums sums = linearSums(request(weights, shape, box));
  expectFormulas(sums, rounded, shape, box, 3e-5);
  ASSERT_FALSE(sums.flags.empty());
  EXPECT_EQ(sums.flags[0], WeightStorageOverflow);
  EXPECT_EQ(std::accumulate(sums.flags.begin(), sums.flags.end(), 0),
            WeightStorageOverflow);
}

TEST(LinearSums, DeadChannelsInFloats) {
  // The other channels' bounds are those of sums in float.
  Random random(8);
  for (const char *type : {"f32", "f16", "bf16", "i8"})
    for (bool transposed : {false, true})
      for (bool uniform : {false, true}) {
        SCOPED_TRACE(type);
        Shape shape{1, 500, 401, transposed};
        std::vector<double> list = randomList(random, shape.k * shape.n, 1, 2);
        Weights alive(type, list);
        for (uint64_t k = 0; k < shape.k; ++k)
          list[transposed ? 3 * shape.k + k : k * shape.n + 3] = 0;
        Weights weights(type, list);
        Box box(random, uniform ? 1 : shape.k, 1);
        LinearSums sums = linearSums(request(weights, shape, box));
        LinearSums expected = linearSums(request(alive, shape, box));
        for (const std::vector<double> *sum :
             {&sums.centre, &sums.radius, &sums.terms, &sums.norm})
          EXPECT_EQ((*sum)[3], 0);
        expected.radius[3] = 0;
        EXPECT_EQ(sums.radius, expected.radius);
        expected.norm[3] = 0;
        EXPECT_EQ(sums.norm, expected.norm);
      }
}

TEST(LinearSums, ZeroPoints) {
  Random random(8);
  for (const char *type : {"i8", "u8", "i4"})
    for (bool transposed : {false, true})
      for (bool large : {false, true}) {
        Shape shape{1, large ? 600ull : 33ull, large ? 250ull : 6ull,
                    transposed};
        Weights weights(type, randomList(random, shape.k * shape.n, -130, 260));
        std::vector<double> zeros;
        for (uint64_t n = 0; n < shape.n; ++n)
          zeros.push_back(double(random() % 7));
        weights.tensor.zeroPoints = zeros;
        std::vector<double> shifted = weights.values;
        for (uint64_t k = 0; k < shape.k; ++k)
          for (uint64_t n = 0; n < shape.n; ++n)
            shifted[shape.index(0, k, n)] -= zeros[n];
        Box box(random, shape.k, 2);
        LinearRequest wanted = request(weights, shape, box);
        expectFormulas(linearSums(wanted), shifted, shape, box, 3e-5);
      }
}

// What a float cannot hold is summed in double.
TEST(LinearSums, ExtremeMagnitudes) {
  Random random(9);
  for (double size : {1e-38, 1e-25, 1e-12, 1e12, 1e25, 1e37})
    for (double spread : {1e-200, 1e100}) {
      SCOPED_TRACE(std::to_string(std::log10(size)) + " " +
                   std::to_string(std::log10(spread)));
      Shape shape{1, 400, 350, false};
      Weights weights("f32",
                      randomList(random, shape.k * shape.n, -size, size));
      Box box(random, shape.k, spread);
      box.variance = {1}, box.halfRange = {1}, box.mean = {1};
      expectFormulas(linearSums(request(weights, shape, box)), weights.values,
                     shape, box, 3e-5);
    }
}

//===----------------------------------------------------------------------===//
// Operator norms
//===----------------------------------------------------------------------===//

/// From below, by power iteration.
double powerIteration(const std::vector<double> &values, const Shape &shape,
                      uint64_t matrix) {
  std::vector<double> x(shape.k, 1), y(shape.n);
  double norm = 0;
  for (uint64_t k = 0; k < shape.k; ++k)
    x[k] = 1 + double(k % 7) / 7;
  for (int round = 0; round < 200; ++round) {
    double length =
        std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
    if (length == 0)
      return 0;
    for (double &value : x)
      value /= length;
    std::fill(y.begin(), y.end(), 0);
    for (uint64_t k = 0; k < shape.k; ++k)
      for (uint64_t n = 0; n < shape.n; ++n)
        y[n] += x[k] * values[shape.index(matrix, k, n)];
    norm = std::sqrt(std::inner_product(y.begin(), y.end(), y.begin(), 0.0));
    for (uint64_t k = 0; k < shape.k; ++k) {
      x[k] = 0;
      for (uint64_t n = 0; n < shape.n; ++n)
        x[k] += y[n] * values[shape.index(matrix, k, n)];
    }
  }
  return norm;
}

TEST(OperatorNorm, AboveAndClose) {
  Random random(10);
  for (bool transposed : {false, true})
    for (Shape shape : {Shape{1, 40, 40, transposed},
                        {3, 9, 100, transposed},
                        {2, 100, 9, transposed},
                        {1, 2, 2, transposed},
                        {1, 150, 70, transposed}})
      for (double spread : {1e-3, 1.0, 1e4}) {
        Weights weights("f32",
                        randomList(random, shape.matrices * shape.k * shape.n,
                                   -spread, spread));
        Box box(random, shape.k, 1);
        LinearRequest wanted = request(weights, shape, box);
        LinearSums cheap = linearSums(wanted);
        wanted.wantNorm = true;
        LinearSums gram = linearSums(wanted);
        wanted.gramBudget = 0;
        LinearSums middle = linearSums(wanted);
        for (uint64_t matrix = 0; matrix < shape.matrices; ++matrix) {
          double lower = powerIteration(weights.values, shape, matrix);
          EXPECT_GE(gram.operatorNorm[matrix], lower * (1 - 1e-12));
          EXPECT_LE(gram.operatorNorm[matrix], lower * 1.002);
          EXPECT_LE(gram.operatorNorm[matrix], middle.operatorNorm[matrix]);
          EXPECT_LE(middle.operatorNorm[matrix], cheap.operatorNorm[matrix]);
        }
      }
}

// What Lanczos starts with is orthogonal to the largest singular vector, so
// that its estimate is 1: no bound near that is proved.
TEST(OperatorNorm, EstimateFarBelow) {
  constexpr size_t n = 16;
  double golden = 1.6180339887498949, length = std::hypot(golden, 1);
  std::vector<double> vector(n, 0), values(n * n, 0);
  vector[0] = golden / length;
  vector[1] = -1 / length;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      values[i * n + j] = (i == j) + 9 * vector[i] * vector[j];
  Weights weights("f64", values);
  Random random(12);
  Box box(random, 1, 1);
  LinearRequest wanted = request(weights, {1, n, n, false}, box);
  wanted.wantNorm = true;
  double norm = linearSums(wanted).operatorNorm[0];
  EXPECT_GE(norm, 10 * (1 - 1e-12));
  EXPECT_LE(norm, 11);
}

// A diagonal matrix: the row and column sums are its norm, Frobenius is not.
TEST(OperatorNorm, RowAndColumnSums) {
  for (size_t n : {20, 400})
    for (bool perK : {false, true}) {
      std::vector<double> values(n * n, 0);
      for (size_t at = 0; at < n; ++at)
        values[at * n + at] = -3;
      Weights weights("f16", values);
      Random random(11);
      Box box(random, perK ? n : 1, 1);
      LinearRequest wanted = request(weights, {1, n, n, perK}, box);
      EXPECT_NEAR(linearSums(wanted).operatorNorm[0], 3 * std::sqrt(n), 0.01);
      wanted.wantNorm = true;
      wanted.gramBudget = 0;
      double norm = linearSums(wanted).operatorNorm[0];
      EXPECT_GE(norm, 3);
      EXPECT_LE(norm, 3.0001);
    }
}

} // namespace
