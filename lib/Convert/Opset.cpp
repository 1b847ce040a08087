//===- Opset.cpp - Models of later opsets
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules by ONNX's changelog (docs/Changelog.md of onnx 1.23) for each op up to
// opset 24: attributes that became operands, defaults that changed, ops with a
// new name. Ops without a rule mean the same in all these opsets;
// they have more types or attributes of which the default is what there was.
// onnx's own version converter lets Resize 10 round to nearest where it went
// down, and knows no functions.
//
//===----------------------------------------------------------------------===//

#include "Opset.h"

#include "onnx/shape_inference/implementation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <set>

using namespace mpopt;
using namespace mpopt::convert;
using llvm::Error;
using llvm::StringRef;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

// Before, elements were paired by attributes.
static constexpr int64_t kFirst = 7;
static constexpr int64_t kLast = 24;

namespace {
/// One node on its way to a later opset.
class Raiser {
public:
  Raiser(std::set<std::string> &names, NodeProto &node)
      : names(names), node(node) {}

  AttributeProto *find(StringRef name);
  int64_t getInt(StringRef name, int64_t otherwise);
  void drop(StringRef name);
  void setText(StringRef name, StringRef text);
  void setInt(StringRef name, int64_t number);
  /// An attribute as the operand of that index; true if it was there.
  bool moveInts(StringRef name, int index, bool isScalar = false);
  bool moveFloats(StringRef name, int index, bool isScalar = false);
  void setInput(int index, const std::string &name);
  void addFloats(int index, llvm::ArrayRef<float> numbers, bool isScalar);
  void addInts(int index, llvm::ArrayRef<int64_t> numbers, bool isScalar);
  std::string makeName(StringRef wanted);
  void refuse(const llvm::Twine &why) { fault = why.str(); }

  std::set<std::string> &names;
  NodeProto &node;
  NodeList before, after;
  /// The type of the first operand; null if it is not known.
  const onnx::TypeProto_Tensor *type = nullptr;
  /// The numbers of a constant operand; null if it is none.
  std::function<const TensorProto *(StringRef)> constant;
  std::string fault;

private:
  TensorProto &addConstant(int index, int32_t dtype, bool isScalar,
                           int64_t count);
};

struct Rule {
  int64_t since;
  StringRef op;
  void (*apply)(Raiser &);
};
} // namespace

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
  setDtype(cast, "to", dtype, kLast);
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

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static void raiseBatchNorm9(Raiser &at) {
  if (at.getInt("spatial", 1) != 1)
    at.refuse("spatial=0 has no later form");
  at.drop("spatial");
}

/// Its further outputs were of training.
static void raiseBatchNorm14(Raiser &at) {
  if (at.node.output_size() > 1)
    at.refuse("results of training have no later form");
}

static void raiseUpsample9(Raiser &at) { at.moveFloats("scales", 1); }

static void raiseUpsample10(Raiser &at) { at.node.set_op_type("Resize"); }

static void raiseSlice10(Raiser &at) {
  at.moveInts("starts", 1);
  at.moveInts("ends", 2);
  at.moveInts("axes", 3);
}

static void raiseTopK10(Raiser &at) { at.moveInts("k", 1); }

static void raiseClip11(Raiser &at) {
  at.moveFloats("min", 1, /*isScalar=*/true);
  at.moveFloats("max", 2, /*isScalar=*/true);
}

static void raisePad11(Raiser &at) {
  at.moveInts("pads", 1);
  at.moveFloats("value", 2, /*isScalar=*/true);
}

static void raiseScatter11(Raiser &at) {
  at.node.set_op_type("ScatterElements");
}

static std::vector<float> readFloats(const TensorProto &tensor) {
  std::vector<float> numbers(tensor.float_data().begin(),
                             tensor.float_data().end());
  if (numbers.empty()) {
    numbers.resize(tensor.raw_data().size() / sizeof(float));
    std::memcpy(numbers.data(), tensor.raw_data().data(),
                numbers.size() * sizeof(float));
  }
  return numbers;
}

