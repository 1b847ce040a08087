//===- ExportedProgram.cpp - .pt2 archives to mp IR -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExportedProgram.h"

#include "Archive.h"
#include "ProgramReader.h"

#include "mpopt/Import/Aten/AtenImport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::exported;

void mpopt::importExportedProgram(StringRef bytes, StringRef path,
                                  const ImportOptions &options,
                                  MLIRContext &context, ErrorSink &sink,
                                  ImportResult &result) {
  auto refuse = [&](llvm::Error error) {
    sink.error(ImportCode::UnsafeArchive, "",
               "the archive " + llvm::toString(std::move(error)));
  };
  llvm::Expected<Archive> archive = Archive::open(bytes);
  if (!archive)
    return refuse(archive.takeError());
  Damage damage;
  Program program;
  {
    llvm::Expected<Document> document = archive->readDocument();
    if (!document)
      return refuse(document.takeError());
    Payload payload(*archive, /*isMapped=*/!path.empty(), damage);
    if (!damage.isThere())
      program = readProgram(*document, payload, options.dims, damage);
  }
  if (damage.isThere())
    return sink.error(damage.code(), damage.node(), damage.text());
  result.dimNames = program.dimNames;
  aten::importGraph(program.graph, path, options, context, sink, result);
}
