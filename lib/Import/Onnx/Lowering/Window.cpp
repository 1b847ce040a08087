//===- Window.cpp - Window attributes of an ONNX node ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Window.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/WindowSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

static SmallVector<int64_t> readList(const NodeContext &ctx, StringRef name,
                                     int64_t defaultValue) {
  SmallVector<int64_t> list = ctx.getInts(name);
  if (llvm::all_of(list, [&](int64_t entry) { return entry == defaultValue; }))
    list.clear();
  return list;
}

WindowAttributes onnx_import::readWindow(const NodeContext &ctx, Value input,
                                         ArrayRef<int64_t> kernel,
                                         bool resolve) {
  WindowAttributes attributes;
  attributes.strides = readList(ctx, "strides", 1);
  attributes.dilations = readList(ctx, "dilations", 1);
  StringRef autoPad = ctx.getString("auto_pad", "NOTSET");
  // An empty string is what some exporters write for the default.
  if (autoPad.empty() || autoPad == "NOTSET") {
    attributes.pads = readList(ctx, "pads", 0);
    return attributes;
  }
  if (autoPad == "VALID")
    return attributes;
  attributes.autoPad = autoPad;
  MaybeShape shape = getShape(input);
  bool fits = shape && !kernel.empty() && shape->size() > kernel.size() &&
              (attributes.strides.empty() ||
               attributes.strides.size() == kernel.size()) &&
              (attributes.dilations.empty() ||
               attributes.dilations.size() == kernel.size());
  // Bad entries are left for the verifier to name.
  auto positive = [](int64_t entry) { return entry > 0; };
  if (!resolve || !fits || !llvm::all_of(kernel, positive) ||
      !llvm::all_of(attributes.strides, positive) ||
      !llvm::all_of(attributes.dilations, positive) ||
      !autoPad.starts_with("SAME"))
    return attributes;
  Window window = Window::get(kernel, attributes.strides, attributes.dilations,
                              {}, autoPad);
  SmallVector<int64_t> pads(2 * kernel.size());
  for (size_t index = 0; index < kernel.size(); ++index) {
    int64_t size = (*shape)[shape->size() - kernel.size() + index];
    auto both = window.pads(index, size);
    if (!both)
      return attributes;
    pads[index] = both->first;
    pads[kernel.size() + index] = both->second;
  }
  attributes.autoPad = "NOTSET";
  if (llvm::any_of(pads, [](int64_t pad) { return pad != 0; }))
    attributes.pads = std::move(pads);
  return attributes;
}

Value onnx_import::makeFusedActivation(NodeContext &ctx, StringRef name,
                                       ArrayRef<double> parameters,
                                       Value value) {
  auto parameter = [&](size_t index, double otherwise) {
    return APFloat(index < parameters.size() ? parameters[index] : otherwise);
  };
  if (name.empty())
    return value;
  if (name == "Relu")
    return ctx.make<mp::ReluOp>(value);
  if (name == "Tanh")
    return ctx.make<mp::TanhOp>(value);
  if (name == "Sigmoid")
    return ctx.make<mp::SigmoidOp>(value);
  if (name == "LeakyRelu")
    return ctx.make<mp::LeakyReluOp>(value, parameter(0, 0.01));
  if (name == "HardSigmoid")
    return ctx.make<mp::HardSigmoidOp>(value, parameter(0, 0.2),
                                       parameter(1, 0.5));
  if (name == "HardSwish")
    return ctx.make<mp::HardSwishOp>(value);
  if (name == "Clip" && parameters.size() == 2 &&
      isa<FloatType>(getElementType(value))) {
    Type element = getElementType(value);
    Value low = ctx.makeScalar(parameters[0], element);
    Value high = ctx.makeScalar(parameters[1], element);
    return ctx.make<mp::ClipOp>(value, low, high);
  }
  return {};
}
