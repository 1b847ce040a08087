//===- Instrument.cpp - Probes into a TorchScript archive -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Import.h"

#include "mpopt/Import/TorchScript/HelperProtocol.h"
#include "mpopt/Import/TorchScript/ProbeWriter.h"
#include "mpopt/Policy/Policy.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mpopt;

/// The built-in tables' answer; the run decides which device it is.
static llvm::Expected<torchscript::FindLists> findAutocastLists() {
  llvm::Expected<Policy> cpu = Policy::load("pytorch-cpu-2.14");
  if (!cpu)
    return cpu.takeError();
  llvm::Expected<Policy> cuda = Policy::load(Policy::kDefault);
  if (!cuda)
    return cuda.takeError();
  return
      [cpu = std::move(*cpu), cuda = std::move(*cuda)](const std::string &op) {
        auto isLower = [&](const Policy &policy) {
          return policy.lookup(llvm::StringRef(op)) == Category::Lower;
        };
        return torchscript::AutocastLists{isLower(cpu), isLower(cuda)};
      };
}

static torchscript::NewRecords instrument(const torchscript::Request &request,
                                          llvm::StringRef plan,
                                          ErrorSink &sink) {
  torchscript::NewRecords records;
  auto buffer = llvm::MemoryBuffer::getFile(plan);
  if (!buffer) {
    sink.error(ImportCode::Unreadable, "", buffer.getError().message());
    return records;
  }
  auto probes = torchscript::parsePlan((*buffer)->getBuffer());
  if (!probes) {
    sink.error(ImportCode::Unreadable, "", llvm::toString(probes.takeError()));
    return records;
  }
  std::optional<torchscript::ArchiveFacts> facts =
      torchscript::inspectFile(request.archive, sink);
  if (!facts)
    return records;
  llvm::Expected<torchscript::FindLists> lists = findAutocastLists();
  if (!lists) {
    sink.error(ImportCode::Unreadable, "", llvm::toString(lists.takeError()));
    return records;
  }
  std::string error;
  if (!torchscript::writeProbes(request.archive, request.method,
                                facts->attributes, probes->first,
                                probes->second, *lists, records, error))
    sink.error(ImportCode::Malformed, "", error);
  return records;
}

int torchscript::instrumentArchive(const Request &request,
                                   llvm::StringRef plan) {
  ImportResult result;
  ErrorSink sink(result);
  NewRecords records = instrument(request, plan, sink);
  for (const ImportError &error : result.errors)
    llvm::errs() << printError(error) << '\n';
  if (!result.errors.empty())
    return 2;
  std::error_code code;
  llvm::ToolOutputFile file(request.output, code, llvm::sys::fs::OF_None);
  if (code) {
    llvm::errs() << code.message() << '\n';
    return 2;
  }
  writeRecords(file.os(), records);
  file.keep();
  file.os().flush();
  return 0;
}
