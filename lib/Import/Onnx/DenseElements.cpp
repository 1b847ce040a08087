//===- DenseElements.cpp - ONNX's packed bytes to MLIR's elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DenseElements.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace mpopt;

/// One byte an element, from a stream of `bits` each, lowest bits first.
static SmallVector<char> unpack(ArrayRef<char> packed, unsigned bits,
                                int64_t count) {
  SmallVector<char> result;
  result.reserve(count);
  uint32_t buffer = 0;
  unsigned available = 0;
  size_t next = 0;
  for (int64_t index = 0; index < count; ++index) {
    if (available < bits) {
      buffer |= uint32_t(uint8_t(packed[next++])) << available;
      available += 8;
    }
    result.push_back(char(buffer & ((1u << bits) - 1)));
    buffer >>= bits;
    available -= bits;
  }
  return result;
}

DenseElementsAttr onnx_import::makeDenseElements(RankedTensorType type,
                                                 ArrayRef<char> packed) {
  Type element = type.getElementType();
  if (element.isInteger(1)) {
    SmallVector<bool> values;
    values.reserve(packed.size());
    for (char byte : packed)
      values.push_back(byte != 0);
    return DenseElementsAttr::get(type, values);
  }
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 8;
  if (bits >= 8)
    return DenseElementsAttr::getFromRawBuffer(type, packed);
  return DenseElementsAttr::getFromRawBuffer(
      type, unpack(packed, bits, type.getNumElements()));
}
