//===- MlirReader.h - mp IR in text and bytecode
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_MLIRREADER_H
#define MPOPT_LIB_IMPORT_MLIRREADER_H

#include "mpopt/Import/ErrorSink.h"

namespace mpopt {

void importMlir(llvm::StringRef bytes, llvm::StringRef path,
                const ImportOptions &options, mlir::MLIRContext &context,
                ErrorSink &sink, ImportResult &result);

} // namespace mpopt

#endif // MPOPT_LIB_IMPORT_MLIRREADER_H
