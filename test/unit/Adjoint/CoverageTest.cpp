//===- CoverageTest.cpp - Which ops lack a gradient
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Over the ops that are registered: each has a gradient, ends gradients, or is
// on the list of those that lack one. A new op that nobody thought of fails
// here, as does an entry of the list that has gained a gradient.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Roles.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <set>
#include <string>

using namespace mlir;
using namespace mpopt;

namespace {
/// Ops that have a gradient, and no formula for it. Gradients themselves lack
/// one, too: nobody differentiates twice.
const std::set<std::string> kLacking = {
    "mp.opaque",   // no lowering
    "mp.gradient", // of a graph that is named, not given
    // Lists of tensors.
    "mp.sequence_map", "mp.sequence_construct", "mp.sequence_insert",
    "mp.sequence_erase", "mp.sequence_at", "mp.split_to_sequence",
    "mp.concat_from_sequence", "mp.optional", "mp.optional_get_element",
    "mp.gather_block_quantized"};
} // namespace

TEST(GradientCoverage, EveryOpIsInOneGroup) {
  DialectRegistry registry;
  registry.insert<mp::MPDialect>();
  registerGradientModels(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::set<std::string> lacking;
  size_t have = 0, end = 0, again = 0;
  for (RegisteredOperationName op : context.getRegisteredOperations()) {
    if (op.getDialectNamespace() != mp::MPDialect::getDialectNamespace())
      continue;
    const OpMeaning *meaning = getMeaning(op.stripDialect(), &context);
    bool gradient = meaning && !meaning->gradientOf.empty();
    if (auto *model = op.getInterface<DifferentiableOpInterface>()) {
      EXPECT_FALSE(gradient) << op.getStringRef().str();
      ++(model->endsGradient(model, nullptr) ? end : have);
    } else if (gradient) {
      ++again;
    } else {
      lacking.insert(op.getStringRef().str());
    }
  }
  EXPECT_EQ(lacking, kLacking);
  EXPECT_GT(have, 150u);
  EXPECT_GT(end, 50u);
  EXPECT_GT(again, 70u);
}
