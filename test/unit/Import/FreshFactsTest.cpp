//===- FreshFactsTest.cpp - Facts of ops that are no more -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Interfaces/FreshFacts.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

#include <set>

using namespace mlir;
using namespace mpopt;

TEST(FreshFacts, AreNotThoseOfAnErasedOp) {
  MLIRContext context;
  context.loadDialect<mp::MPDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder(module->getBodyRegion());
  ShapeFacts facts;
  FreshFacts fresh(facts);
  builder.setListener(&fresh);
  auto type = RankedTensorType::get({1}, builder.getI64Type());
  // Until an address comes again, mostly at once.
  std::set<const void *> addresses;
  for (unsigned round = 0; round < 1000; ++round) {
    auto op = mp::OpaqueOp::create(builder, builder.getUnknownLoc(),
                                   TypeRange(type), "test", ValueRange(), 0);
    Value value = op->getResult(0);
    EXPECT_FALSE(facts.elements(value));
    if (!addresses.insert(op.getOperation()).second)
      return;
    facts.set(value, Elements(std::in_place, 1, 7));
    EXPECT_TRUE(facts.elements(value));
    op->erase();
  }
  GTEST_SKIP() << "no address came again";
}
