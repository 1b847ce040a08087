//===- Declarations.cpp - What a graph says of its values
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rewriter.h"

#include "Tensors.h"

#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;
using onnx::TensorProto;

void Rewriter::setType(onnx::TypeProto &type, Width width) const {
  onnx::TypeProto *inner = &type;
  while (inner->has_sequence_type() || inner->has_optional_type())
    inner = inner->has_sequence_type()
                ? inner->mutable_sequence_type()->mutable_elem_type()
                : inner->mutable_optional_type()->mutable_elem_type();
  if (inner->has_tensor_type())
    inner->mutable_tensor_type()->set_elem_type(dtypeOf(width));
}

void Rewriter::store(const TensorProto &from, StringRef name, Width width,
                     TensorProto &to) const {
  to = from;
  to.set_name(name.str());
  if (width == kLow)
    convertLater(to, dtypeOf(kLow));
}

/// An epsilon that would be 0 is the smallest number: nothing is divided by 0
/// that was not before, and no sum is further off than by its rounding.
void Rewriter::storeConstant(const Value &value, StringRef name, Width width,
                             TensorProto &to) const {
  store(*value.constant, name, width, to);
  bool isOne =
      llvm::all_of(to.dims(), [](int64_t dim) { return dim == 1; }) &&
      (to.float_data_size() == 1 || to.raw_data().size() == sizeof(float));
  if (width != kLow || !isOne || !value.isGuard)
    return;
  float number = to.float_data_size() ? to.float_data(0) : 0;
  if (!to.float_data_size())
    std::memcpy(&number, to.raw_data().data(), sizeof(float));
  const FloatFormat &format =
      model.low == kTakesHalf ? FloatFormat::f16() : FloatFormat::bf16();
  if (!(number > 0) || format.round(number) > 0)
    return;
  to = *value.constant;
  to.set_name(name.str());
  auto least = float(format.minSubnormal);
  TensorSource::setRaw(
      to, std::string(reinterpret_cast<const char *>(&least), sizeof(float)));
  convertLater(to, dtypeOf(kLow));
}

void Rewriter::emitInitializers(onnx::GraphProto &graph, Graph &of) {
  Tensors kept;
  for (const TensorProto &tensor : graph.initializer()) {
    Value *value = of.values.lookup(tensor.name());
    if (!value)
      continue;
    if (value->isDefault || !value->constant) {
      if (value->isDefault && value->def)
        store(tensor, tensor.name(), widthOf(*value), *kept.Add());
      else if (value->isLive || value->isDefault)
        *kept.Add() = tensor;
      continue;
    }
    for (Width width : {kWide, kLow})
      if (value->isNeeded[width])
        storeConstant(*value, value->names[width], width, *kept.Add());
  }
  graph.mutable_initializer()->Clear();
  for (TensorProto &tensor : kept)
    graph.mutable_initializer()->Add()->Swap(&tensor);
}

/// Before IR version 4 constants are among the inputs, each in its type.
void Rewriter::declareInputs(onnx::GraphProto &graph, Graph &of) {
  ValueInfos kept;
  for (const onnx::ValueInfoProto &input : graph.input()) {
    Value *value = of.values.lookup(input.name());
    if (!value ||
        (of.isMain() && !value->isInput && !value->constant && !value->isLive))
      continue;
    if (!value->constant) {
      onnx::ValueInfoProto &copy = *kept.Add();
      copy = input;
      if (value->def)
        setType(*copy.mutable_type(), widthOf(*value));
      continue;
    }
    for (Width width : {kWide, kLow}) {
      if (!value->isNeeded[width])
        continue;
      onnx::ValueInfoProto &copy = *kept.Add();
      copy = input;
      copy.set_name(value->names[width]);
      setType(*copy.mutable_type(), width);
    }
  }
  graph.mutable_input()->Clear();
  for (onnx::ValueInfoProto &input : kept)
    graph.mutable_input()->Add()->Swap(&input);
}

/// Types of inner values. What is no longer there is no longer declared.
void Rewriter::declareValues(ValueInfos &values, Graph &of) {
  ValueInfos kept;
  for (const onnx::ValueInfoProto &info : values) {
    Value *value = of.values.lookup(info.name());
    // The graph declares inputs and outputs elsewhere.
    if (!value || !value->isLive || llvm::is_contained(of.inputs, value) ||
        llvm::is_contained(of.outputs, value))
      continue;
    if (!value->kind.isFloat()) {
      *kept.Add() = info;
      continue;
    }
    for (Width width : {kWide, kLow}) {
      if (value->names[width].empty())
        continue;
      onnx::ValueInfoProto &copy = *kept.Add();
      copy = info;
      copy.set_name(value->names[width]);
      setType(*copy.mutable_type(), width);
    }
  }
  values.Clear();
  for (onnx::ValueInfoProto &info : kept)
    values.Add()->Swap(&info);
}

void Rewriter::emitDeclarations(Graph &graph) {
  if (graph.function)
    return declareValues(*graph.function->mutable_value_info(), graph);
  emitInitializers(*graph.proto, graph);
  declareInputs(*graph.proto, graph);
  declareValues(*graph.proto->mutable_value_info(), graph);
  if (!graph.isMain())
    return;
  auto name = [](int32_t dtype) {
    return StringRef(TensorProto::DataType_Name(TensorProto::DataType(dtype)))
        .lower();
  };
  auto describe = [&](const Value *value, const Group *group) {
    if (!value)
      return;
    int32_t now = group ? dtypeOf(widthOf(group)) : value->kind.dtype;
    report.io.push_back({value->name, name(value->kind.dtype), name(now)});
  };
  for (const Value *input : graph.inputs)
    describe(input, input->def);
  for (auto [value, group] : llvm::zip(graph.outputs, graph.outputGroups))
    describe(value, group);
}
