//===- AtenGraphTest.cpp - A graph without a file or LibTorch -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reader of another format of PyTorch has to fill in a Graph and no more.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Import/Aten/AtenImport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mpopt;
using namespace mpopt::aten;

namespace {

/// Builds a graph value by value, as a reader does.
class GraphBuilder {
public:
  ValueId input(const std::string &name) {
    graph.inputs.push_back(value(name, StaticType::Kind::Tensor));
    return graph.inputs.back();
  }

  ValueId integer(int64_t number) {
    ValueId id = value("", StaticType::Kind::Int);
    Node node;
    node.op = "prim::Constant";
    node.outputs = {id};
    Constant constant;
    constant.kind = Constant::Kind::Int;
    constant.integer = number;
    node.attributes["value"] = constant;
    graph.body.nodes.push_back(node);
    return id;
  }

  /// A parameter of f32.
  ValueId parameter(const std::string &path, const std::vector<float> &data) {
    Tensor tensor;
    tensor.name = path;
    tensor.sizes = {int64_t(data.size())};
    tensor.strides = {1};
    tensor.bytes.assign(reinterpret_cast<const char *>(data.data()),
                        data.size() * sizeof(float));
    tensor.isParameter = true;
    Constant constant;
    constant.kind = Constant::Kind::Tensor;
    constant.integer = graph.tensors.size();
    graph.tensors.push_back(tensor);
    graph.attributes[path] = constant;
    graph.slots[path] = graph.slots.size();
    graph.parameters += data.size();
    ValueId id = value("", StaticType::Kind::Tensor);
    Node node;
    node.op = "prim::GetAttr";
    node.outputs = {id};
    Constant name;
    name.kind = Constant::Kind::String;
    name.string = path;
    node.attributes["path"] = name;
    graph.body.nodes.push_back(node);
    return id;
  }

  ValueId op(const std::string &name,
             std::vector<std::pair<std::string, ValueId>> arguments,
             StaticType::Kind kind = StaticType::Kind::Tensor) {
    Node node;
    node.op = name;
    node.outputs = {value("", kind)};
    for (const auto &[argument, id] : arguments) {
      node.arguments.push_back(argument);
      node.inputs.push_back(id);
    }
    node.writes.resize(arguments.size());
    node.shares.resize(arguments.size());
    graph.body.nodes.push_back(node);
    return node.outputs.front();
  }

  ImportResult import(ValueId output, const ImportOptions &options = {}) {
    graph.body.arguments = graph.inputs;
    graph.body.results = {output};
    ImportResult result;
    ErrorSink sink(result);
    importGraph(graph, "", options, context, sink, result);
    return result;
  }

private:
  ValueId value(std::string name, StaticType::Kind kind) {
    ValueId id = graph.values.size();
    GraphValue made;
    made.name = name.empty() ? std::to_string(id) : std::move(name);
    made.type.kind = kind;
    graph.values.push_back(made);
    return id;
  }

  mlir::MLIRContext context;
  Graph graph;
};

ImportOptions withShape(const std::string &input, std::vector<int64_t> dims) {
  ImportOptions options;
  options.inputShapes.push_back({input, std::move(dims), ""});
  return options;
}

/// The ops of a module but for its functions, constants and returns.
std::vector<std::string> listOps(const ImportResult &result) {
  std::vector<std::string> names;
  mlir::ModuleOp module = *result.module;
  module.walk([&](mlir::Operation *op) {
    llvm::StringRef name = op->getName().getStringRef();
    if (name.starts_with("mp.") && name != "mp.constant")
      names.push_back(name.str());
  });
  return names;
}

mlir::Type getOutputType(const ImportResult &result) {
  mlir::ModuleOp module = *result.module;
  return (*module.getOps<mlir::func::FuncOp>().begin()).getResultTypes()[0];
}

using Names = std::vector<std::string>;

TEST(AtenGraph, AnOpBecomesOne) {
  GraphBuilder graph;
  ValueId x = graph.input("x");
  ImportResult result = graph.import(graph.op("aten::relu", {{"self", x}}),
                                     withShape("x", {2, 3}));
  ASSERT_TRUE(result.module) << result.errors.size();
  EXPECT_EQ(listOps(result), Names{"mp.relu"});
  EXPECT_EQ(getShape(getOutputType(result)), (Shape{2, 3}));
  EXPECT_EQ(result.coverage.modelled, 1u);
  EXPECT_EQ(result.inputs, Names{"x"});
}

TEST(AtenGraph, ParametersKeepTheirNames) {
  GraphBuilder graph;
  ValueId x = graph.input("x"), bias = graph.parameter("fc.bias", {1, 2, 3});
  ValueId sum = graph.op(
      "aten::add", {{"self", x}, {"other", bias}, {"alpha", graph.integer(1)}});
  ImportResult result = graph.import(sum, withShape("x", {2, 3}));
  ASSERT_TRUE(result.module) << result.errors.size();
  EXPECT_EQ(listOps(result), Names{"mp.add"});
  EXPECT_EQ(result.parameters, 3u);
}

TEST(AtenGraph, ShapesAreComputedWithoutOps) {
  GraphBuilder graph;
  ValueId x = graph.input("x");
  ValueId rows =
      graph.op("aten::size", {{"self", x}, {"dim", graph.integer(0)}},
               StaticType::Kind::Int);
  ValueId half =
      graph.op("aten::floordiv", {{"a", rows}, {"b", graph.integer(2)}},
               StaticType::Kind::Int);
  ValueId sizes =
      graph.op("prim::ListConstruct", {{"", half}, {"", graph.integer(-1)}},
               StaticType::Kind::List);
  ImportResult result =
      graph.import(graph.op("aten::reshape", {{"self", x}, {"shape", sizes}}),
                   withShape("x", {4, 3}));
  ASSERT_TRUE(result.module) << result.errors.size();
  EXPECT_EQ(listOps(result), Names{"mp.reshape"});
  EXPECT_EQ(getShape(getOutputType(result)), (Shape{2, 6}));
}

TEST(AtenGraph, AnUnknownOpIsOpaqueAndCounted) {
  GraphBuilder graph;
  ValueId x = graph.input("x");
  ImportResult result =
      graph.import(graph.op("my::op", {{"self", x}}), withShape("x", {2}));
  ASSERT_TRUE(result.module) << result.errors.size();
  EXPECT_EQ(listOps(result), Names{"mp.opaque"});
  EXPECT_EQ(result.coverage.unmodelled.at("my::op"), 1u);
}

TEST(AtenGraph, AShapeOfNoInputIsAnError) {
  GraphBuilder graph;
  ValueId x = graph.input("x");
  ImportResult result =
      graph.import(graph.op("aten::relu", {{"self", x}}), withShape("y", {2}));
  EXPECT_FALSE(result.module);
  ASSERT_EQ(result.errors.size(), 1u);
  EXPECT_EQ(result.errors.front().node, "y");
}

} // namespace
