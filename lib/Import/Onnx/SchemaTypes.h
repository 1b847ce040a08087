//===- SchemaTypes.h - Result types by the ONNX library
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_SCHEMATYPES_H
#define MPOPT_LIB_IMPORT_ONNX_SCHEMATYPES_H

#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

#include <vector>

namespace mpopt::onnx_import {

/// One type per output of a node without a lowering, from the inference
/// function of its definition; empty if that does not know or says no. Operand
/// values are not looked at.
std::vector<onnx::TypeProto> inferBySchema(const onnx::OpSchema &schema,
                                           onnx::NodeProto node,
                                           std::vector<onnx::TypeProto> inputs);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_SCHEMATYPES_H
