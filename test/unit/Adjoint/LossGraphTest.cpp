//===- LossGraphTest.cpp - Losses that are graphs, behind a model
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Adjoint/Loss.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Settings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpopt;

static const char *const kModel = R"(
  func.func @model(%x: tensor<4x2xf16> {mp.name = "x"}, %m: tensor<4xi1> {mp.name = "mask"})
      -> (tensor<4x2xf16> {mp.name = "y"}, tensor<4xi64> {mp.name = "ids"}) {
    %ids = mp.constant dense<1> : tensor<4xi64>
    return %x, %ids : tensor<4x2xf16>, tensor<4xi64>
  })";

/// Weights, a branch, an input of the model and a target of its own.
static const char *const kLoss = R"(
  func.func @loss(%y: tensor<?x2xf32> {mp.name = "y"}, %m: tensor<?xi1> {mp.name = "mask"}, %t: tensor<4x2xf32> {mp.name = "t"})
      -> (tensor<?x2xf32> {mp.name = "d"}, tensor<f32> {mp.name = "total"}) {
    %w = mp.constant dense<[1.0, 2.0]> : tensor<2xf32> loc(#w)
    %d = mp.sub %y, %t : (tensor<?x2xf32>, tensor<4x2xf32>) -> tensor<?x2xf32> loc(#d)
    %any = mp.reduce_max %m : (tensor<?xi1>) -> tensor<i1>
    %b = mp.if %any : (tensor<i1>) -> tensor<?x2xf32> {
      %0 = mp.mul %d, %w : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
      mp.yield %0 : tensor<?x2xf32>
    } else {
      mp.yield %d : tensor<?x2xf32>
    }
    %sum = mp.reduce_sum %b : (tensor<?x2xf32>) -> tensor<f32>
    return %d, %sum : tensor<?x2xf32>, tensor<f32>
  }
  #w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["loss":1:1])
  #d = loc(fused<#mp.origin<"Sub", "Sub", "", ["d"]>>["loss":2:1]))";

namespace {
struct LossGraphTest : testing::Test {
  LossGraphTest() { context.loadDialect<func::FuncDialect, mp::MPDialect>(); }

  /// The loss, or the text of the error.
  FailureOr<Value> attach(const std::string &model, const std::string &loss) {
    module = parseSourceString<ModuleOp>(model, &context);
    graph = parseSourceString<ModuleOp>(loss, &context);
    if (!module || !graph) {
      error = "cannot be parsed";
      return failure();
    }
    function = *module->getOps<func::FuncOp>().begin();
    LossTerm term;
    term.kind = LossKind::Graph;
    term.file = "loss.mlir";
    term.weight = 0.5;
    term.graph = *graph->getOps<func::FuncOp>().begin();
    ScopedDiagnosticHandler handler(
        &context, [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
    return attachLosses(function, term);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module, graph;
  func::FuncOp function;
  std::string error;
};
} // namespace

TEST_F(LossGraphTest, IsBehindTheModel) {
  FailureOr<Value> loss = attach(kModel, kLoss);
  ASSERT_TRUE(succeeded(loss)) << error;
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(function->getAttrOfType<ArrayAttr>(kLossAttr)[0],
            StringAttr::get(&context, "loss.mlir:weight=0.5"));
  // The mask is the model's, the target is new.
  ASSERT_EQ(function.getNumArguments(), 3u);
  EXPECT_EQ(getInputName(function.getArgument(2)), "t");
  EXPECT_TRUE(function.getArgAttr(1, kLossTargetAttr));
  EXPECT_TRUE(function.getArgAttr(2, kLossTargetAttr));
  EXPECT_EQ(function.getNumResults(), 3u);

  std::vector<std::string> names;
  unsigned constants = 0;
  function->walk([&](Operation *op) {
    if (op->getParentOp() != function ||
        op->getName().getDialectNamespace() != "mp")
      return;
    bool isPart = op->hasAttr(kLossPartAttr);
    EXPECT_EQ(isPart, op != &function.front().front());
    constants += isPart && isa<mp::ConstantOp>(op);
    for (Value result : op->getResults())
      if (std::string name = getTensorPath(result); !name.empty())
        names.push_back(name);
  });
  EXPECT_EQ(names, (std::vector<std::string>{"loss/w", "loss/d", "loss"}));
  EXPECT_EQ(constants, 2u); // the weights, and the term's own
  // What the model knows of its shapes, the loss knows.
  for (Operation &op : function.front())
    if (getTensorPath(op.getResult(0)) == "loss/d") {
      EXPECT_EQ(op.getResult(0).getType(),
                RankedTensorType::get({4, 2}, Float32Type::get(&context)));
      break;
    }
}

/// The mean of one tensor.
static std::string makeMean(llvm::StringRef name, llvm::StringRef type,
                            llvm::StringRef axes = "") {
  bool whole = axes.empty();
  std::string result = whole ? "tensor<f32>" : "tensor<4xf32>";
  return ("func.func @loss(%y: " + type + " {mp.name = \"" + name +
          "\"}) -> (" + result +
          " {mp.name = \"loss\"}) {\n%0 = mp.reduce_mean "
          "%y {keep_dims = false" +
          axes + "} : (" + type + ") -> " + result + "\nreturn %0 : " + result +
          "\n}")
      .str();
}

TEST_F(LossGraphTest, DoesNotFit) {
  auto errorOf = [&](const std::string &loss) {
    EXPECT_TRUE(failed(attach(kModel, loss)));
    StringRef text = error;
    EXPECT_TRUE(text.consume_front("loss 'loss.mlir:weight=0.5': ")) << error;
    return text.str();
  };
  EXPECT_EQ(errorOf(makeMean("y", "tensor<4x3xf32>")),
            "'y' is 'tensor<4x2xf16>', and the loss takes 'tensor<4x3xf32>'");
  EXPECT_EQ(errorOf(makeMean("y", "tensor<?xf32>")),
            "'y' is 'tensor<4x2xf16>', and the loss takes 'tensor<?xf32>'");
  EXPECT_EQ(errorOf(makeMean("ids", "tensor<4xf32>")),
            "'ids' is 'tensor<4xi64>', and the loss takes 'tensor<4xf32>'");
  EXPECT_EQ(errorOf(makeMean("z", "tensor<4x2xf32>")),
            "none of its inputs is an output of the model");
  EXPECT_EQ(errorOf(makeMean("y", "tensor<4x2xf32>", ", axes = array<i64: 1>")),
            "its result is 'tensor<4xf32>', and a loss is one number");
}
