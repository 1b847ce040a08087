//===- Strings.cpp - Methods of strings and devices -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a message matters to its reader only; here it matters whether a
// string is known.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

using Kind = Item::Kind;

/// Puts the inputs from `first` on in place of the `{}` of `text`.
static LogicalResult giveText(Evaluation &evaluation, std::string text,
                              unsigned first) {
  size_t from = 0;
  for (unsigned index = first; index < evaluation.numInputs(); ++index) {
    size_t at = text.find("{}", from);
    if (at == std::string::npos)
      break;
    const Item &part = evaluation.input(index);
    std::string written = part.kind == Kind::String ? part.text
                          : part.isStatic() && part.kind != Kind::Float
                              ? std::to_string(part.integer)
                              : "?";
    text.replace(at, 2, written);
    from = at + written.size();
  }
  return evaluation.give(Item::string(text));
}

static LogicalResult format(Evaluation &evaluation) {
  return giveText(evaluation, evaluation.input(0).text, 1);
}

static LogicalResult print(Evaluation &evaluation) {
  return giveText(evaluation, "{}", 0);
}

static LogicalResult getLength(Evaluation &evaluation) {
  const Item &text = evaluation.input(0);
  if (text.kind != Kind::String)
    return failure();
  return evaluation.give(Item::integerOf(text.text.size()));
}

static LogicalResult makeDevice(Evaluation &evaluation) {
  if (evaluation.input(0).kind != Kind::String)
    return failure();
  Item device = evaluation.input(0);
  device.kind = Kind::Device;
  device.text = StringRef(device.text).split(':').first.str();
  return evaluation.give(device);
}

static LogicalResult getDeviceType(Evaluation &evaluation) {
  const Item &device = evaluation.input(0);
  if (device.kind != Kind::Device)
    return failure();
  return evaluation.give(Item::string(device.text));
}

void aten::registerStringHandlers(HandlerTable &scalars) {
  scalars.add("format", format);
  scalars.add("str", print);
  scalars.add("len", getLength);
  scalars.add("device", makeDevice);
  scalars.add("type", getDeviceType);
}