/// Positions were those of the larger grid, over the scale; ONNX Runtime rounds
/// them down where the grid grows and up where it shrinks.
static void raiseResize11(Raiser &at) {
  AttributeProto *mode = at.find("mode");
  bool isNearest = !mode || mode->s() == "nearest";
  std::string scales =
      at.node.input_size() > 1 ? at.node.input(1) : std::string();
  at.setText("coordinate_transformation_mode", "asymmetric");
  if (isNearest) {
    std::vector<float> numbers;
    if (const TensorProto *tensor = at.constant(scales))
      numbers = readFloats(*tensor);
    bool grows = llvm::all_of(numbers, [](float by) { return by >= 1; });
    bool shrinks = llvm::all_of(numbers, [](float by) { return by <= 1; });
    if (numbers.empty() || (!grows && !shrinks))
      at.refuse("how it rounds depends on its scales, which are not known or "
                "on both sides of 1");
    at.setText("nearest_mode", grows ? "floor" : "ceil");
  }
  at.setInput(2, scales);
  at.addFloats(1, {}, /*isScalar=*/false);
}

static void raiseResize13(Raiser &at) {
  AttributeProto *mode = at.find("coordinate_transformation_mode");
  if (mode && mode->s() == "tf_half_pixel_for_nn")
    at.refuse("tf_half_pixel_for_nn has no later form");
}

/// The mask became one of bools.
static void raiseDropout10(Raiser &at) {
  if (at.node.output_size() > 1 && !at.node.output(1).empty())
    at.refuse("its mask has no later form");
}

static void raiseDropout12(Raiser &at) {
  at.moveFloats("ratio", 1, /*isScalar=*/true);
}

static void raiseAxes13(Raiser &at) { at.moveInts("axes", 1); }
static void raiseSplit13(Raiser &at) { at.moveInts("split", 1); }

/// Over all axes from one on as a row; later over that one.
static void raiseSoftmax13(Raiser &at) {
  int64_t axis = at.getInt("axis", 1);
  if (axis == -1 || (at.type && at.type->has_shape() &&
                     axis == at.type->shape().dim_size() - 1))
    return at.setInt("axis", -1);
  NodeProto &node = at.node;
  std::string input = node.input(0), output = node.output(0);
  auto add = [&](NodeList &list, StringRef type,
                 std::vector<std::string> operands, const std::string &result) {
    NodeProto &made = *list.Add();
    made.set_op_type(type.str());
    made.set_name(at.makeName(node.name() + "_" + type.lower()));
    for (const std::string &operand : operands)
      made.add_input(operand);
    made.add_output(result);
  };
  std::string shape = at.makeName(output + "_shape");
  std::string rows = at.makeName(output + "_rows");
  std::string flat = at.makeName(output + "_flat");
  add(at.before, "Shape", {input}, shape);
  add(at.before, "Flatten", {input}, rows);
  AttributeProto &from = *at.before.rbegin()->add_attribute();
  from.set_name("axis");
  from.set_type(AttributeProto::INT);
  from.set_i(axis);
  node.set_input(0, rows);
  node.set_output(0, flat);
  add(at.after, "Reshape", {flat, shape}, output);
  at.setInt("axis", -1);
}

static void raiseRoiAlign16(Raiser &at) {
  at.setText("coordinate_transformation_mode", "output_half_pixel");
}

static void raiseSplit18(Raiser &at) {
  if (at.node.input_size() < 2 || at.node.input(1).empty())
    at.setInt("num_outputs", at.node.output_size());
}

static void raiseGridSample20(Raiser &at) {
  AttributeProto *mode = at.find("mode");
  if (!mode || mode->s() == "bilinear")
    at.setText("mode", "linear");
  else if (mode->s() == "bicubic")
    at.setText("mode", "cubic");
}

