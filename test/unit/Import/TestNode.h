//===- TestNode.h - ONNX nodes without a model ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowerings see a node through NodeContext only, so that a test gives them one
// made of plain values: any opset, any attribute, no file.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TEST_UNIT_IMPORT_TESTNODE_H
#define MPOPT_TEST_UNIT_IMPORT_TESTNODE_H

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Import/Onnx/Lowering.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringMap.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace mpopt::onnx_import {

using TestAttr =
    std::variant<int64_t, double, std::string, std::vector<int64_t>,
                 std::vector<double>, std::vector<std::string>>;

/// What a test says of a node. The domain and opset are the newest of ai.onnx
/// unless it says otherwise.
struct TestNodeSpec {
  std::string type;
  std::vector<mlir::Value> inputs;
  std::vector<std::pair<std::string, TestAttr>> attrs;
  int64_t opset = 21;
  std::string domain;
  unsigned outputs = 1;
};

class TestNode final : public NodeContext {
public:
  TestNode(mlir::OpBuilder &builder, ShapeFacts &facts, TestNodeSpec spec)
      : NodeContext(builder, builder.getUnknownLoc(), facts),
        spec(std::move(spec)), results(this->spec.outputs) {}

  llvm::StringRef type() const override { return spec.type; }
  llvm::StringRef domain() const override { return spec.domain; }
  int64_t opset() const override { return spec.opset; }
  unsigned numInputs() const override { return spec.inputs.size(); }
  mlir::Value input(unsigned index) const override {
    return index < spec.inputs.size() ? spec.inputs[index] : mlir::Value();
  }
  unsigned numOutputs() const override { return spec.outputs; }
  bool hasOutput(unsigned index) const override { return index < spec.outputs; }

  bool hasAttr(llvm::StringRef name) const override {
    return llvm::any_of(spec.attrs,
                        [&](const auto &attr) { return attr.first == name; });
  }
  std::optional<int64_t> findInt(llvm::StringRef name) const override {
    return find<int64_t>(name);
  }
  std::optional<double> findFloat(llvm::StringRef name) const override {
    return find<double>(name);
  }
  std::optional<llvm::StringRef>
  findString(llvm::StringRef name) const override {
    const std::string *value = findAttr<std::string>(name);
    return value ? std::optional<llvm::StringRef>(*value) : std::nullopt;
  }
  std::optional<llvm::SmallVector<int64_t>>
  findInts(llvm::StringRef name) const override {
    return findList<int64_t, int64_t>(name);
  }
  std::optional<llvm::SmallVector<double>>
  findFloats(llvm::StringRef name) const override {
    return findList<double, double>(name);
  }
  std::optional<llvm::SmallVector<llvm::StringRef>>
  findStrings(llvm::StringRef name) const override {
    return findList<std::string, llvm::StringRef>(name);
  }

  // Tensors, types and graphs have no form here: tests of those use models.
  mlir::Value makeConstantOf(llvm::StringRef) override { return {}; }
  mlir::Type findType(llvm::StringRef) const override { return {}; }
  llvm::LogicalResult importBody(llvm::StringRef, mlir::Region &,
                                 mlir::TypeRange) override {
    return mlir::failure();
  }

  mlir::Type elementTypeOf(int64_t dtype) const override {
    mlir::MLIRContext *context = opBuilder.getContext();
    switch (dtype) {
    case 1:
      return mlir::Float32Type::get(context);
    case 6:
      return mlir::IntegerType::get(context, 32);
    case 7:
      return mlir::IntegerType::get(context, 64);
    case 10:
      return mlir::Float16Type::get(context);
    case 17:
      return mlir::Float8E4M3FNType::get(context);
    case 24:
      return mlir::Float8E8M0FNUType::get(context);
    default:
      return {};
    }
  }
  void setOutput(unsigned index, mlir::Value value) override {
    results.at(index) = value;
  }
  llvm::LogicalResult error(const llvm::Twine &reason) override {
    message = reason.str();
    return mlir::failure();
  }

  std::vector<mlir::Value> takeResults() { return std::move(results); }
  std::string message; ///< of the last error

protected:
  void finish(mlir::Operation *op) override {
    if (failed(inferTypes(op, shapeFacts)) || failed(mlir::verify(op)))
      message = "an op is wrong";
  }

private:
  template <typename T> const T *findAttr(llvm::StringRef name) const {
    for (const auto &[attr, value] : spec.attrs)
      if (attr == name)
        return std::get_if<T>(&value);
    return nullptr;
  }
  template <typename T> std::optional<T> find(llvm::StringRef name) const {
    const T *value = findAttr<T>(name);
    return value ? std::optional<T>(*value) : std::nullopt;
  }
  template <typename T, typename Result>
  std::optional<llvm::SmallVector<Result>>
  findList(llvm::StringRef name) const {
    const std::vector<T> *values = findAttr<std::vector<T>>(name);
    if (!values)
      return std::nullopt;
    return llvm::SmallVector<Result>(values->begin(), values->end());
  }

  TestNodeSpec spec;
  std::vector<mlir::Value> results;
};

/// Holds a module that nodes are lowered into.
class LoweringFixture : public testing::Test, public LoweringRegistry {
protected:
  LoweringFixture() : builder(&context) {
    context.loadDialect<mp::MPDialect>();
    context.getDiagEngine().registerHandler(
        [](mlir::Diagnostic &) { return mlir::success(); });
    module = mlir::ModuleOp::create(builder, builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
#define MPOPT_FAMILY(Name) register##Name##Lowerings(*this);
#include "mpopt/Dialect/Families.inc"
#undef MPOPT_FAMILY
  }

  void add(llvm::StringRef domain, llvm::StringRef type,
           Lowering lowering) override {
    EXPECT_TRUE(
        lowerings.try_emplace((domain + "::" + type).str(), lowering).second)
        << type.str() << " is registered twice";
  }

  /// A value of the given type, e.g. "tensor<2x?xf16>".
  mlir::Value value(llvm::StringRef type) {
    return mp::OpaqueOp::create(builder, builder.getUnknownLoc(),
                                mlir::parseType(type, &context), "test::Input",
                                mlir::ValueRange(), 0u)
        .getResult(0);
  }
  mlir::Value ints(std::vector<int64_t> values) {
    TestNode node(builder, facts, {});
    return node.makeInts(values);
  }

  /// Results of the node; empty if it has no lowering or is wrong (`message`).
  std::vector<mlir::Value> lowerAll(TestNodeSpec spec) {
    Lowering lowering = lowerings.lookup(spec.domain + "::" + spec.type);
    EXPECT_TRUE(lowering) << spec.type << " has no lowering";
    TestNode node(builder, facts, std::move(spec));
    bool done = lowering && succeeded(lowering(node));
    message = node.message;
    EXPECT_TRUE(!done || message.empty()) << message;
    return done ? node.takeResults() : std::vector<mlir::Value>();
  }
  mlir::Value lower(TestNodeSpec spec) {
    std::vector<mlir::Value> results = lowerAll(std::move(spec));
    EXPECT_FALSE(results.empty()) << message;
    return results.empty() ? mlir::Value() : results.front();
  }
  /// The op that makes the node's first result; null if it is another one.
  template <typename OpT> OpT lowerTo(TestNodeSpec spec) {
    mlir::Value result = lower(std::move(spec));
    auto op = result ? result.getDefiningOp<OpT>() : OpT();
    EXPECT_TRUE(op) << "lowered to another op";
    return op;
  }

  static std::string print(mlir::Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }
  static std::string typeOf(mlir::Value value) {
    return value ? print(value.getType()) : "";
  }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ShapeFacts facts;
  std::string message;
  llvm::StringMap<Lowering> lowerings;
};

} // namespace mpopt::onnx_import

#endif // MPOPT_TEST_UNIT_IMPORT_TESTNODE_H
