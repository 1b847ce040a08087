//===- ProtoWire.cpp - Fields of a serialised protobuf message ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/ProtoWire.h"

#include "llvm/ADT/Twine.h"

using namespace mpopt;
using llvm::Twine;

static bool readVarint(llvm::StringRef file, uint64_t &position, uint64_t end,
                       uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && position < end; shift += 7) {
    uint8_t byte = file[position++];
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

llvm::Expected<WireField>
mpopt::readWireField(llvm::StringRef file, uint64_t position, uint64_t end) {
  WireField field;
  field.begin = position;
  auto fail = [&](const Twine &what) {
    return llvm::createStringError((what + " at byte " + Twine(field.begin)));
  };
  uint64_t tag;
  if (!readVarint(file, position, end, tag))
    return fail("a field's tag is cut off");
  field.tagEnd = position;
  field.number = tag >> 3;
  field.wire = tag & 7;
  if (field.number == 0)
    return fail("field number 0");
  uint64_t length = 0;
  switch (field.wire) {
  case 0:
    if (!readVarint(file, position, end, field.varint))
      return fail("a number is cut off");
    break;
  case 1:
    length = 8;
    break;
  case 2:
    if (!readVarint(file, position, end, length))
      return fail("a length is cut off");
    break;
  case 5:
    length = 4;
    break;
  default:
    return fail("wire type " + Twine(field.wire) +
                ", which ONNX does not use,");
  }
  if (length > end - position)
    return fail("a field of " + Twine(length) + " bytes where only " +
                Twine(end - position) + " are left");
  field.payload = position;
  field.end = position + length;
  return field;
}

unsigned mpopt::varintSize(uint64_t value) {
  unsigned size = 1;
  for (; value >= 0x80; value >>= 7)
    ++size;
  return size;
}

void mpopt::appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += char(value | 0x80);
  out += char(value);
}
