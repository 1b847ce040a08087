//===- OnnxMessages.h - Where an ONNX file has tensors -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages on the way from a ModelProto to its tensors, by field numbers
// (those of onnx.proto), for what walks the wire format (ProtoWire.h).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_ONNXMESSAGES_H
#define MPOPT_SUPPORT_ONNXMESSAGES_H

#include <cstdint>

namespace mpopt {

enum class OnnxMessage : uint8_t {
  Model,
  Training,
  Graph,
  Function,
  Node,
  Attribute,
  SparseTensor,
  Tensor,
  Other ///< holds no tensors
};

/// The content of a length-delimited field of `parent`.
OnnxMessage getOnnxChild(OnnxMessage parent, uint64_t field);

} // namespace mpopt

#endif // MPOPT_SUPPORT_ONNXMESSAGES_H
