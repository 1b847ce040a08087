//===- ElementwiseLoweringTest.cpp - Core and elementwise ops from ONNX ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestNode.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

namespace {
using CoreLowering = LoweringFixture;
using ElementwiseLowering = LoweringFixture;
} // namespace

TEST_F(CoreLowering, CastNamesItsTargetByWordBeforeOpset6) {
  Value x = value("tensor<2x?xf32>");
  EXPECT_EQ(typeOf(lower({"Cast", {x}, {{"to", "FLOAT16"}}, 1})),
            "tensor<2x?xf16>");
  EXPECT_EQ(typeOf(lower({"Cast", {x}, {{"to", int64_t(7)}}, 13})),
            "tensor<2x?xi64>");
  EXPECT_TRUE(lowerAll({"Cast", {x}, {{"to", "FLOAT17"}}, 1}).empty());
  EXPECT_EQ(message, "attribute 'to' does not name an element type");
}

TEST_F(CoreLowering, CastSaturatesTo8BitFloatsOnly) {
  Value x = value("tensor<2xf32>");
  auto half = lowerTo<mp::CastOp>({"Cast", {x}, {{"to", int64_t(10)}}});
  EXPECT_FALSE(half.getSaturate());
  auto narrow = lowerTo<mp::CastOp>({"Cast", {x}, {{"to", int64_t(17)}}});
  EXPECT_TRUE(narrow.getSaturate());
  EXPECT_FALSE(narrow.getRoundMode());
  auto wraps = lowerTo<mp::CastOp>(
      {"Cast", {x}, {{"to", int64_t(17)}, {"saturate", int64_t(0)}}});
  EXPECT_FALSE(wraps.getSaturate());
  auto scale = lowerTo<mp::CastOp>({"Cast", {x}, {{"to", int64_t(24)}}, 24});
  EXPECT_EQ(scale.getRoundMode(), "up");
}

TEST_F(CoreLowering, CastLikeNeedsTheOtherDtype) {
  Value x = value("tensor<2xf32>");
  EXPECT_EQ(typeOf(lower({"CastLike", {x, value("tensor<bf16>")}})),
            "tensor<2xbf16>");
  EXPECT_TRUE(
      lowerAll({"CastLike", {x, value("tensor<*x!mp.unknown>")}}).empty());
  EXPECT_EQ(message, "");
}

TEST_F(CoreLowering, BitCastKeepsTheShape) {
  Value x = value("tensor<2x?xf32>");
  EXPECT_EQ(typeOf(lower({"BitCast", {x}, {{"to", int64_t(6)}}, 26})),
            "tensor<2x?xi32>");
}

TEST_F(CoreLowering, ConstantTakesPlainValues) {
  EXPECT_EQ(typeOf(lower({"Constant", {}, {{"value_int", int64_t(3)}}})),
            "tensor<i64>");
  EXPECT_EQ(typeOf(lower({"Constant", {}, {{"value_float", 0.5}}})),
            "tensor<f32>");
  EXPECT_EQ(typeOf(lower(
                {"Constant", {}, {{"value_floats", std::vector{0.5, 1.0}}}})),
            "tensor<2xf32>");
  EXPECT_EQ(typeOf(lower({"Constant",
                          {},
                          {{"value_strings",
                            std::vector<std::string>{"a", "b", "c"}}}})),
            "tensor<3x!mp.string>");
  Value shape =
      lower({"Constant", {}, {{"value_ints", std::vector<int64_t>{4, -1}}}});
  EXPECT_EQ(facts.constants(shape), (SmallVector<int64_t>{4, -1}));
  EXPECT_TRUE(lowerAll({"Constant", {}}).empty());
  EXPECT_EQ(message, "a Constant needs a value");
}

TEST_F(ElementwiseLowering, EveryPlainOpHasItsOwn) {
  Value x = value("tensor<2xf32>");
  for (StringRef type :
       {"Abs",  "Acos", "Acosh",      "Asin",  "Asinh", "Atan", "Atanh", "Ceil",
        "Cos",  "Cosh", "Erf",        "Exp",   "Floor", "Log",  "Neg",   "Sin",
        "Sinh", "Sign", "Reciprocal", "Round", "Sqrt",  "Tan",  "Tanh"}) {
    Value result = lower({type.str(), {x}});
    ASSERT_TRUE(result);
    EXPECT_EQ(result.getDefiningOp()->getName().stripDialect(), type.lower());
    EXPECT_EQ(result.getType(), x.getType());
  }
  EXPECT_TRUE(lowerAll({"Exp", {}}).empty());
  EXPECT_EQ(message, "input 0 is missing");
}

