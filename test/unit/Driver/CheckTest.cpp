//===- CheckTest.cpp - Modules from text, checked in process
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/CheckModule.h"
#include "mpopt/Driver/CheckText.h"

#include "mpopt/Driver/Assumptions.h"
#include "mpopt/Import/Import.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mpopt;

/// A product overflows and the quotient is small again.
static constexpr llvm::StringLiteral kProduct = R"(module {
  func.func @main(%x: tensor<64xf32> {mp.name = "x"}) -> tensor<64xf32> {
    %c = mp.constant dense<30000.0> : tensor<f32>
    %0 = mp.mul %x, %c : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32> loc(#mul)
    %1 = mp.div %0, %c : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32> loc(#div)
    %2 = mp.abs %1 : (tensor<64xf32>) -> tensor<64xf32>
    return %2 : tensor<64xf32>
  }
}
#mul = loc(fused<#mp.origin<"/Mul", "Mul", "", ["a"]>>["model.py":7:1])
#div = loc(fused<#mp.origin<"/Div", "Div", "", ["b"]>>["model.py":8:1])
)";

static Options makeOptions() {
  Options options;
  options.precision = "fp16";
  InputRange &x = options.inputs["x"];
  x.bound = Interval{0, 10};
  x.mean = 5;
  x.std = 1;
  for (const RuleInfo &rule : getRules())
    options.rules.push_back(&rule);
  return options;
}

namespace {
struct CheckModuleTest : testing::Test {
  CheckedModule check(const Options &options, RangeObserver observe = nullptr) {
    imported = importBytes(kProduct, "", options.import, context);
    EXPECT_TRUE(imported.errors.empty());
    llvm::Expected<std::vector<Assumption>> assumptions =
        assumeInputs(options, *imported.module);
    EXPECT_TRUE(bool(assumptions));
    llvm::Expected<CheckedModule> checked =
        checkModule(options, *imported.module, observe);
    if (checked)
      return std::move(*checked);
    ADD_FAILURE() << llvm::toString(checked.takeError());
    return {};
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerTransferModels(registry);
    return registry;
  }

  MLIRContext context{makeRegistry(), MLIRContext::Threading::DISABLED};
  ImportResult imported;
};
} // namespace

static const Finding *find(llvm::ArrayRef<Finding> findings,
                           llvm::StringRef rule, llvm::StringRef op) {
  for (const Finding &finding : findings)
    if (finding.rule == rule && finding.op.name == op)
      return &finding;
  return nullptr;
}

TEST_F(CheckModuleTest, FindsAndTriesFixes) {
  CheckedModule checked = check(makeOptions());
  const Finding *overflow = find(checked.findings, "MP201", "/Mul");
  ASSERT_TRUE(overflow);
  EXPECT_EQ(overflow->severity, Severity::Error);
  ASSERT_FALSE(overflow->fixes.empty());
  EXPECT_TRUE(overflow->fixes.front().safe);
  ASSERT_EQ(checked.keep.size(), 2u);
  EXPECT_EQ(checked.keep[0].op.name, "/Mul");
  EXPECT_EQ(checked.keep[1].op.name, "/Div");
  EXPECT_EQ(checked.places.size(), checked.findings.size());
  EXPECT_GT(checked.tensors, checked.proved);
  EXPECT_TRUE(checked.safeScales.empty());
}

TEST_F(CheckModuleTest, TrialsOfTheWholeCopySayTheSame) {
  Options options = makeOptions();
  CheckedModule reached = check(options);
  options.wholeTrials = true;
  CheckedModule whole = check(options);
  ASSERT_EQ(reached.findings.size(), whole.findings.size());
  for (auto [one, other] : llvm::zip(reached.findings, whole.findings)) {
    ASSERT_EQ(one.fixes.size(), other.fixes.size());
    for (auto [fix, same] : llvm::zip(one.fixes, other.fixes))
      EXPECT_EQ(fix.safe, same.safe) << fix.text;
  }
}

TEST_F(CheckModuleTest, SafeScaleIsThatOfTheEdge) {
  Options options = makeOptions();
  options.safeInput = true;
  CheckedModule checked = check(options);
  ASSERT_EQ(checked.safeScales.size(), 1u);
  EXPECT_EQ(checked.safeScales[0].input, "x");
  // 30000 x reaches 65504 where x is a fifth of the 10 that is assumed.
  EXPECT_NEAR(checked.safeScales[0].proved, 65504.0 / 300000, 0.01);
}

TEST_F(CheckModuleTest, RulesThatAreNotSelectedSayNothing) {
  Options options = makeOptions();
  options.rules = {findRule("MP302")};
  bool observed = false;
  auto observe = [&](const RangeAnalysis &) { observed = true; };
  CheckedModule checked = check(options, observe);
  for (const Finding &finding : checked.findings)
    EXPECT_EQ(finding.rule, "MP302");
  EXPECT_TRUE(observed);
}

TEST(CheckTextTest, FindingsAreInTheText) {
  llvm::Expected<std::vector<TextFinding>> findings =
      checkText(makeOptions(), kProduct, "file.mlir");
  ASSERT_TRUE(bool(findings));
  auto overflow = llvm::find_if(*findings, [](const TextFinding &found) {
    return found.finding.rule == "MP201" && found.finding.op.name == "/Mul";
  });
  ASSERT_NE(overflow, findings->end());
  EXPECT_EQ(overflow->place.line, 4u);
  EXPECT_EQ(overflow->place.column, 10u);
  ASSERT_FALSE(overflow->causes.empty());
  EXPECT_TRUE(llvm::any_of(overflow->causes, [](TextPlace place) {
    return place.line == 2 || place.line == 3;
  }));
}

TEST(CheckTextTest, WhatCannotBeReadIsAnError) {
  for (llvm::StringRef text :
       {"func.func @f(", "", "\"unknown.op\"() : () -> ()"}) {
    auto findings = checkText(makeOptions(), text, "file.mlir");
    EXPECT_FALSE(bool(findings)) << text.str();
    llvm::consumeError(findings.takeError());
  }
}
