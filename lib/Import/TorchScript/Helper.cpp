//===- Helper.cpp - TorchScript archives, read by another process ---------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LibTorch takes 0.4 s and 430 MB to load, and its loader trusts what it reads.
// A helper that crashes or hangs costs one error here.
//
//===----------------------------------------------------------------------===//

#include "Helper.h"

#include "../MlirReader.h"

#include "mpopt/Import/TorchScript/HelperProtocol.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mpopt;

static constexpr StringLiteral kHelper = "mpopt-import-torchscript";
/// Loading takes half a second, and a second for a GiB of weights.
static constexpr unsigned kSecondsToWait = 120;

/// Empty if this build has none.
static std::string findHelper() {
  static int anchor;
  SmallString<128> path(
      llvm::sys::fs::getMainExecutable("mpopt", static_cast<void *>(&anchor)));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, kHelper);
  return llvm::sys::fs::can_execute(path) ? path.str().str() : std::string();
}

namespace {
/// A file that is gone when this is.
class TemporaryFile {
public:
  explicit TemporaryFile(StringRef suffix) {
    if (llvm::sys::fs::createTemporaryFile("mpopt", suffix, path))
      path.clear();
  }
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
  SmallString<128> path;
};
} // namespace

static void reportFailure(StringRef messages, int status, StringRef how,
                          ErrorSink &sink, ImportResult &result) {
  SmallVector<StringRef> lines;
  messages.split(lines, '\n', -1, /*KeepEmpty=*/false);
  bool reported = false;
  for (StringRef line : lines)
    if (std::optional<ImportError> error = torchscript::parseError(line)) {
      result.errors.push_back(std::move(*error));
      reported = true;
    }
  if (reported)
    return;
  // -2: killed by a signal or by the time limit; `how` says which.
  if (status < 0)
    sink.error(ImportCode::HelperFailed, "",
               "the TorchScript reader did not survive this archive" +
                   (how.empty() ? Twine() : " (" + how + ")"));
  else
    sink.error(
        ImportCode::HelperFailed, "",
        "the TorchScript reader failed: " +
            (lines.empty() ? StringRef("it said nothing") : lines.back()));
}

void mpopt::importTorchScript(StringRef bytes, StringRef path,
                              const ImportOptions &options,
                              MLIRContext &context, ErrorSink &sink,
                              ImportResult &result) {
  std::string helper = findHelper();
  if (helper.empty()) {
    sink.error(ImportCode::NotAModel, "",
               "the file is a TorchScript archive, and this mpopt was built "
               "without PyTorch: install torch and build again, or export the "
               "model with torch.onnx.export");
    return;
  }
  // Weights refer to the archive, so a stream becomes a file until the end.
  static std::vector<std::unique_ptr<TemporaryFile>> kept;
  std::string archive = path.str();
  if (archive.empty()) {
    kept.push_back(std::make_unique<TemporaryFile>("pt"));
    archive = kept.back()->path.str().str();
    std::error_code code;
    llvm::raw_fd_ostream os(archive, code);
    os << bytes;
    os.close();
    if (archive.empty() || code || os.has_error()) {
      os.clear_error();
      sink.error(ImportCode::Unreadable, "", "cannot write a temporary file");
      return;
    }
  }
  TemporaryFile output("mlirbc"), messages("log");
  std::vector<std::string> arguments = {helper, "-o", output.path.str().str()};
  if (!options.method.empty())
    arguments.insert(arguments.end(), {"--method", options.method});
  for (const InputShape &shape : options.inputShapes)
    arguments.insert(arguments.end(),
                     {"--input-shape", printInputShape(shape)});
  arguments.insert(arguments.end(), {"--", archive});
  SmallVector<StringRef> line(arguments.begin(), arguments.end());
  std::string how;
  int status = llvm::sys::ExecuteAndWait(
      helper, line, std::nullopt,
      {StringRef(""), StringRef(""), messages.path.str()}, kSecondsToWait,
      /*MemoryLimit=*/0, &how);
  if (status != 0) {
    auto said = llvm::MemoryBuffer::getFile(messages.path);
    reportFailure(said ? (*said)->getBuffer() : StringRef(), status, how, sink,
                  result);
    return;
  }
  auto bytecode = llvm::MemoryBuffer::getFile(output.path);
  if (!bytecode) {
    sink.error(ImportCode::HelperFailed, "",
               "the TorchScript reader left no result");
    return;
  }
  result.format = ModelFormat::MlirBytecode;
  importMlir((*bytecode)->getBuffer(), path, {}, context, sink, result);
  result.format = ModelFormat::TorchScript;
  if (result.module)
    torchscript::restoreResult(result);
}
