//===- CoverageTest.cpp - Which ops have no transfer function
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over the ops that are registered: a new op without a transfer function fails
// here. At most 5 % of the ops may be on the list.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Transfer/RangeInterface.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <set>
#include <string>

using namespace mlir;
using namespace mpopt;

namespace {
/// Not ops of the range analysis: constants are summarised by the driver, a
/// terminator has no results.
const std::set<std::string> kNoNeed = {"mp.constant", "mp.yield"};

/// Nothing is known of their results but the dtype.
const std::set<std::string> kWithout = {
    "mp.gradient", // of a graph that is named, not given
    "mp.opaque",   // no lowering
};

/// Families whose transfer functions come as wholes: products, pooling,
/// recurrent cells and attention.
const std::set<std::string> kFamiliesToCome = {
    "mp.adaptive_avg_pool",
    "mp.adaptive_max_pool",
    "mp.attention",
    "mp.average_pool",
    "mp.bilinear",
    "mp.bit_cast",
    "mp.conv",
    "mp.conv_integer",
    "mp.conv_transpose",
    "mp.deform_conv",
    "mp.einsum",
    "mp.gemm",
    "mp.global_average_pool",
    "mp.global_lp_pool",
    "mp.global_max_pool",
    "mp.gru",
    "mp.gru_cell",
    "mp.linear",
    "mp.lp_pool",
    "mp.lstm",
    "mp.lstm_cell",
    "mp.matmul",
    "mp.matmul_integer",
    "mp.max_pool",
    "mp.max_roi_pool",
    "mp.max_unpool",
    "mp.rnn",
    "mp.rnn_cell",
    "mp.roi_align",
    "mp.rotary_embedding",
};
} // namespace

TEST(TransferCoverage, EveryOpButAFew) {
  DialectRegistry registry;
  registry.insert<mp::MPDialect>();
  registerTransferModels(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::set<std::string> without;
  size_t count = 0;
  for (RegisteredOperationName op : context.getRegisteredOperations()) {
    if (op.getDialectNamespace() != mp::MPDialect::getDialectNamespace() ||
        kNoNeed.contains(op.getStringRef().str()))
      continue;
    ++count;
    if (!op.hasInterface<RangeOpInterface>())
      without.insert(op.getStringRef().str());
  }
  EXPECT_GT(count, 150u);
  for (const std::string &op : without)
    EXPECT_TRUE(kWithout.contains(op) || kFamiliesToCome.contains(op)) << op;
  for (const std::string &op : kWithout)
    EXPECT_TRUE(without.contains(op)) << op << " has one now";
  EXPECT_LE(kWithout.size() * 20, count);
}
