//===- RolesTest.cpp - What ops mean, without their headers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Roles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpopt;

namespace {
struct RolesTest : testing::Test {
  RolesTest() { context.loadDialect<func::FuncDialect, mp::MPDialect>(); }

  bool has(StringRef mnemonic, Role role) {
    const OpMeaning *meaning = getMeaning(mnemonic, &context);
    EXPECT_TRUE(meaning) << mnemonic.str();
    return hasRole(meaning, role);
  }
  std::optional<double> degree(StringRef mnemonic) {
    return getMeaning(mnemonic, &context)->degree;
  }

  MLIRContext context;
};
} // namespace

TEST_F(RolesTest, Arithmetic) {
  for (StringRef op : {"add", "add_n"})
    EXPECT_TRUE(has(op, Role::Addition)) << op.str();
  for (StringRef op : {"mul", "matmul", "gemm", "conv", "einsum"})
    EXPECT_TRUE(has(op, Role::Product)) << op.str();
  EXPECT_FALSE(has("mul", Role::Contraction));
  EXPECT_FALSE(has("matmul", Role::Multiplication));
  EXPECT_FALSE(has("add", Role::Product));
  EXPECT_TRUE(has("linear", Role::Weighted));
  EXPECT_FALSE(has("matmul", Role::Weighted));
}

TEST_F(RolesTest, Sums) {
  for (StringRef op : {"reduce_sum", "reduce_mean", "cum_sum", "average_pool",
                       "adaptive_avg_pool"})
    EXPECT_TRUE(has(op, Role::Sum)) << op.str();
  EXPECT_TRUE(has("reduce_mean", Role::Mean));
  EXPECT_FALSE(has("reduce_sum", Role::Mean));
  EXPECT_TRUE(has("reduce_l2", Role::MagnitudeSum));
  EXPECT_FALSE(has("reduce_max", Role::Sum | Role::MagnitudeSum));
}

TEST_F(RolesTest, Functions) {
  for (StringRef op : {"exp", "exp2", "expm1", "sinh", "cosh"})
    EXPECT_TRUE(has(op, Role::Exponential)) << op.str();
  for (StringRef op : {"log", "log2", "log10", "log1p"})
    EXPECT_TRUE(has(op, Role::Logarithm)) << op.str();
  EXPECT_TRUE(has("log", Role::PoleAtZero));
  EXPECT_FALSE(has("log1p", Role::PoleAtZero));
  EXPECT_FALSE(has("softplus", Role::Exponential));
  EXPECT_TRUE(has("softplus", Role::InnerExponential));
  EXPECT_TRUE(has("softmin", Role::Softmax));
  EXPECT_FALSE(has("softmin", Role::Maskable));
}

TEST_F(RolesTest, Copies) {
  for (StringRef op : {"reshape", "gather", "gather_nd", "depth_to_space"})
    EXPECT_TRUE(has(op, Role::MovesElements)) << op.str();
  EXPECT_FALSE(has("slice", Role::Rearranges));
  for (StringRef op : {"reshape", "slice", "relu", "where", "max", "constant"})
    EXPECT_TRUE(has(op, Role::CopiesElements)) << op.str();
  EXPECT_FALSE(has("leaky_relu", Role::CopiesElements));
  EXPECT_FALSE(has("where", Role::MovesElements));
}

TEST_F(RolesTest, PartsOfNetworks) {
  EXPECT_TRUE(has("kl_div", Role::Loss));
  EXPECT_TRUE(has("softmax_cross_entropy", Role::Loss));
  EXPECT_FALSE(has("softmax_cross_entropy_grad", Role::Loss));
  EXPECT_FALSE(has("cosine_similarity", Role::Loss));
  EXPECT_TRUE(has("layer_norm", Role::Normalization));
  EXPECT_TRUE(has("batch_norm", Role::Normalization));
  EXPECT_FALSE(has("batch_norm", Role::RowNorm));
  EXPECT_FALSE(has("rms_norm", Role::Centring));
  for (StringRef op : {"conv", "lstm", "relu", "gelu", "layer_norm"})
    EXPECT_TRUE(has(op, Role::Layer)) << op.str();
  EXPECT_FALSE(has("where", Role::Layer));
}

TEST_F(RolesTest, Degrees) {
  EXPECT_EQ(degree("neg"), 1);
  EXPECT_EQ(degree("reduce_sum_square"), 2);
  EXPECT_EQ(degree("rsqrt"), -0.5);
  EXPECT_EQ(degree("layer_norm"), 0);
  EXPECT_EQ(getMeaning("layer_norm", &context)->epsilonDegree, 2);
  EXPECT_EQ(degree("exp"), std::nullopt);
}

TEST_F(RolesTest, UnknownNames) {
  EXPECT_EQ(getMeaning("fmod", &context), nullptr);
  EXPECT_FALSE(hasRole(static_cast<Operation *>(nullptr), Role::Sum));
}

TEST_F(RolesTest, Operations) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = mp.div %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
      "  %1 = mp.reciprocal %0 : (tensor<4xf32>) -> tensor<4xf32>\n"
      "  %2 = mp.tanh_grad %1, %x : (tensor<4xf32>, tensor<4xf32>) -> "
      "tensor<4xf32>\n"
      "  return %2 : tensor<4xf32>\n}",
      &context);
  ASSERT_TRUE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front())
    ops.push_back(&op);
  EXPECT_TRUE(hasRole(ops[0], Role::Arithmetic));
  EXPECT_EQ(divisorOperand(ops[0]), 1u);
  EXPECT_EQ(divisorOperand(ops[1]), 0u);
  EXPECT_EQ(divisorOperand(ops[2]), std::nullopt);
  EXPECT_EQ(gradientOf(ops[2]), "tanh");
  EXPECT_EQ(gradientOf(ops[0]), "");
  // An op of another dialect means nothing here.
  EXPECT_EQ(getMeaning(ops[3]), nullptr);
}

TEST_F(RolesTest, GradientsAreOfOps) {
  unsigned gradients = 0;
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("mp")) {
    const OpMeaning *meaning = getMeaning(name.stripDialect(), &context);
    ASSERT_TRUE(meaning) << name.getStringRef().str();
    if (meaning->gradientOf.empty())
      continue;
    ++gradients;
    EXPECT_TRUE(getMeaning(meaning->gradientOf, &context))
        << name.getStringRef().str();
    EXPECT_FALSE(hasRole(meaning, Role::Loss)) << name.getStringRef().str();
  }
  EXPECT_EQ(gradients, 84u);
}
