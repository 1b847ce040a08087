//===- TrainingStepTest.cpp - What a training step leaves on a module
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Driver/Assumptions.h"
#include "mpopt/Driver/CheckModule.h"
#include "mpopt/Driver/TrainRequest.h"
#include "mpopt/Import/Import.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mpopt;

static constexpr llvm::StringLiteral kModel = R"(module {
  func.func @main(%x: tensor<8x3xf32> {mp.name = "x"}) -> (tensor<8x5xf32> {mp.name = "logits"}) {
    %w = mp.constant dense<0.5> : tensor<3x5xf32> loc(#w)
    %0 = mp.matmul %x, %w : (tensor<8x3xf32>, tensor<3x5xf32>) -> tensor<8x5xf32> loc(#y)
    return %0 : tensor<8x5xf32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["model.py":1:1])
#y = loc(fused<#mp.origin<"y", "MatMul", "", ["logits"]>>["model.py":2:1])
)";

namespace {
struct TrainingStepTest : testing::Test {
  llvm::Expected<CheckedModule> check(StringRef text = kModel) {
    options.precision = "autocast-fp16";
    imported = importBytes(text, "", options.import, context);
    EXPECT_TRUE(imported.errors.empty());
    addDeclaredValues(*options.train, options.inputs);
    llvm::Expected<std::vector<Assumption>> assumptions =
        assumeInputs(options, *imported.module);
    if (!assumptions)
      return assumptions.takeError();
    return checkModule(options, *imported.module);
  }

  func::FuncOp function() {
    return *imported.module->getOps<func::FuncOp>().begin();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerTransferModels(registry);
    registerGradientModels(registry);
    return registry;
  }

  MLIRContext context{makeRegistry(), MLIRContext::Threading::DISABLED};
  ImportResult imported;
  Options options;
};
} // namespace

TEST_F(TrainingStepTest, LeavesWhatIsDeclared) {
  TrainConfig &config = options.train.emplace();
  TrainLossTerm &term = config.lossTerms.emplace_back();
  term.kind = "cross-entropy";
  term.target = "labels";
  term.shareCounted = 0.25;
  config.lossValue = 1.5;
  config.targetsRelated = false;
  config.batch.micro = 8;
  TrainValues &labels = config.targets.emplace_back();
  labels.name = "labels";
  labels.lo = 0;
  labels.hi = 4;
  labels.zipf = 1.1;
  llvm::Expected<CheckedModule> checked = check();
  ASSERT_TRUE(bool(checked)) << llvm::toString(checked.takeError());
  const CheckedTraining &training = *checked->training;
  EXPECT_EQ(training.loss,
            std::vector<std::string>{
                "cross-entropy:logits,labels:share_counted=0.25"});
  EXPECT_FALSE(training.chosen || training.holdsGradients);
  EXPECT_EQ(training.parameters, std::vector<std::string>{"w"});
  ASSERT_EQ(training.targets.size(), 1u);
  EXPECT_EQ(training.targets[0].source, "config");

  auto number = [](Attribute value) {
    return cast<FloatAttr>(value).getValueAsDouble();
  };
  EXPECT_EQ(number(function()->getAttr(kLossValueAttr)), 1.5);
  EXPECT_EQ(function()->getAttr(kTargetsRelatedAttr),
            BoolAttr::get(&context, false));
  EXPECT_EQ(cast<IntegerAttr>(function()->getAttr(kMicroBatchAttr)).getInt(),
            8);
  ASSERT_EQ(function().getNumArguments(), 2u);
  EXPECT_EQ(function().getArgAttr(1, kLossTargetAttr),
            StringAttr::get(&context, "cross-entropy"));
  auto assumed = function().getArgAttrOfType<DictionaryAttr>(1, "mp.assume");
  ASSERT_TRUE(assumed);
  EXPECT_EQ(number(assumed.get("lo")), 0);
  EXPECT_EQ(number(assumed.get("hi")), 4);
  EXPECT_EQ(number(assumed.get("zipf")), 1.1);
  unsigned shares = 0, backward = 0, loss = 0;
  function()->walk([&](Operation *op) {
    shares += op->hasAttr(kShareCountedAttr);
    backward += op->hasAttr(kBackwardAttr);
    loss += op->hasAttr(kLossPartAttr);
    EXPECT_FALSE(op->hasAttr(kBackwardAttr) && op->hasAttr(kLossPartAttr));
  });
  EXPECT_EQ(shares, 1u);
  EXPECT_EQ(loss, 2u); // the cast of the logits, and the loss
  EXPECT_GE(backward, 4u);
}

TEST_F(TrainingStepTest, TakesTheDeclaredOutput) {
  TrainConfig &config = options.train.emplace();
  config.lossOutput = "logits";
  config.lossTerms.emplace_back().kind = "custom";
  llvm::Expected<CheckedModule> checked = check();
  ASSERT_TRUE(bool(checked)) << llvm::toString(checked.takeError());
  EXPECT_EQ(checked->training->loss, std::vector<std::string>{"sum:logits"});
}

TEST_F(TrainingStepTest, ListsWhatIsTrained) {
  options.train.emplace().parameters = {"v"};
  llvm::Expected<CheckedModule> checked = check();
  ASSERT_FALSE(bool(checked));
  EXPECT_EQ(llvm::toString(checked.takeError()),
            "no gradient of the loss reaches a parameter that the training "
            "configuration lists");
}

TEST_F(TrainingStepTest, ModelsThatHoldTheirGradients) {
  options.train.emplace();
  llvm::Expected<CheckedModule> checked = check(R"(module {
    func.func @main(%x: tensor<4x8xf32>, %t: tensor<4xi64> {mp.name = "t"}) -> (tensor<f32> {mp.name = "loss"}, tensor<8x8xf32> {mp.name = "w_grad"}) {
      %w = mp.constant dense<0.5> : tensor<8x8xf32>
      %y = mp.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %loss, %log = mp.softmax_cross_entropy %y, %t : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4x8xf32>)
      %g = mp.softmax_cross_entropy_grad %log, %t : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
      %d = mp.matmul %x, %g {trans_a = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
      return %loss, %d : tensor<f32>, tensor<8x8xf32>
    }
  })");
  ASSERT_TRUE(bool(checked)) << llvm::toString(checked.takeError());
  EXPECT_TRUE(checked->training->holdsGradients);
  EXPECT_TRUE(checked->training->loss.empty());
  EXPECT_EQ(function().getNumResults(), 2u);
  EXPECT_TRUE(function()->hasAttr(kHoldsGradientsAttr));
  std::vector<std::string> backward;
  function()->walk([&](Operation *op) {
    if (op->hasAttr(kBackwardAttr))
      backward.push_back(op->getName().stripDialect().str());
  });
  // The gradient in FP32, as the lists have it, is cast for the product.
  EXPECT_EQ(backward, (std::vector<std::string>{"softmax_cross_entropy_grad",
                                                "cast", "matmul"}));
}
