//===- Helper.cpp - TorchScript archives, read by another process --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Helper.h"

#include "../MlirReader.h"
#include "HelperProcess.h"

#include "mpopt/Import/TorchScript/ProbeInsertion.h"

using namespace mlir;
using namespace mpopt;

void mpopt::importTorchScript(StringRef bytes, StringRef path,
                              const ImportOptions &options,
                              MLIRContext &context, ErrorSink &sink,
                              ImportResult &result) {
  if (!torchscript::hasHelper()) {
    sink.error(ImportCode::NotAModel, "",
               "the file is a TorchScript archive, and this mpopt was built "
               "without PyTorch: install torch and build again, or export the "
               "model with torch.onnx.export");
    return;
  }
  // Weights refer to the archive, so a stream becomes a file until the end.
  static std::vector<std::unique_ptr<torchscript::TemporaryFile>> kept;
  std::string archive = path.str();
  if (archive.empty()) {
    kept.push_back(std::make_unique<torchscript::TemporaryFile>("pt"));
    archive = kept.back()->path.str().str();
    if (!kept.back()->write(bytes)) {
      sink.error(ImportCode::Unreadable, "", "cannot write a temporary file");
      return;
    }
  }
  std::vector<std::string> arguments;
  if (!options.method.empty())
    arguments.insert(arguments.end(), {"--method", options.method});
  for (const InputShape &shape : options.inputShapes)
    arguments.insert(arguments.end(),
                     {"--input-shape", printInputShape(shape)});
  if (options.wantPlaces)
    arguments.push_back("--places");
  std::unique_ptr<llvm::MemoryBuffer> bytecode =
      torchscript::runHelper(std::move(arguments), archive, sink, result);
  if (!bytecode)
    return;
  result.format = ModelFormat::MlirBytecode;
  importMlir(bytecode->getBuffer(), path, {}, context, sink, result);
  result.format = ModelFormat::TorchScript;
  if (result.module)
    torchscript::restoreResult(result);
}

llvm::Expected<torchscript::NewRecords>
mpopt::torchscript::insertProbes(StringRef archive, StringRef method,
                                 ArrayRef<PlacedProbe> probes,
                                 StringRef ledgerHash) {
  auto fail = [](const Twine &text) {
    return llvm::createStringError(text.str());
  };
  TemporaryFile plan("json");
  if (!plan.write(printPlan(probes, ledgerHash)))
    return fail("cannot write a temporary file");
  std::vector<std::string> arguments = {"--instrument", plan.path.str().str()};
  if (!method.empty())
    arguments.insert(arguments.end(), {"--method", method.str()});
  ImportResult result;
  ErrorSink sink(result);
  std::unique_ptr<llvm::MemoryBuffer> made =
      runHelper(std::move(arguments), archive, sink, result);
  if (!made)
    return fail(result.errors.front().str());
  return parseRecords(made->getBuffer());
}
