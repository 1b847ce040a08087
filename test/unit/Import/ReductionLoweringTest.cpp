//===- ReductionLoweringTest.cpp - Activations and reductions from ONNX ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestNode.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

namespace {
using ActivationLowering = LoweringFixture;
using ReductionLowering = LoweringFixture;
using Ints = std::vector<int64_t>;
} // namespace

TEST_F(ActivationLowering, SoftmaxFlattensBeforeOpset13) {
  Value x = value("tensor<2x3x4xf32>"), matrix = value("tensor<2x3xf32>");
  auto softmax = lowerTo<mp::SoftmaxOp>({"Softmax", {x}, {}, 12});
  EXPECT_TRUE(softmax.getFlatten());
  EXPECT_EQ(int64_t(softmax.getAxis()), 1);
  // Only one axis behind the given one, so that both readings agree.
  EXPECT_FALSE(
      lowerTo<mp::LogSoftmaxOp>({"LogSoftmax", {matrix}, {}, 12}).getFlatten());
  softmax = lowerTo<mp::SoftmaxOp>({"Softmax", {x}, {}, 13});
  EXPECT_FALSE(softmax.getFlatten());
  EXPECT_EQ(int64_t(softmax.getAxis()), -1);
}

TEST_F(ActivationLowering, GeluVariants) {
  Value x = value("tensor<2x4xf16>"), bias = value("tensor<4xf16>");
  EXPECT_EQ(lowerTo<mp::GeluOp>({"Gelu", {x}}).getApproximate(), "none");
  auto fast =
      lowerTo<mp::GeluOp>({"FastGelu", {x, bias}, {}, 1, "com.microsoft"});
  EXPECT_EQ(fast.getApproximate(), "tanh");
  EXPECT_TRUE(fast.getInput().getDefiningOp<mp::AddOp>());
  fast = lowerTo<mp::GeluOp>({"FastGelu", {x}, {}, 1, "com.microsoft"});
  EXPECT_EQ(fast.getInput(), x);
  EXPECT_TRUE(lowerAll({"BiasGelu", {x}, {}, 1, "com.microsoft"}).empty());
  EXPECT_EQ(message, "input 1 is missing");
  EXPECT_TRUE(lowerAll({"Gelu", {x}, {{"approximate", "sigmoid"}}}).empty());
}

TEST_F(ActivationLowering, NumbersHaveTheSchemasDefaults) {
  Value x = value("tensor<2xf32>");
  EXPECT_EQ(
      lowerTo<mp::LeakyReluOp>({"LeakyRelu", {x}}).getAlpha().convertToDouble(),
      0.01);
  EXPECT_EQ(lowerTo<mp::EluOp>({"Elu", {x}, {{"alpha", 2.0}}})
                .getAlpha()
                .convertToDouble(),
            2.0);
  EXPECT_EQ(
      lowerTo<mp::SeluOp>({"Selu", {x}, {}, 1}).getGamma().convertToDouble(),
      1.0507);
  EXPECT_FALSE(lowerTo<mp::SoftplusOp>({"Softplus", {x}}).getThreshold());
  EXPECT_TRUE(lowerAll({"Celu", {x}, {{"alpha", 0.0}}}).empty());
  EXPECT_EQ(message, "alpha must not be 0");
}

TEST_F(ActivationLowering, PReluSlopeIsPerChannelBeforeOpset7) {
  Value x = value("tensor<1x3x8x8xf32>"), slope = value("tensor<3xf32>");
  auto prelu = lowerTo<mp::PReluOp>({"PRelu", {x, slope}, {}, 6});
  EXPECT_EQ(typeOf(prelu.getSlope()), "tensor<3x1x1xf32>");
  Value shared = value("tensor<1xf32>");
  EXPECT_EQ(lowerTo<mp::PReluOp>({"PRelu", {x, shared}, {}, 6}).getSlope(),
            shared);
}

