//===- Main.cpp - TorchScript archives to mp bytecode ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Started by mpopt when it is given an archive: LibTorch is loaded here, and
// what a stranger's archive may do to its loader is done to this process.
//
//===----------------------------------------------------------------------===//

#include "Import.h"

#include "mpopt/Dialect/SequentialContext.h"
#include "mpopt/Import/Aten/AtenImport.h"
#include "mpopt/Import/InputShape.h"
#include "mpopt/Import/TorchScript/Archive.h"
#include "mpopt/Import/TorchScript/HelperProtocol.h"
#include "mpopt/Import/TorchScript/Reader.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mpopt;
namespace cl = llvm::cl;

static cl::opt<std::string> archive(cl::Positional, cl::desc("ARCHIVE"));
static cl::opt<std::string> method("method", cl::init("forward"),
                                   cl::desc("the method to import"));
static cl::list<std::string> inputShapes("input-shape",
                                         cl::desc("NAME=1x3x224x224[:f16]"));
static cl::opt<std::string> output("o", cl::init("-"), cl::desc("the result"));
static cl::opt<bool> places("places", cl::desc("say where tensors are"));
static cl::opt<std::string> plan("instrument", cl::value_desc("PLAN"),
                                 cl::desc("write records with probes"));
static cl::opt<bool> text("text", cl::desc("print text instead of bytecode"));
static cl::opt<unsigned>
    serveSeconds("serve", cl::value_desc("seconds"), cl::init(0),
                 cl::desc("answer requests from standard input, each for so "
                          "many seconds at most"));

std::optional<torchscript::ArchiveFacts>
torchscript::inspectFile(llvm::StringRef archive, ErrorSink &sink) {
  auto buffer = llvm::MemoryBuffer::getFile(archive, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    sink.error(ImportCode::Unreadable, "", buffer.getError().message());
    return std::nullopt;
  }
  auto facts = inspectArchive((*buffer)->getBuffer());
  if (facts)
    return std::move(*facts);
  sink.error(ImportCode::UnsafeArchive, "",
             "the archive " + llvm::toString(facts.takeError()));
  return std::nullopt;
}

static void import(const torchscript::Request &request,
                   mlir::MLIRContext &context, ImportResult &result) {
  ErrorSink sink(result);
  ImportOptions options;
  for (const std::string &argument : request.inputShapes) {
    llvm::Expected<InputShape> shape = parseInputShape(argument);
    if (!shape)
      return sink.error(ImportCode::InputShapeConflict, "",
                        llvm::toString(shape.takeError()));
    options.inputShapes.push_back(std::move(*shape));
  }
  options.wantPlaces = request.places;
  std::optional<torchscript::ArchiveFacts> facts =
      torchscript::inspectFile(request.archive, sink);
  if (!facts)
    return;
  aten::Graph graph;
  std::string error;
  if (!torchscript::readArchive(request.archive, request.method, facts->weights,
                                facts->attributes, graph, error))
    return sink.error(ImportCode::Malformed, "", error);
  result.format = ModelFormat::TorchScript;
  aten::importGraph(graph, request.archive, options, context, sink, result);
  sink.finish();
}

int torchscript::importArchive(const Request &request) {
  SequentialContext context;
  ImportResult result;
  import(request, context, result);
  for (const ImportError &error : result.errors)
    llvm::errs() << torchscript::printError(error) << '\n';
  if (!result.module || !result.errors.empty())
    return 2;
  torchscript::recordResult(result);
  std::error_code code;
  llvm::ToolOutputFile file(request.output, code, llvm::sys::fs::OF_None);
  if (code) {
    llvm::errs() << code.message() << '\n';
    return 2;
  }
  if (request.text)
    result.module->print(file.os(), mlir::OpPrintingFlags().enableDebugInfo());
  else if (mlir::failed(mlir::writeBytecodeToFile(*result.module, file.os())))
    return 2;
  file.keep();
  file.os().flush();
  return 0;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "TorchScript archives to mp IR\n");
  if (serveSeconds)
    return torchscript::serve(serveSeconds);
  if (archive.empty()) {
    llvm::errs() << "no ARCHIVE\n";
    return 2;
  }
  torchscript::Request request{
      archive, method, {inputShapes.begin(), inputShapes.end()},
      output,  text,   places};
  int status = plan.empty() ? torchscript::importArchive(request)
                            : torchscript::instrumentArchive(request, plan);
  // LibTorch's own clean-up at exit takes 0.1 s and has nothing to save.
  llvm::errs().flush();
  std::_Exit(status);
}
