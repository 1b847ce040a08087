//===- NameLengths.h - Names that would multiply a model --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_NAMELENGTHS_H
#define MPOPT_LIB_IMPORT_NAMELENGTHS_H

#include "mpopt/Import/ErrorSink.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// An error for the first name or path in `module` of more than 4096 bytes. A
/// file has it once; reports and ledgers repeat the path of a body for every
/// tensor in it, and an op's name wherever it is a cause.
void checkNameLengths(mlir::ModuleOp module, ErrorSink &sink);

} // namespace mpopt

#endif // MPOPT_LIB_IMPORT_NAMELENGTHS_H
