//===- EvaluationTest.cpp - Arrays, products and stored operands
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Evaluation/Evaluation.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Evaluation/DrawnInputs.h"
#include "mpopt/Evaluation/StoredOperand.h"
#include "mpopt/Numerics/Fp8Recipe.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mpopt;

static Matrices drawMatrices(int64_t batch, int64_t rows, int64_t depth,
                             uint32_t seed) {
  RandomNumbers random(seed);
  Matrices made{batch, rows, depth, {}};
  for (int64_t i = 0; i < batch * rows * depth; ++i)
    // Over 2^-24 to 2^24, with zeros.
    made.numbers.push_back(
        random.uniform() < 0.1
            ? 0
            : float(random.normal() * std::exp2(48 * random.uniform() - 24)));
  return made;
}

static Matrices drawNormal(int64_t batch, int64_t rows, int64_t depth,
                           uint32_t seed) {
  RandomNumbers random(seed);
  Matrices made{batch, rows, depth, {}};
  for (int64_t i = 0; i < batch * rows * depth; ++i)
    made.numbers.push_back(float(random.normal()));
  return made;
}

TEST(Matrices, MultipliesAllTiles) {
  for (auto [batch, rows, columns, depth] : {std::array<int64_t, 4>{1, 1, 1, 1},
                                             {2, 3, 5, 7},
                                             {1, 17, 9, 300},
                                             {3, 8, 16, 33},
                                             {1, 4, 8, 0}}) {
    Matrices a = drawNormal(batch, rows, depth, 1),
             b = drawNormal(batch == 3 ? 1 : batch, columns, depth, 2);
    Matrices c = multiplyMatrices(a, b);
    ASSERT_EQ(c.batch, batch);
    ASSERT_EQ(c.rows, rows);
    ASSERT_EQ(c.depth, columns);
    for (int64_t each = 0; each < batch; ++each)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < depth; ++k)
            sum += double(a.matrix(each)[i * depth + k]) *
                   b.matrix(b.batch == 1 ? 0 : each)[j * depth + k];
          EXPECT_NEAR(c.matrix(each)[i * columns + j], sum, 1e-4);
        }
  }
}

TEST(Matrices, TransposesTwice) {
  Matrices a = drawNormal(2, 37, 21, 3);
  EXPECT_EQ(a.transposed().transposed().numbers, a.numbers);
  EXPECT_EQ(a.transposed().matrix(1)[20 * 37 + 36], a.matrix(1)[36 * 21 + 20]);
}

/// Each element as StorageFormat stores it, whose scale the group gives.
TEST(StoredOperand, StoresAsFormatsDo) {
  for (const Fp8Recipe &recipe : Fp8Recipe::all())
    for (LayerPass pass : kLayerPasses)
      for (LayerRole role : rolesOf(pass)) {
        OperandScaling scaling = recipe.of(pass, role);
        Matrices exact = drawMatrices(2, 20, 70, 4), stored = exact;
        storeOperand(stored, scaling);
        using Grain = OperandScaling::Grain;
        int64_t deep = scaling.grain == Grain::Row      ? exact.depth
                       : scaling.grain == Grain::Tensor ? exact.depth
                                                        : scaling.size;
        int64_t tall = scaling.grain == Grain::Tile     ? scaling.size
                       : scaling.grain == Grain::Tensor ? exact.rows
                                                        : 1;
        bool isWhole = scaling.grain == Grain::Tensor;
        double all = 0;
        int64_t ties = 0;
        for (float x : exact.numbers)
          all = std::max(all, double(std::fabs(x)));
        for (int64_t at = 0; at < int64_t(exact.numbers.size()); ++at) {
          int64_t each = at / (exact.rows * exact.depth),
                  row = at / exact.depth % exact.rows, k = at % exact.depth;
          double most = 0;
          for (int64_t i = row / tall * tall;
               i < std::min(row / tall * tall + tall, exact.rows); ++i)
            for (int64_t j = k / deep * deep;
                 j < std::min(k / deep * deep + deep, exact.depth); ++j)
              most = std::max(
                  most,
                  double(std::fabs(exact.matrix(each)[i * exact.depth + j])));
          most = isWhole ? all : most;
          if (most == 0)
            continue;
          StorageFormat format = scaling.of({-most, most}, all);
          double want = format.round(exact.numbers[size_t(at)]);
          double step = format.step(want);
          // A scale in FP32 breaks ties the other way.
          double off = std::fabs(stored.numbers[size_t(at)] - want);
          ties += off > 1e-6 * std::fabs(want);
          EXPECT_LE(off, 1.001 * step + 1e-6 * std::fabs(want))
              << recipe.name.str() << " " << exact.numbers[size_t(at)];
        }
        EXPECT_LE(ties, 3) << recipe.name.str();
      }
}

TEST(StoredOperand, CountsShares) {
  Matrices operand{1, 2, 4, {0, 0, 0, 0, 448, 1, 0x1p-12f, 0}};
  OperandScaling rows = {"f8E4M3FN", OperandScaling::Grain::Row};
  StoredShares shares = storeOperand(operand, rows);
  EXPECT_EQ(shares.zeroGroups, 0.5);
  EXPECT_EQ(shares.clipped, 0);
  EXPECT_DOUBLE_EQ(shares.flushed, 1.0 / 3);
  EXPECT_EQ(operand.numbers[4], 448);
  EXPECT_EQ(operand.numbers[6], 0);
  Matrices late{1, 1, 2, {900, 2}};
  shares = storeOperand(late, {"f8E4M3FN"}, 448);
  EXPECT_EQ(shares.clipped, 0.5);
  EXPECT_EQ(late.numbers[0], 448);
}

TEST(RandomNumbers, HaveTheirMoments) {
  RandomNumbers random(7);
  double sum = 0, square = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    double x = random.normal();
    sum += x;
    square += x * x;
  }
  // Five deviations of the mean of so many.
  EXPECT_NEAR(sum / kCount, 0, 0.016);
  EXPECT_NEAR(square / kCount, 1, 0.023);
}

/// What is evaluated again on another argument, and cannot be, is not known:
/// the result of the base is that of another argument.
TEST(Evaluation, HidesResultsOfItsBase) {
  mlir::MLIRContext context;
  context.loadDialect<mp::MPDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @f(%x: tensor<?xf32>, %y: tensor<2xf32>) -> tensor<*xf32> {
      %0 = mp.add %x, %y : (tensor<?xf32>, tensor<2xf32>) -> tensor<*xf32>
      %1 = mp.mul %0, %0 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      return %1 : tensor<*xf32>
    })",
                                                        &context);
  ASSERT_TRUE(module);
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  mlir::Value result =
      function.getBody().front().getTerminator()->getOperand(0);
  Evaluation base;
  base.set(function.getArgument(0), {{2}, {1, 2}});
  base.set(function.getArgument(1), {{2}, {3, 4}});
  base.run(function);
  ASSERT_TRUE(base.find(result));
  EXPECT_EQ(base.find(result)->numbers, (std::vector<float>{16, 36}));
  Evaluation other(base);
  other.set(function.getArgument(0), {{2}, {0, 0}});
  other.run(function);
  EXPECT_EQ(other.find(result)->numbers, (std::vector<float>{9, 16}));
  Evaluation broken(base);
  broken.set(function.getArgument(0), {{3}, {0, 0, 0}});
  broken.run(function);
  EXPECT_EQ(broken.find(result), nullptr);
}
