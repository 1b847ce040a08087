//===- EmitMlir.cpp - mpopt --emit-mlir
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/SequentialContext.h"
#include "mpopt/Driver/Actions.h"
#include "mpopt/Driver/CheckModel.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/OutputConflicts.h"

#include "mlir/Bytecode/BytecodeWriter.h"

using namespace mlir;
using namespace mpopt;

int mpopt::emitMlir(const Options &options) {
  SequentialContext context;
  StringRef path = options.models.front();
  ImportResult result = importModel(path, options.import, context);
  if (!result.module || !result.errors.empty()) {
    printImportErrors(path, result);
    return kFault;
  }
  if (llvm::Error error =
          checkFoundFiles(options, "the weights", result.weightFiles)) {
    printError(llvm::toString(std::move(error)));
    return kFault;
  }
  for (const std::string &warning : result.warnings)
    printWarning(path + ": " + warning);

  bool bytecode = StringRef(options.output).ends_with(".mlirbc");
  // With locations: they hold the model's names, and `mpopt --check` reads what
  // this writes.
  OpPrintingFlags flags = OpPrintingFlags().enableDebugInfo();
  bool encoded = true;
  llvm::Error error = writeOutput(options.output, [&](llvm::raw_ostream &os) {
    if (bytecode)
      encoded = succeeded(writeBytecodeToFile(*result.module, os));
    else
      result.module->print(os, flags);
  });
  if (error) {
    printError(llvm::toString(std::move(error)));
    return kFault;
  }
  if (!encoded) {
    printError(path + ": the module cannot be written as bytecode");
    return kFault;
  }
  return kClean;
}
