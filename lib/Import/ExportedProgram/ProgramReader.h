//===- ProgramReader.h - A saved program to a graph of aten -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_PROGRAMREADER_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_PROGRAMREADER_H

#include "Document.h"
#include "GraphReader.h"
#include "Payload.h"

namespace mpopt::exported {

struct Program {
  aten::Graph graph;
  /// The symbols in the shapes of inputs.
  std::vector<std::string> dimNames;
};

/// Reads `models/NAME.json`. `dims`: sizes of symbols, which must be in the
/// range that the program was exported for.
Program readProgram(const Document &document, const Payload &payload,
                    const std::map<std::string, int64_t> &dims, Damage &damage);

} // namespace mpopt::exported

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_PROGRAMREADER_H
