//===- Provenance.h - Which module and line a node came from ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_PROVENANCE_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_PROVENANCE_H

#include "mpopt/Import/Aten/Graph.h"

#include "llvm/ADT/StringRef.h"

namespace mpopt::exported {

/// Reads a node's `stack_trace`: the frames of a Python traceback, the
/// outermost first.
void readStackTrace(llvm::StringRef trace, aten::Node &node);

/// The path of the innermost module in a node's `nn_module_stack`:
/// `KEY,PATH,CLASS;...`, the outermost first. A second call of one module has
/// `@1` behind its path.
std::string readModuleStack(llvm::StringRef stack);

} // namespace mpopt::exported

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_PROVENANCE_H
