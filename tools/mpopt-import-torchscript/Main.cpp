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

#include "mpopt/Import/InputShape.h"
#include "mpopt/Import/TorchScript/Archive.h"
#include "mpopt/Import/TorchScript/HelperProtocol.h"
#include "mpopt/Import/TorchScript/Reader.h"
#include "mpopt/Import/TorchScript/TorchScriptImport.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mpopt;
namespace cl = llvm::cl;

static cl::opt<std::string> archive(cl::Positional, cl::Required,
                                    cl::desc("ARCHIVE"));
static cl::opt<std::string> method("method", cl::init("forward"),
                                   cl::desc("the method to import"));
static cl::list<std::string> inputShapes("input-shape",
                                         cl::desc("NAME=1x3x224x224[:f16]"));
static cl::opt<std::string> output("o", cl::init("-"), cl::desc("the result"));
static cl::opt<bool> text("text", cl::desc("print text instead of bytecode"));

/// Errors and warnings of the import are in `result`.
static void import(mlir::MLIRContext &context, ImportResult &result) {
  ErrorSink sink(result);
  ImportOptions options;
  for (const std::string &argument : inputShapes) {
    llvm::Expected<InputShape> shape = parseInputShape(argument);
    if (!shape)
      return sink.error(ImportCode::InputShapeConflict, "",
                        llvm::toString(shape.takeError()));
    options.inputShapes.push_back(std::move(*shape));
  }
  auto buffer = llvm::MemoryBuffer::getFile(archive, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return sink.error(ImportCode::Unreadable, "", buffer.getError().message());
  auto facts = torchscript::inspectArchive((*buffer)->getBuffer());
  if (!facts)
    return sink.error(ImportCode::UnsafeArchive, "",
                      "the archive " + llvm::toString(facts.takeError()));
  torchscript::Graph graph;
  std::string error;
  if (!torchscript::readArchive(archive, method, facts->weights, graph, error))
    return sink.error(ImportCode::Malformed, "", error);
  torchscript::importGraph(graph, archive, options, context, sink, result);
  sink.finish();
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "TorchScript archives to mp IR\n");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportResult result;
  import(context, result);
  for (const ImportError &error : result.errors)
    llvm::errs() << torchscript::printError(error) << '\n';
  if (!result.module || !result.errors.empty())
    return 2;
  torchscript::recordResult(result);
  std::error_code code;
  llvm::ToolOutputFile file(output, code, llvm::sys::fs::OF_None);
  if (code) {
    llvm::errs() << code.message() << '\n';
    return 2;
  }
  if (text)
    result.module->print(file.os(), mlir::OpPrintingFlags().enableDebugInfo());
  else if (mlir::failed(mlir::writeBytecodeToFile(*result.module, file.os())))
    return 2;
  file.keep();
  // LibTorch's own clean-up at exit takes 0.1 s and has nothing to save.
  file.os().flush();
  llvm::errs().flush();
  std::_Exit(0);
}