static void raiseDft20(Raiser &at) {
  if (!at.moveInts("axis", 2, /*isScalar=*/true))
    at.addInts(2, {1}, /*isScalar=*/true);
}

/// Scale and bias became those of channels.
static void raiseGroupNorm21(Raiser &at) {
  at.refuse("numbers of a group have no later form");
}

static void refuseScan9(Raiser &at) {
  at.refuse("sequences of several lengths have no later form");
}

/// In the order of opsets.
static constexpr Rule kRules[] = {{9, "BatchNormalization", raiseBatchNorm9},
                                  {9, "Upsample", raiseUpsample9},
                                  {9, "Scan", refuseScan9},
                                  {10, "Upsample", raiseUpsample10},
                                  {10, "Slice", raiseSlice10},
                                  {10, "TopK", raiseTopK10},
                                  {10, "Dropout", raiseDropout10},
                                  {11, "Clip", raiseClip11},
                                  {11, "Pad", raisePad11},
                                  {11, "Scatter", raiseScatter11},
                                  {11, "Resize", raiseResize11},
                                  {12, "Dropout", raiseDropout12},
                                  {13, "Resize", raiseResize13},
                                  {13, "Squeeze", raiseAxes13},
                                  {13, "Unsqueeze", raiseAxes13},
                                  {13, "ReduceSum", raiseAxes13},
                                  {13, "Split", raiseSplit13},
                                  {13, "Softmax", raiseSoftmax13},
                                  {13, "LogSoftmax", raiseSoftmax13},
                                  {13, "Hardmax", raiseSoftmax13},
                                  {14, "BatchNormalization", raiseBatchNorm14},
                                  {16, "RoiAlign", raiseRoiAlign16},
                                  {18, "ReduceL1", raiseAxes13},
                                  {18, "ReduceL2", raiseAxes13},
                                  {18, "ReduceLogSum", raiseAxes13},
                                  {18, "ReduceLogSumExp", raiseAxes13},
                                  {18, "ReduceMax", raiseAxes13},
                                  {18, "ReduceMean", raiseAxes13},
                                  {18, "ReduceMin", raiseAxes13},
                                  {18, "ReduceProd", raiseAxes13},
                                  {18, "ReduceSumSquare", raiseAxes13},
                                  {18, "Split", raiseSplit18},
                                  {20, "GridSample", raiseGridSample20},
                                  {20, "DFT", raiseDft20},
                                  {21, "GroupNormalization", raiseGroupNorm21}};

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

namespace {
class OpsetRaiser {
public:
  OpsetRaiser(int64_t from, int64_t to) : from(from), to(to) {}
  void noteGraph(const onnx::GraphProto &graph);
  void noteTypes(const onnx::GraphProto &graph);
  Error raise(NodeList &nodes);

private:
  Error raiseNode(NodeProto &node, NodeList &out);
  void note(const NodeList &nodes);

  int64_t from, to;
  std::set<std::string> names;
  /// Null where a name stands for several values, in branches.
  llvm::StringMap<const onnx::TypeProto_Tensor *> types;
  llvm::StringMap<const TensorProto *> constants;

  friend Error convert::raiseOpset(onnx::ModelProto &, int64_t);
};
} // namespace

template <typename T>
static void insert(llvm::StringMap<const T *> &map, StringRef name,
                   const T &value) {
  if (auto [it, isNew] = map.try_emplace(name, &value); !isNew)
    it->second = nullptr;
}

void OpsetRaiser::note(const NodeList &nodes) {
  for (const NodeProto &node : nodes) {
    names.insert(node.name());
    names.insert(node.input().begin(), node.input().end());
    names.insert(node.output().begin(), node.output().end());
    for (const AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        noteGraph(attribute.g());
      if (node.op_type() == "Constant" && attribute.has_t() &&
          node.output_size() == 1)
        insert(constants, node.output(0), attribute.t());
    }
  }
}

