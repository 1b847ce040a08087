//===- MatchTest.cpp - Shared patterns ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Match.h"

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpopt;

namespace {
struct MatchTest : testing::Test {
  MatchTest() { context.loadDialect<func::FuncDialect, mp::MPDialect>(); }

  /// The `index`th op of a function with a [2, 3] argument %x in f32 and %h in
  /// f16.
  Operation *get(const std::string &body, unsigned index) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(%x: tensor<2x3xf32>, %h: tensor<2x3xf16>) {\n" + body +
            "\nreturn }",
        &context);
    EXPECT_TRUE(module);
    auto function = cast<func::FuncOp>(module->lookupSymbol("f"));
    argument = function.getArgument(0);
    half = function.getArgument(1);
    return &*std::next(function.front().begin(), index);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Value argument, half;
};
} // namespace

static const char *const kNarrow =
    "%0 = mp.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf16>\n";

TEST_F(MatchTest, PeelsWhatItIsTold) {
  Operation *cast = get(kNarrow, 0);
  Value narrow = cast->getResult(0);
  EXPECT_EQ(peel(narrow), argument);
  EXPECT_EQ(peel(narrow, Peel::FloatCasts), argument);
  // 11 of 24 digits are left.
  EXPECT_EQ(peel(narrow, Peel::Lossless), narrow);
  EXPECT_EQ(peel(narrow, Peel::InsertedCasts), narrow);
  EXPECT_EQ(peel(narrow, Peel::Views), narrow);
  EXPECT_EQ(getMaker(narrow), nullptr);
  EXPECT_EQ(getMaker(narrow, Peel::Views), cast);
}

TEST_F(MatchTest, WideningLosesNothing) {
  Operation *cast =
      get("%0 = mp.cast %h : (tensor<2x3xf16>) -> tensor<2x3xf32>", 0);
  EXPECT_EQ(peel(cast->getResult(0), Peel::Lossless), half);
}

TEST_F(MatchTest, InsertedCastsAreTheirOwnKind) {
  Operation *cast = get("%0 = mp.cast %x {origin = #mp.cast_origin<policy>} : "
                        "(tensor<2x3xf32>) -> tensor<2x3xf16>",
                        0);
  Value narrow = cast->getResult(0);
  EXPECT_TRUE(isInserted(cast));
  EXPECT_EQ(peel(narrow, Peel::InsertedCasts), argument);
  EXPECT_EQ(peel(narrow, Peel::PromotionCasts), narrow);
}

TEST_F(MatchTest, TellsTheCastsOnTheWay) {
  Operation *cast =
      get(std::string(kNarrow) +
              "%1 = mp.cast %0 : (tensor<2x3xf16>) -> tensor<2x3xf32>",
          1);
  unsigned casts = 0;
  EXPECT_EQ(
      peel(cast->getResult(0), Peel::FloatCasts, [&](mp::CastOp) { ++casts; }),
      argument);
  EXPECT_EQ(casts, 2u);
}

TEST_F(MatchTest, ThreeSpellingsOfASquare) {
  EXPECT_EQ(getSquared(get("%0 = mp.square %x : (tensor<2x3xf32>) -> "
                           "tensor<2x3xf32>",
                           0)),
            argument);
  EXPECT_EQ(getSquared(get("%0 = mp.mul %x, %x : (tensor<2x3xf32>, "
                           "tensor<2x3xf32>) -> tensor<2x3xf32>",
                           0)),
            argument);
  const char *power = "%c = mp.constant dense<2.0> : tensor<f32>\n"
                      "%0 = mp.pow %x, %c : (tensor<2x3xf32>, tensor<f32>) -> "
                      "tensor<2x3xf32>";
  EXPECT_EQ(getSquared(get(power, 1)), argument);
  auto unknown = [](Value) { return std::optional<double>(); };
  EXPECT_EQ(getSquared(get(power, 1), {nullptr, unknown}), Value());
}

TEST_F(MatchTest, AProductOfTwoValuesIsNoSquare) {
  Operation *product =
      get("%0 = mp.abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
          "%1 = mp.mul %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
          "tensor<2x3xf32>",
          1);
  EXPECT_EQ(getSquared(product), Value());
  EXPECT_EQ(getSquared(nullptr), Value());
  auto always = [](Value, Value) { return true; };
  EXPECT_EQ(getSquared(product, {always, nullptr}), argument);
}

TEST_F(MatchTest, ThreeSpellingsOfAnInverse) {
  EXPECT_EQ(getInverted(get("%0 = mp.reciprocal %x : (tensor<2x3xf32>) -> "
                            "tensor<2x3xf32>",
                            0)),
            argument);
  EXPECT_EQ(getInverted(get("%c = mp.constant dense<1.0> : tensor<f32>\n"
                            "%0 = mp.div %c, %x : (tensor<f32>, "
                            "tensor<2x3xf32>) -> tensor<2x3xf32>",
                            1)),
            argument);
  EXPECT_EQ(getInverted(get("%c = mp.constant dense<-1.0> : tensor<f32>\n"
                            "%0 = mp.pow %x, %c : (tensor<2x3xf32>, "
                            "tensor<f32>) -> tensor<2x3xf32>",
                            1)),
            argument);
  EXPECT_EQ(getInverted(get("%c = mp.constant dense<2.0> : tensor<f32>\n"
                            "%0 = mp.div %c, %x : (tensor<f32>, "
                            "tensor<2x3xf32>) -> tensor<2x3xf32>",
                            1)),
            Value());
}

TEST_F(MatchTest, AxesOfAReduction) {
  auto axesOf = [&](const char *attribute) {
    return getReducedAxes(
        get(std::string("%0 = mp.reduce_sum %x ") + attribute +
                " : (tensor<2x3xf32>) -> tensor<*x!mp.unknown>",
            0),
        ShapeFacts());
  };
  using Axes = SmallVector<int64_t, 4>;
  EXPECT_EQ(axesOf("{axes = array<i64: -1>}"), Axes({1}));
  EXPECT_EQ(axesOf("{axes = array<i64: 1, -2>}"), Axes({0, 1}));
  EXPECT_EQ(axesOf(""), Axes({0, 1}));
}
