//===- StandardSchemas.h - The standard's operators, on demand --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ONNX library's registry makes all definitions of all versions when it is
// first asked for one, which takes longer than the import of a small model. A
// model uses a few dozen of them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ONNX_STANDARDSCHEMAS_H
#define MPOPT_LIB_IMPORT_ONNX_STANDARDSCHEMAS_H

#include "llvm/ADT/StringRef.h"

#include "onnx/defs/schema.h"

namespace mpopt::onnx_import {

/// The newest definition of an operator of the standard's own domain in
/// `version` of the operator set; null if it has none. Definitions live as long
/// as the program.
const onnx::OpSchema *findStandardSchema(llvm::StringRef type, int version);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_STANDARDSCHEMAS_H