void OpsetRaiser::noteGraph(const onnx::GraphProto &graph) {
  for (const onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const TensorProto &tensor : graph.initializer()) {
    names.insert(tensor.name());
    insert(constants, tensor.name(), tensor);
  }
  note(graph.node());
}

void OpsetRaiser::noteTypes(const onnx::GraphProto &graph) {
  for (const auto *list : {&graph.input(), &graph.value_info()})
    for (const onnx::ValueInfoProto &value : *list)
      if (value.type().has_tensor_type())
        insert(types, value.name(), value.type().tensor_type());
  for (const NodeProto &node : graph.node())
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        noteTypes(attribute.g());
}

Error OpsetRaiser::raiseNode(NodeProto &node, NodeList &out) {
  for (AttributeProto &attribute : *node.mutable_attribute())
    if (attribute.has_g())
      if (Error error = raise(*attribute.mutable_g()->mutable_node()))
        return error;
  bool isStandard = onnx_import::normalizeDomain(node.domain()).empty();
  Raiser at(names, node);
  at.constant = [&](StringRef name) {
    for (const NodeProto &made : at.before)
      if (made.output(0) == name && made.op_type() == "Constant")
        return &made.attribute(0).t();
    return constants.lookup(name);
  };
  if (node.input_size() > 0)
    at.type = types.lookup(node.input(0));
  for (const Rule &rule : kRules)
    if (isStandard && rule.op == node.op_type() && from < rule.since &&
        rule.since <= to)
      rule.apply(at);
  if (!at.fault.empty())
    return llvm::createStringError("--opset: " + node.op_type() + " '" +
                                   node.name() + "': " + at.fault);
  for (NodeProto &made : at.before)
    out.Add()->Swap(&made);
  *out.Add() = node;
  for (NodeProto &made : at.after)
    out.Add()->Swap(&made);
  return Error::success();
}

Error OpsetRaiser::raise(NodeList &nodes) {
  NodeList out;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    // A node without a name goes by its place, which may change.
    if (node.name().empty())
      node.set_name(node.op_type() + "_" + std::to_string(index));
    if (Error error = raiseNode(node, out))
      return error;
  }
  nodes.Swap(&out);
  return Error::success();
}

static int64_t
raiseImport(google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &list,
            int64_t opset) {
  int64_t before = 1;
  for (onnx::OperatorSetIdProto &import : list)
    if (onnx_import::normalizeDomain(import.domain()).empty()) {
      before = import.version();
      import.set_version(std::max(before, opset));
    }
  return before;
}

/// With what ONNX's inference finds; a file that tells nothing is raised all
/// the same.
static onnx::ModelProto inferTypes(const onnx::ModelProto &model) {
  onnx::ModelProto copy = model;
  try {
    onnx::shape_inference::InferShapes(copy);
  } catch (const std::exception &) {
    // Types that it has found until then may be wrong.
    copy = model;
  }
  return copy;
}

Error convert::raiseOpset(onnx::ModelProto &model, int64_t opset) {
  onnx::ModelProto source = inferTypes(model);
  int64_t from = raiseImport(*model.mutable_opset_import(), opset);
  auto refuse = [&](const std::string &why) {
    return llvm::createStringError("--opset: the model is of opset " +
                                   std::to_string(from) + why);
  };
  if (from > opset)
    return refuse(", which is only raised");
  if (from < kFirst && from < opset)
    return refuse(", and there are rules from " + std::to_string(kFirst) +
                  " on");
  if (opset > kLast && from < opset)
    return refuse(", and there are rules up to " + std::to_string(kLast));
  OpsetRaiser raiser(from, opset);
  raiser.noteGraph(source.graph());
  raiser.noteTypes(source.graph());
  if (Error error = raiser.raise(*model.mutable_graph()->mutable_node()))
    return error;
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    int64_t before = raiseImport(*function.mutable_opset_import(), opset);
    OpsetRaiser inner(before, opset);
    inner.note(function.node());
    if (Error error = inner.raise(*function.mutable_node()))
      return error;
  }
  return Error::success();
}
