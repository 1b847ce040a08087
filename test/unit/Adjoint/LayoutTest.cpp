//===- LayoutTest.cpp - Which reshapes are views --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected strides are those of torch.Tensor.view on tensors so strided.

#include "lib/Adjoint/Saved/Layout.h"
#include "mpopt/Adjoint/SavedTensors.h"

#include "gtest/gtest.h"

using namespace mpopt;

static std::optional<Strides> reshape(llvm::ArrayRef<int64_t> shape,
                                      llvm::ArrayRef<int64_t> strides,
                                      llvm::ArrayRef<int64_t> to) {
  return reshapeStrides(shape, strides, to);
}

TEST(Layout, Contiguous) {
  EXPECT_EQ(getContiguousStrides({2, 3, 4}), Strides({12, 4, 1}));
  EXPECT_EQ(reshape({2, 3, 4}, {12, 4, 1}, {6, 4}), Strides({4, 1}));
  EXPECT_EQ(reshape({2, 12}, {12, 1}, {2, 3, 4}), Strides({12, 4, 1}));
  EXPECT_EQ(reshape({}, {}, {1, 1}), Strides({1, 1}));
}

TEST(Layout, Transposed) {
  // [2, 3, 4] with its last two dims swapped.
  EXPECT_FALSE(reshape({2, 4, 3}, {12, 1, 4}, {2, 12}));
  EXPECT_EQ(reshape({2, 4, 3}, {12, 1, 4}, {2, 2, 2, 3}),
            Strides({12, 2, 1, 4}));
  // Heads of attention [1, 8, 4, 16] of [1, 4, 8, 16]: one batch folds.
  EXPECT_EQ(reshape({1, 8, 4, 16}, {512, 16, 128, 1}, {8, 4, 16}),
            Strides({16, 128, 1}));
  EXPECT_FALSE(reshape({2, 8, 4, 16}, {512, 16, 128, 1}, {16, 4, 16}));
}

TEST(Layout, Repeated) {
  EXPECT_FALSE(reshape({2, 3, 4}, {0, 4, 1}, {6, 4}));
  EXPECT_EQ(reshape({2, 3, 4}, {0, 0, 1}, {6, 4}), Strides({0, 1}));
}

TEST(Layout, Parts) {
  // x[:, :2] of [3, 4]: rows do not follow each other.
  EXPECT_FALSE(reshape({3, 2}, {4, 1}, {6}));
  EXPECT_EQ(reshape({3, 2}, {4, 1}, {3, 1, 2}), Strides({4, 2, 1}));
  EXPECT_FALSE(reshape({2, 2}, {2, 1}, {3}));
}

TEST(Checkpoints, BlockNames) {
  EXPECT_EQ(getBlockName("model.layers.12.up.weight"), "model.layers.12");
  EXPECT_EQ(getBlockName("encoder/block_3/kernel"), "encoder/block_3");
  EXPECT_EQ(getBlockName("0.weight"), "0");
  EXPECT_EQ(getBlockName("h.1.mlp.0.bias"), "h.1");
  EXPECT_EQ(getBlockName("conv1.weight"), "");
  EXPECT_EQ(getBlockName("weight"), "");
  EXPECT_EQ(getBlockName("w.0"), "");
  EXPECT_EQ(getBlockName(""), "");
}
