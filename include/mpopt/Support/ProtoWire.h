//===- ProtoWire.h - Fields of a serialised protobuf message ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For what protobuf's own parser cannot do: leaving gigabytes of weights where
// they are, and changing a file so that the change can be undone byte by byte.
// Groups, which ONNX does not use, are refused.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_PROTOWIRE_H
#define MPOPT_SUPPORT_PROTOWIRE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace mpopt {

/// One field; all positions count from the start of the file.
struct WireField {
  uint64_t number, wire;
  uint64_t begin;   ///< of the tag
  uint64_t tagEnd;  ///< where a length-delimited field's length begins
  uint64_t payload; ///< of a length-delimited field's bytes
  uint64_t end;
  uint64_t varint = 0; ///< of a field with wire type 0

  bool isMessage() const { return wire == 2; }
  llvm::StringRef bytes(llvm::StringRef file) const {
    return file.slice(payload, end);
  }
};

/// The field at `position` of a message that ends at `end`. The error says what
/// is wrong and at which byte.
llvm::Expected<WireField> readWireField(llvm::StringRef file, uint64_t position,
                                        uint64_t end);

/// Calls `visit`, which returns an llvm::Error, with each field of the message
/// in [begin, end).
template <typename Visit>
llvm::Error forEachWireField(llvm::StringRef file, uint64_t begin, uint64_t end,
                             Visit &&visit) {
  for (uint64_t position = begin; position < end;) {
    llvm::Expected<WireField> field = readWireField(file, position, end);
    if (!field)
      return field.takeError();
    if (llvm::Error error = visit(*field))
      return error;
    position = field->end;
  }
  return llvm::Error::success();
}

unsigned varintSize(uint64_t value);
void appendVarint(std::string &out, uint64_t value);

} // namespace mpopt

#endif // MPOPT_SUPPORT_PROTOWIRE_H
