//===- InputShape.cpp - A shape that the caller gives an input
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/InputShape.h"

#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <set>

using namespace mpopt;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

Expected<InputShape> mpopt::parseInputShape(StringRef text) {
  auto [name, value] = text.rsplit('=');
  auto wrong = [&](const Twine &why) {
    return llvm::createStringError("--input-shape: '" + text + "'" + why);
  };
  if (name.empty() || value.empty())
    return wrong(" is not NAME=1x3x224x224[:DTYPE]");
  auto [dims, dtype] = value.split(':');
  InputShape shape;
  shape.input = name.str();
  if (value.contains(':') && dtype.empty())
    return wrong(" has an empty dtype");
  static const std::set<StringRef> kIntegers = {
      "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"};
  if (!dtype.empty() && !FloatFormat::byName(dtype) &&
      !kIntegers.contains(dtype))
    return wrong(": unknown dtype '" + dtype + "' (f32, f16, bf16, i64 ...)");
  shape.elementType = dtype.str();
  // `scalar` is the shape without dims.
  if (dims == "scalar")
    return shape;
  llvm::SmallVector<StringRef> parts;
  dims.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t dim = -1;
    if (part != "?" && (part.getAsInteger(10, dim) || dim < 0))
      return wrong(": '" + part + "' is not a dimension (a number or ?)");
    shape.dims.push_back(dim);
  }
  return shape;
}

std::string mpopt::printInputShape(const InputShape &shape) {
  std::string text = shape.input + "=";
  if (shape.dims.empty())
    text += "scalar";
  for (size_t index = 0; index < shape.dims.size(); ++index) {
    int64_t dim = shape.dims[index];
    text += (index ? "x" : "") + (dim < 0 ? "?" : std::to_string(dim));
  }
  if (!shape.elementType.empty())
    text += ":" + shape.elementType;
  return text;
}
