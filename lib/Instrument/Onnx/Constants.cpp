//===- Constants.cpp - Numbers in an ONNX file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Field numbers and types are those of onnx.proto. Not covered: 16-bit floats
// in `int32_data`, whose length may change with them, and weights in other
// files.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Instrument/OnnxConstants.h"

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Support/OnnxMessages.h"
#include "mpopt/Support/ProtoWire.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// As readers of graphs: messages within messages.
static constexpr unsigned kMaxDepth = 300;

namespace {
/// Elements of one float type, one behind the other, in a file.
struct Elements {
  uint64_t begin = 0, end = 0;
  const llvm::fltSemantics *format = nullptr;
};

/// Looks for a constant of a name.
class Finder {
public:
  Finder(StringRef file, StringRef name) : file(file), name(name) {}
  Error visit(OnnxMessage message, uint64_t begin, uint64_t end,
              unsigned depth);

  std::vector<Elements> found;

private:
  Error addTensor(uint64_t begin, uint64_t end, bool isNamed);
  Error addNode(uint64_t begin, uint64_t end);
  Error addAttribute(uint64_t begin, uint64_t end);

  StringRef file, name;
};
} // namespace

/// By TensorProto.DataType.
static const llvm::fltSemantics *getFormat(uint64_t type) {
  switch (type) {
  case 1:
    return &llvm::APFloat::IEEEsingle();
  case 10:
    return &llvm::APFloat::IEEEhalf();
  case 11:
    return &llvm::APFloat::IEEEdouble();
  case 16:
    return &llvm::APFloat::BFloat();
  default:
    return nullptr;
  }
}

/// `isNamed`: the name is that of the tensor itself.
Error Finder::addTensor(uint64_t begin, uint64_t end, bool isNamed) {
  StringRef own;
  uint64_t type = 0;
  Elements elements;
  bool isPlain = true;
  if (Error error = forEachWireField(
          file, begin, end, [&](const WireField &field) -> Error {
            if (field.number == 2 && field.wire == 0)
              type = field.varint;
            if (field.number == 8 && field.isMessage())
              own = field.bytes(file);
            // float_data, raw_data and double_data, packed.
            bool hasData =
                field.number == 4 || field.number == 9 || field.number == 10;
            if (hasData && field.isMessage() && field.end > field.payload) {
              elements.begin = field.payload;
              elements.end = field.end;
            } else if (hasData || field.number == 14) {
              isPlain &= field.number == 14 && field.varint == 0;
            }
            return Error::success();
          }))
    return error;
  if (isNamed && own != name)
    return Error::success();
  if (isPlain)
    elements.format = getFormat(type);
  found.push_back(elements);
  return Error::success();
}

/// `value` and `value_float` of a Constant node.
Error Finder::addAttribute(uint64_t begin, uint64_t end) {
  return forEachWireField(
      file, begin, end, [&](const WireField &field) -> Error {
        if (field.number == 5 && field.isMessage())
          return addTensor(field.payload, field.end, /*isNamed=*/false);
        if (field.number == 2 && field.wire == 5)
          found.push_back(
              {field.tagEnd, field.end, &llvm::APFloat::IEEEsingle()});
        return Error::success();
      });
}

Error Finder::addNode(uint64_t begin, uint64_t end) {
  bool isMeant = false, isConstant = false;
  std::vector<WireField> attributes;
  if (Error error = forEachWireField(
          file, begin, end, [&](const WireField &field) -> Error {
            if (field.number == 2 && field.isMessage())
              isMeant |= field.bytes(file) == name;
            if (field.number == 4 && field.isMessage())
              isConstant = field.bytes(file) == "Constant";
            if (field.number == 5 && field.isMessage())
              attributes.push_back(field);
            return Error::success();
          }))
    return error;
  if (!isMeant || !isConstant)
    return Error::success();
  for (const WireField &attribute : attributes)
    if (Error error = addAttribute(attribute.payload, attribute.end))
      return error;
  return Error::success();
}

Error Finder::visit(OnnxMessage message, uint64_t begin, uint64_t end,
                    unsigned depth) {
  if (depth > kMaxDepth)
    return llvm::createStringError("graphs are nested too deep");
  if (message == OnnxMessage::Node)
    if (Error error = addNode(begin, end))
      return error;
  return forEachWireField(
      file, begin, end, [&](const WireField &field) -> Error {
        OnnxMessage inner = getOnnxChild(message, field.number);
        if (inner == OnnxMessage::Other || !field.isMessage())
          return Error::success();
        if (inner != OnnxMessage::Tensor)
          return visit(inner, field.payload, field.end, depth + 1);
        // Tensors of attributes are left to addNode.
        return message == OnnxMessage::Graph
                   ? addTensor(field.payload, field.end, /*isNamed=*/true)
                   : Error::success();
      });
}

/// The bytes with each element changed.
static std::string changeElements(StringRef bytes,
                                  const llvm::fltSemantics &format,
                                  llvm::function_ref<double(double)> change,
                                  ChangedElements &elements) {
  unsigned bits = llvm::APFloat::getSizeInBits(format), size = bits / 8;
  std::string changed;
  bool loses;
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    uint64_t word = 0;
    for (unsigned byte = 0; byte < size; ++byte)
      word |= uint64_t(uint8_t(bytes[at + byte])) << (8 * byte);
    llvm::APFloat number(format, llvm::APInt(bits, word));
    number.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &loses);
    // NaN is none of the numbers that change.
    double before = number.convertToDouble(), after = change(before);
    ++elements.of;
    if (after != before && !std::isnan(after)) {
      if (elements.count++ == 0)
        elements.before = before, elements.after = after;
      llvm::APFloat stored(after);
      stored.convert(format, llvm::APFloat::rmNearestTiesToEven, &loses);
      word = stored.bitcastToAPInt().getZExtValue();
    }
    for (unsigned byte = 0; byte < size; ++byte)
      changed += char(word >> (8 * byte));
  }
  return changed;
}

Expected<ChangedElements>
mpopt::changeConstant(StringRef model, StringRef tensor,
                      llvm::function_ref<double(double)> change,
                      FilePatch &patch) {
  Finder finder(model, tensor);
  if (Error error = finder.visit(OnnxMessage::Model, 0, model.size(), 0))
    return std::move(error);
  if (finder.found.size() != 1)
    return llvm::createStringError(
        finder.found.empty() ? "the file has no constant of that name"
                             : "the file has several constants of that name");
  const Elements &elements = finder.found.front();
  if (!elements.format || elements.begin == elements.end)
    return llvm::createStringError(
        "its numbers are in another file, or in a form that is not changed");
  StringRef bytes = model.slice(elements.begin, elements.end);
  ChangedElements counts;
  std::string changed = changeElements(bytes, *elements.format, change, counts);
  if (counts.count > 0)
    patch.add(elements.begin, bytes.size(), std::move(changed));
  return counts;
}
