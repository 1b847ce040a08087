//===- OpsetRules.cpp - What later opsets changed
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

#include "Raiser.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

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

// In the order of opsets.
static constexpr OpsetRule kRules[] = {
    {9, "BatchNormalization", raiseBatchNorm9},
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

llvm::ArrayRef<OpsetRule> convert::getOpsetRules() { return kRules; }
