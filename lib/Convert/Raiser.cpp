//===- Raiser.cpp - A node of a later opset
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Raiser.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

AttributeProto *Raiser::find(StringRef name) {
  for (AttributeProto &attribute : *node.mutable_attribute())
    if (attribute.name() == name) {
      // Its number is the call's.
      if (!attribute.ref_attr_name().empty())
        refuse("attribute '" + name + "' is the calling node's");
      return &attribute;
    }
  return nullptr;
}

int64_t Raiser::getInt(StringRef name, int64_t otherwise) {
  AttributeProto *found = find(name);
  return found ? found->i() : otherwise;
}

void Raiser::drop(StringRef name) {
  auto &list = *node.mutable_attribute();
  for (int at = list.size(); at-- > 0;)
    if (list[at].name() == name)
      list.DeleteSubrange(at, 1);
}

void Raiser::setText(StringRef name, StringRef text) {
  drop(name);
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s(text.str());
}

void Raiser::setInt(StringRef name, int64_t number) {
  drop(name);
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(number);
}

std::string Raiser::makeName(StringRef wanted) {
  std::string name = wanted.str();
  for (unsigned count = 1; !names.insert(name).second; ++count)
    name = (wanted + "_" + llvm::Twine(count)).str();
  return name;
}

void Raiser::setInput(int index, const std::string &name) {
  while (node.input_size() <= index)
    node.add_input("");
  node.set_input(index, name);
}

TensorProto &Raiser::addConstant(int index, int32_t dtype, bool isScalar,
                                 int64_t count) {
  NodeProto &made = *before.Add();
  made.set_op_type("Constant");
  made.set_name(makeName(node.name() + "_operand" + std::to_string(index)));
  made.add_output(made.name());
  AttributeProto &value = *made.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  TensorProto &tensor = *value.mutable_t();
  tensor.set_data_type(dtype);
  if (!isScalar)
    tensor.add_dims(count);
  setInput(index, made.output(0));
  return tensor;
}

void Raiser::addInts(int index, llvm::ArrayRef<int64_t> numbers,
                     bool isScalar) {
  TensorProto &tensor =
      addConstant(index, TensorProto::INT64, isScalar, int64_t(numbers.size()));
  for (int64_t number : numbers)
    tensor.add_int64_data(number);
}

/// In the type of the first operand.
void Raiser::addFloats(int index, llvm::ArrayRef<float> numbers,
                       bool isScalar) {
  TensorProto &tensor =
      addConstant(index, TensorProto::FLOAT, isScalar, int64_t(numbers.size()));
  for (float number : numbers)
    tensor.add_float_data(number);
  // Scales are FP32 whatever they scale.
  int32_t dtype = isScalar && type ? type->elem_type() : TensorProto::FLOAT;
  if (dtype == TensorProto::FLOAT || dtype == 0)
    return;
  NodeProto &cast = *before.Add();
  cast.set_op_type("Cast");
  cast.set_name(makeName(node.input(index) + "_cast"));
  cast.add_input(node.input(index));
  cast.add_output(cast.name());
  setDtype(cast, "to", dtype, kLastOpset);
  setInput(index, cast.output(0));
}

bool Raiser::moveInts(StringRef name, int index, bool isScalar) {
  AttributeProto *found = find(name);
  if (!found)
    return false;
  std::vector<int64_t> numbers(found->ints().begin(), found->ints().end());
  if (found->type() == AttributeProto::INT)
    numbers = {found->i()};
  drop(name);
  addInts(index, numbers, isScalar);
  return true;
}

bool Raiser::moveFloats(StringRef name, int index, bool isScalar) {
  AttributeProto *found = find(name);
  if (!found)
    return false;
  std::vector<float> numbers(found->floats().begin(), found->floats().end());
  if (found->type() == AttributeProto::FLOAT)
    numbers = {found->f()};
  drop(name);
  addFloats(index, numbers, isScalar);
  return true;
}