TEST_F(ElementwiseLowering, ComparisonsGiveBooleans) {
  Value x = value("tensor<2x1xf16>"), y = value("tensor<3xf16>");
  for (const char *type :
       {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
    EXPECT_EQ(typeOf(lower({type, {x, y}})), "tensor<2x3xi1>");
}

TEST_F(ElementwiseLowering, AxisPlacesTheSecondOperandBeforeOpset7) {
  Value x = value("tensor<2x3x4x5xf32>"), y = value("tensor<3x4xf32>");
  std::vector<std::pair<std::string, TestAttr>> attrs = {
      {"broadcast", int64_t(1)}, {"axis", int64_t(1)}};
  auto add = lowerTo<mp::AddOp>({"Add", {x, y}, attrs, 6});
  EXPECT_EQ(typeOf(add), "tensor<2x3x4x5xf32>");
  EXPECT_EQ(typeOf(add.getRhs()), "tensor<3x4x1xf32>");

  // Matched from the back, a single element, and the last place need nothing.
  Value last = value("tensor<5xf32>"), one = value("tensor<1x1xf32>");
  EXPECT_EQ(
      lowerTo<mp::AddOp>({"Add", {x, last}, {{"broadcast", int64_t(1)}}, 6})
          .getRhs(),
      last);
  EXPECT_EQ(lowerTo<mp::AddOp>({"Add", {x, one}, attrs, 6}).getRhs(), one);
  attrs[1].second = int64_t(-1);
  EXPECT_EQ(lowerTo<mp::AddOp>({"Add", {x, last}, attrs, 6}).getRhs(), last);

  EXPECT_TRUE(lowerAll({"Add", {x, y}, attrs, 6}).empty());
  EXPECT_EQ(message, "axis -1 does not place an operand of rank 2 in one of "
                     "rank 4");
  // Without the ranks there is no lowering, and no error.
  EXPECT_TRUE(lowerAll({"Add", {value("tensor<*xf32>"), y}, attrs, 6}).empty());
  EXPECT_EQ(message, "");
}

TEST_F(ElementwiseLowering, ClipTakesBoundsFromAttributesBeforeOpset11) {
  Value x = value("tensor<2xf16>");
  auto clip = lowerTo<mp::ClipOp>({"Clip", {x}, {{"min", -0.5}}, 6});
  EXPECT_EQ(typeOf(clip.getMin()), "tensor<f16>");
  EXPECT_FALSE(clip.getMax());
  Value high = value("tensor<f16>");
  clip = lowerTo<mp::ClipOp>({"Clip", {x, Value(), high}, {}, 13});
  EXPECT_FALSE(clip.getMin());
  EXPECT_EQ(clip.getMax(), high);
}

TEST_F(ElementwiseLowering, BitShiftHasADirection) {
  Value x = value("tensor<2xui8>");
  lowerTo<mp::ShiftLeftOp>({"BitShift", {x, x}, {{"direction", "LEFT"}}});
  lowerTo<mp::ShiftRightOp>({"BitShift", {x, x}, {{"direction", "RIGHT"}}});
  EXPECT_TRUE(lowerAll({"BitShift", {x, x}}).empty());
  EXPECT_EQ(message, "direction must be LEFT or RIGHT, not ''");
}

TEST_F(ElementwiseLowering, OtherForms) {
  Value x = value("tensor<2xf16>"), y = value("tensor<2xf16>");
  EXPECT_TRUE(
      lowerTo<mp::ModOp>({"Mod", {x, y}, {{"fmod", int64_t(1)}}}).getFmod());
  EXPECT_EQ(lowerTo<mp::AddNOp>({"Sum", {x, y, x}}).getInputs().size(), 3u);
  auto isInf =
      lowerTo<mp::IsInfOp>({"IsInf", {x}, {{"detect_negative", int64_t(0)}}});
  EXPECT_FALSE(isInf.getDetectNegative());
  EXPECT_TRUE(isInf.getDetectPositive());
  EXPECT_EQ(typeOf(lower({"Where", {value("tensor<3x1xi1>"), x, y}})),
            "tensor<3x2xf16>");
}
