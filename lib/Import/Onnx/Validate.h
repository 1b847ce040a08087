//===- Validate.h - Structure of a model, before it is imported
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_VALIDATE_H
#define MPOPT_LIB_IMPORT_ONNX_VALIDATE_H

#include "Functions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace mpopt::onnx_import {

/// Orders for those graphs whose nodes the file does not have in one, by the
/// address of their node list.
using NodeOrders = llvm::DenseMap<const void *, llvm::SmallVector<unsigned>>;

/// Names, order and operator definitions of every graph and function of a
/// model. Reports all that is wrong; false if the graph cannot be imported.
bool validateModel(const onnx::ModelProto &model, ErrorSink &sink,
                   NodeOrders &orders);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_VALIDATE_H
