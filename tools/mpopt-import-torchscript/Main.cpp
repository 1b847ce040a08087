//===- Main.cpp - TorchScript archives to mp bytecode ---------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Started by mpopt when it is given an archive: LibTorch is loaded here, and
// what a stranger's archive may do to its loader is done to this process.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Import/TorchScript/Reader.h"
#include "mpopt/Import/TorchScript/TorchScriptImport.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/CommandLine.h"

using namespace mpopt;
namespace cl = llvm::cl;

static cl::opt<std::string> archive(cl::Positional, cl::Required,
                                    cl::desc("ARCHIVE"));
static cl::opt<std::string> method("method", cl::init("forward"));
static cl::opt<bool> text("text", cl::desc("print text instead of bytecode"));

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  torchscript::Graph graph;
  std::string error;
  if (!torchscript::readArchive(archive, method, {}, graph, error)) {
    llvm::errs() << error << '\n';
    return 2;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportResult result;
  ErrorSink sink(result);
  ImportOptions options;
  torchscript::importGraph(graph, archive, options, context, sink, result);
  for (const ImportError &failure : result.errors)
    llvm::errs() << failure.str() << '\n';
  for (const std::string &warning : result.warnings)
    llvm::errs() << "warning: " << warning << '\n';
  if (!result.module)
    return 2;
  if (text)
    result.module->print(llvm::outs(),
                         mlir::OpPrintingFlags().enableDebugInfo());
  else
    (void)mlir::writeBytecodeToFile(*result.module, llvm::outs());
  return 0;
}