TEST_F(ReductionLowering, AxesAreAttributesThenInputs) {
  Value x = value("tensor<2x3x4xf32>");
  EXPECT_EQ(typeOf(lower({"ReduceSum", {x}, {{"axes", Ints{1}}}, 11})),
            "tensor<2x1x4xf32>");
  EXPECT_EQ(
      typeOf(lower(
          {"ReduceSum", {x, ints({-1})}, {{"keepdims", int64_t(0)}}, 13})),
      "tensor<2x3xf32>");
  EXPECT_EQ(typeOf(lower({"ReduceMax", {x}})), "tensor<1x1x1xf32>");
  // An empty list means every axis.
  EXPECT_EQ(typeOf(lower({"ReduceMean", {x, ints({})}})), "tensor<1x1x1xf32>");
  auto dynamic = lowerTo<mp::ReduceL2Op>(
      {"ReduceL2", {x, value("tensor<1xi64>")}, {{"keepdims", int64_t(0)}}});
  EXPECT_EQ(typeOf(dynamic), "tensor<?x?xf32>");
  EXPECT_FALSE(dynamic.getAxes());
}

TEST_F(ReductionLowering, NoopKeepsWhatIsNotTheReduction) {
  Value x = value("tensor<2x3xf32>");
  std::vector<std::pair<std::string, TestAttr>> noop = {
      {"noop_with_empty_axes", int64_t(1)}};
  lowerTo<mp::IdentityOp>({"ReduceSum", {x}, noop});
  lowerTo<mp::IdentityOp>({"ReduceSum", {x, ints({})}, noop});
  lowerTo<mp::AbsOp>({"ReduceL2", {x}, noop});
  lowerTo<mp::LogOp>({"ReduceLogSum", {x}, noop});
  lowerTo<mp::ReduceSumOp>({"ReduceSum", {x, ints({1})}, noop});
  lowerTo<mp::ReduceSumOp>({"ReduceSum", {x, value("tensor<1xi64>")}, noop});
  EXPECT_TRUE(
      lowerAll({"ReduceSum", {x, value("tensor<?xi64>")}, noop}).empty());
  EXPECT_EQ(message, "");
}

TEST_F(ReductionLowering, TopKCounts) {
  Value x = value("tensor<2x5xf16>");
  std::vector<Value> results =
      lowerAll({"TopK", {x}, {{"k", int64_t(3)}}, 1, "", 2});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(typeOf(results[0]), "tensor<2x3xf16>");
  EXPECT_EQ(typeOf(results[1]), "tensor<2x3xi64>");
  EXPECT_EQ(typeOf(lower({"TopK", {x, ints({2})}, {{"axis", int64_t(1)}}})),
            "tensor<2x2xf16>");
  auto dynamic = lowerTo<mp::TopKOp>(
      {"TopK", {x, value("tensor<1xi64>")}, {{"largest", int64_t(0)}}});
  EXPECT_EQ(typeOf(dynamic.getValues()), "tensor<2x?xf16>");
  EXPECT_FALSE(dynamic.getLargest());
  EXPECT_TRUE(lowerAll({"TopK", {x}, {}, 1}).empty());
  EXPECT_EQ(message, "attribute 'k' is missing");
  EXPECT_TRUE(lowerAll({"TopK", {x, ints({1, 2})}}).empty());
  EXPECT_EQ(message, "k must be one number that is not negative");
}

TEST_F(ReductionLowering, PositionsAndScans) {
  Value x = value("tensor<2x5xf16>");
  auto arg = lowerTo<mp::ArgMaxOp>(
      {"ArgMax", {x}, {{"select_last_index", int64_t(1)}}});
  EXPECT_EQ(typeOf(arg), "tensor<1x5xi64>");
  EXPECT_TRUE(arg.getSelectLastIndex());
  auto sum = lowerTo<mp::CumSumOp>(
      {"CumSum", {x, ints({1})}, {{"reverse", int64_t(1)}}});
  EXPECT_EQ(sum.getAxis(), 1u);
  EXPECT_TRUE(sum.getReverse());
  sum = lowerTo<mp::CumSumOp>({"CumSum", {x, value("tensor<i64>")}});
  EXPECT_TRUE(sum.getDynamicAxis());
  EXPECT_TRUE(lowerAll({"CumSum", {x, ints({0, 1})}}).empty());
  EXPECT_EQ(message, "axis must be one number");
}
