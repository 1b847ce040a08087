//===- CompositeTest.cpp - Functions that a model writes out --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Composite.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpopt;

/// A layer norm over the last axis with a scale, all of it marked.
static const char *const kNorm = R"mlir(
func.func @f(%x: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
  %eps = mp.constant dense<1.0e-3> : tensor<f32>
  %m = mp.reduce_mean %x {axes = array<i64: -1>, keep_dims = true, mp.idiom = #mp.idiom<"layer_norm", 7, false>} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %u = mp.sub %x, %m {mp.idiom = #mp.idiom<"layer_norm", 7, false>} : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %q = mp.square %u {mp.idiom = #mp.idiom<"layer_norm", 7, false>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 1>, keep_dims = true, mp.idiom = #mp.idiom<"layer_norm", 7, false>} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %w = mp.add %v, %eps {mp.idiom = #mp.idiom<"layer_norm", 7, false>} : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %r = mp.sqrt %w {mp.idiom = #mp.idiom<"layer_norm", 7, false>} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %i = mp.reciprocal %r {mp.idiom = #mp.idiom<"layer_norm", 7, false>} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %n = mp.mul %i, %u {mp.idiom = #mp.idiom<"layer_norm", 7, false>} : (tensor<2x1xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = mp.mul %n, %g {mp.idiom = #mp.idiom<"layer_norm", 7, true>} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
)mlir";

TEST(Composite, DescribesANorm) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, mp::MPDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kNorm, &context);
  ASSERT_TRUE(module);
  auto function = cast<func::FuncOp>(module->lookupSymbol("f"));
  Block &body = function.front();
  auto at = [&](unsigned index) { return &*std::next(body.begin(), index); };
  Composites composites(*module);
  ASSERT_EQ(composites.all().size(), 1u);
  const Composite &norm = composites.all().front();
  EXPECT_EQ(norm.kind, "layer_norm");
  EXPECT_EQ(norm.members.size(), 9u);
  EXPECT_EQ(norm.result, at(9));
  EXPECT_EQ(norm.input, function.getArgument(0));
  EXPECT_EQ(ArrayRef(norm.axes), ArrayRef<int64_t>({1}));
  EXPECT_EQ(norm.difference, at(2));
  EXPECT_EQ(ArrayRef(norm.path), ArrayRef<Operation *>({at(6), at(7), at(8)}));
  EXPECT_NEAR(norm.epsilon, 1e-3, 1e-9);
  EXPECT_EQ(composites.get(at(5)), &norm);
  EXPECT_EQ(composites.get(at(0)), nullptr);
  EXPECT_EQ(getKind(at(3)), "layer_norm");
  EXPECT_EQ(getKind(at(0)), "constant");
}
