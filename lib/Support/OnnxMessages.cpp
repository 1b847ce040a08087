//===- OnnxMessages.cpp - Where an ONNX file has tensors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/OnnxMessages.h"

using namespace mpopt;

OnnxMessage mpopt::getOnnxChild(OnnxMessage parent, uint64_t field) {
  switch (parent) {
  case OnnxMessage::Model:
    return field == 7    ? OnnxMessage::Graph
           : field == 20 ? OnnxMessage::Training
           : field == 25 ? OnnxMessage::Function
                         : OnnxMessage::Other;
  case OnnxMessage::Training:
    return field == 1 || field == 2 ? OnnxMessage::Graph : OnnxMessage::Other;
  case OnnxMessage::Graph:
    return field == 1    ? OnnxMessage::Node
           : field == 5  ? OnnxMessage::Tensor
           : field == 15 ? OnnxMessage::SparseTensor
                         : OnnxMessage::Other;
  case OnnxMessage::Function:
    return field == 7    ? OnnxMessage::Node
           : field == 11 ? OnnxMessage::Attribute
                         : OnnxMessage::Other;
  case OnnxMessage::Node:
    return field == 5 ? OnnxMessage::Attribute : OnnxMessage::Other;
  case OnnxMessage::Attribute:
    return field == 5 || field == 10    ? OnnxMessage::Tensor
           : field == 6 || field == 11  ? OnnxMessage::Graph
           : field == 22 || field == 23 ? OnnxMessage::SparseTensor
                                        : OnnxMessage::Other;
  case OnnxMessage::SparseTensor:
    return field == 1 || field == 2 ? OnnxMessage::Tensor : OnnxMessage::Other;
  case OnnxMessage::Tensor:
  case OnnxMessage::Other:
    return OnnxMessage::Other;
  }
  return OnnxMessage::Other;
}
