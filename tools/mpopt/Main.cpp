//===- Main.cpp - mpopt --emit-mlir
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpopt;
namespace cl = llvm::cl;

int main(int argc, char **argv) {
  cl::opt<std::string> model(cl::Positional, cl::Required, cl::desc("MODEL"));
  cl::opt<bool> emit("emit-mlir", cl::desc("print the imported mp IR"));
  cl::list<std::string> dims("dim", cl::desc("NAME=N"));
  cl::ParseCommandLineOptions(argc, argv);
  ImportOptions options;
  for (const std::string &dim : dims) {
    auto [name, size] = llvm::StringRef(dim).split('=');
    size.getAsInteger(10, options.dims[name.str()]);
  }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ImportResult result = importModel(model, options, context);
  for (const ImportError &error : result.errors)
    llvm::errs() << "mpopt: error: " << model << ": " << error.str() << '\n';
  if (!result.module)
    return 2;
  for (const std::string &warning : result.warnings)
    llvm::errs() << "mpopt: warning: " << model << ": " << warning << '\n';
  result.module->print(llvm::outs(), OpPrintingFlags().enableDebugInfo());
  return 0;
}
