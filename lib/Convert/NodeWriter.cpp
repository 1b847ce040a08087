//===- NodeWriter.cpp - ONNX's nodes of ops of the dialect
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op without attributes is the node of its name in ONNX; others, and those
// that ONNX has not, have a form of their own.
//
//===----------------------------------------------------------------------===//

#include "NodeWriter.h"

#include "Tensors.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Repair/Fix.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;
using onnx::AttributeProto;
using onnx::TensorProto;

onnx::NodeProto &NodeWriter::add(StringRef type, Names operands) {
  onnx::NodeProto &node = *added.nodes.Add();
  node.set_op_type(type.str());
  node.set_name(graph.makeName((label + "_" + type).str()));
  for (const std::string &operand : operands)
    node.add_input(operand);
  node.add_output(node.name());
  return node;
}

void NodeWriter::setInt(onnx::NodeProto &node, StringRef name, int64_t value) {
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

std::string NodeWriter::addNumber(double number) {
  TensorProto &tensor = *added.tensors.Add();
  tensor.set_name(graph.makeName(label + "_number"));
  tensor.set_data_type(dtype);
  auto single = float(number);
  std::string raw(sizeof(float), '\0');
  std::memcpy(raw.data(), &single, sizeof(float));
  if (dtype != TensorProto::FLOAT) {
    std::string low(2, '\0');
    narrow(raw, dtype, low.data());
    raw = low;
  }
  tensor.set_raw_data(raw);
  return tensor.name();
}

std::string NodeWriter::addAxes(llvm::ArrayRef<int64_t> axes) {
  TensorProto &tensor = *added.tensors.Add();
  tensor.set_name(graph.makeName(label + "_axes"));
  tensor.set_data_type(TensorProto::INT64);
  tensor.add_dims(int64_t(axes.size()));
  tensor.set_raw_data(axes.data(), axes.size() * sizeof(int64_t));
  return tensor.name();
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

static bool hasOwnAttributes(mlir::Operation *op) {
  return llvm::any_of(op->getAttrs(), [](mlir::NamedAttribute attribute) {
    return !attribute.getName().strref().starts_with("mp.");
  });
}

std::string NodeWriter::plain(mlir::Operation *op, Names operands) {
  auto named = mlir::dyn_cast<PrecisionOpInterface>(op);
  if (!named || hasOwnAttributes(op))
    return "";
  llvm::ArrayRef<StringRef> names = named.getFrameworkNames(Framework::Onnx);
  return names.empty() ? "" : add(names.front(), operands).output(0);
}

std::string NodeWriter::logSoftmax(mlir::Operation *op, Names operands) {
  auto softmax = mlir::cast<mp::LogSoftmaxOp>(op);
  MaybeShape shape = getShape(softmax.getInput());
  int64_t axis = softmax.getAxis();
  bool isLast = shape && (axis == -1 || axis == int64_t(shape->size()) - 1);
  // Before opset 13 the dims from the axis on are one.
  if (!isLast && softmax.getFlatten() != (opset < 13))
    return "";
  onnx::NodeProto &node = add("LogSoftmax", operands);
  setInt(node, "axis",
         axis < 0 && opset < 13 ? axis + int64_t(shape->size()) : axis);
  return node.output(0);
}

/// log(sigmoid(x)) = -softplus(-x).
std::string NodeWriter::logSigmoid(mlir::Operation *, Names operands) {
  std::string negative = add("Neg", operands).output(0);
  std::string most = add("Softplus", {negative}).output(0);
  return add("Neg", {most}).output(0);
}

/// log(1 + x) = 2 atanh(x / (x + 2)). Of x up to 1 the quotient is at most a
/// third, where atanh multiplies its relative error by at most 1.1; past that
/// 1 + x itself has the digits, and the larger x is the more of them the
/// quotient, which is near 1, has not.
std::string NodeWriter::log1p(mlir::Operation *, Names operands) {
  if (opset < 9)
    return ""; // has no Atanh
  const std::string &x = operands[0];
  std::string sum = add("Add", {x, addNumber(2)}).output(0);
  std::string quotient = add("Div", {x, sum}).output(0);
  std::string half = add("Atanh", {quotient}).output(0);
  return add("Mul", {half, addNumber(2)}).output(0);
}

std::string NodeWriter::rsqrt(mlir::Operation *, Names operands) {
  return add("Reciprocal", {add("Sqrt", operands).output(0)}).output(0);
}

std::string NodeWriter::softplus(mlir::Operation *op, Names operands) {
  auto made = mlir::cast<mp::SoftplusOp>(op);
  bool isStandard =
      made.getBeta().convertToDouble() == 1 && !made.getThreshold();
  return isStandard ? add("Softplus", operands).output(0) : "";
}

std::string NodeWriter::reduction(mlir::Operation *op, Names operands) {
  auto named = mlir::cast<PrecisionOpInterface>(op);
  auto axes = op->getAttrOfType<mlir::DenseI64ArrayAttr>("axes");
  auto keeps = op->getAttrOfType<mlir::BoolAttr>("keep_dims");
  onnx::NodeProto &node =
      add(named.getFrameworkNames(Framework::Onnx).front(), operands);
  setInt(node, "keepdims", keeps && keeps.getValue());
  if (!axes || axes.empty())
    return node.output(0);
  // An operand since opset 18.
  if (opset >= 18) {
    node.add_input(addAxes(axes.asArrayRef()));
    return node.output(0);
  }
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name("axes");
  attribute.set_type(AttributeProto::INTS);
  for (int64_t axis : axes.asArrayRef())
    attribute.add_ints(axis);
  return node.output(0);
}

/// Operands since opset 11, attributes before.
std::string NodeWriter::clip(mlir::Operation *op, Names operands) {
  auto made = mlir::cast<mp::ClipOp>(op);
  onnx::NodeProto &node = add("Clip", {operands.front()});
  unsigned at = 0;
  for (auto [name, bound] :
       {std::pair("min", made.getMin()), std::pair("max", made.getMax())}) {
    if (opset >= 11) {
      node.add_input(bound ? operands[++at] : "");
      continue;
    }
    if (!bound)
      continue;
    added.tensors.RemoveLast(); // the number, which goes into the node
    AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::FLOAT);
    attribute.set_f(float(getNumber(bound).value_or(0)));
  }
  if (node.input_size() == 3 && node.input(2).empty())
    node.mutable_input()->RemoveLast();
  return node.output(0);
}

struct NodeWriter::Form {
  StringRef op;
  std::string (NodeWriter::*write)(mlir::Operation *, Names);
};

llvm::ArrayRef<NodeWriter::Form> NodeWriter::getForms() {
  using W = NodeWriter;
  static const Form forms[] = {
      {mp::LogSoftmaxOp::getOperationName(), &W::logSoftmax},
      {mp::LogSigmoidOp::getOperationName(), &W::logSigmoid},
      {mp::Log1pOp::getOperationName(), &W::log1p},
      {mp::RsqrtOp::getOperationName(), &W::rsqrt},
      {mp::SoftplusOp::getOperationName(), &W::softplus},
      {mp::ReduceMaxOp::getOperationName(), &W::reduction},
      {mp::ReduceMeanOp::getOperationName(), &W::reduction},
      {mp::ClipOp::getOperationName(), &W::clip}};
  return forms;
}

std::optional<Operand>
NodeWriter::write(mlir::Operation *op,
                  llvm::MutableArrayRef<Operand> operands) {
  // Broadcasting as NumPy has it came with opset 7.
  constexpr int64_t kFirst = 7;
  label = getNodeName(op).str();
  auto known = llvm::find_if(
      operands, [](const Operand &operand) { return operand.dtype != 0; });
  if (opset < kFirst || known == operands.end())
    return std::nullopt;
  dtype = known->dtype;
  std::vector<std::string> names;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    std::optional<double> number =
        operand.name.empty() ? getNumber(op->getOperand(index)) : std::nullopt;
    if (number)
      operand = {addNumber(*number), dtype};
    if (operand.dtype != dtype)
      return std::nullopt;
    names.push_back(operand.name);
  }
  auto form = llvm::find_if(getForms(), [&](const Form &known) {
    return known.op == op->getName().getStringRef();
  });
  std::string made = form == getForms().end() ? plain(op, names)
                                              : (this->*form->write)(op, names);
  if (made.empty())
    return std::nullopt;
  return Operand{made, dtype};
}
