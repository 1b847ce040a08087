//===- Provenance.h - Where exporters say a node comes from
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_PROVENANCE_H
#define MPOPT_LIB_IMPORT_ONNX_PROVENANCE_H

#include "mlir/IR/Location.h"

#include "onnx/onnx_pb.h"

#include <string>

namespace mpopt::onnx_import {

/// The Python file and line of a node's stack trace at which a user looks
/// (`pickUserFrame`); unknown if the node has none.
mlir::Location readSource(mlir::MLIRContext *context,
                          const onnx::NodeProto &node);

/// The path of the Python module that a node was exported from
/// (`encoder.layer.0.attention`); empty if the node does not say.
std::string readModulePath(const onnx::NodeProto &node);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_PROVENANCE_H
