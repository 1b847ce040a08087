//===- TopologicalOrder.h - An order for the nodes of a graph
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_TOPOLOGICALORDER_H
#define MPOPT_LIB_IMPORT_ONNX_TOPOLOGICALORDER_H

#include "onnx/onnx_pb.h"

#include "llvm/ADT/SmallVector.h"

namespace mpopt::onnx_import {

/// An order of a graph's nodes in which each comes after what it reads, as
/// close to the file's order as that allows; or the nodes of one cycle, in
/// which each feeds the next and the last the first.
struct NodeOrder {
  llvm::SmallVector<unsigned> order;
  llvm::SmallVector<unsigned> cycle;
};
NodeOrder
sortNodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_TOPOLOGICALORDER_H
