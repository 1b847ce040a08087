//===- NodeContext.cpp - One ONNX node to mp ops --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of NodeContext that need no protobuf.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Onnx/Lowering.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

SmallVector<Value> NodeContext::inputs(unsigned first) const {
  SmallVector<Value> present;
  for (unsigned index = first; index < numInputs(); ++index)
    if (Value value = input(index))
      present.push_back(value);
  return present;
}

LogicalResult NodeContext::requireInputs(unsigned count) {
  for (unsigned index = 0; index < count; ++index)
    if (!hasInput(index))
      return error("input " + Twine(index) + " is missing");
  return success();
}

std::optional<SmallVector<int64_t>>
NodeContext::constantInts(unsigned index) const {
  Value value = input(index);
  return value ? shapeFacts.constants(value) : std::nullopt;
}

std::optional<SmallVector<int64_t>>
NodeContext::attrOrInput(StringRef name, unsigned index) const {
  if (std::optional<SmallVector<int64_t>> ints = findInts(name))
    return ints;
  if (std::optional<int64_t> single = findInt(name))
    return SmallVector<int64_t>{*single};
  return constantInts(index);
}
