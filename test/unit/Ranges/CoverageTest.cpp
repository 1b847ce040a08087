//===- CoverageTest.cpp - Which ops have no transfer function
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Over the ops that are registered: a new op without a transfer function fails
// here, as does an entry of the list that has gained one. At most 5 % of the
// ops may be on it.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Ranges/RangeInterface.h"

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
    "mp.bit_cast", // bits of another dtype
    "mp.gradient", // of a graph that is named, not given
    "mp.opaque",   // no lowering
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
  EXPECT_EQ(without, kWithout);
  EXPECT_LE(kWithout.size() * 20, count);
}
