//===- TopologicalOrder.h - Cycles among the nodes of a graph
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ONNX_TOPOLOGICALORDER_H
#define MPOPT_LIB_IMPORT_ONNX_TOPOLOGICALORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <utility>

namespace mpopt::onnx_import {

/// The nodes of one cycle in edge order, or nothing if there is none. Linear in
/// `edges`, which are (from, to).
llvm::SmallVector<unsigned>
findCycle(unsigned nodes, llvm::ArrayRef<std::pair<unsigned, unsigned>> edges);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_TOPOLOGICALORDER_H
