//===- PythonCommand.h - What the Python package answers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_PYTHONCOMMAND_H
#define MPOPT_LIB_DRIVER_PYTHONCOMMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mpopt {

/// The output of the `main` of a module of the package for these words; where
/// its exit status is kFault, or it cannot be run, the first line of its error.
/// The interpreter is that of runPythonCommand.
llvm::Expected<std::string> askPython(llvm::StringRef module,
                                      llvm::ArrayRef<std::string> words);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_PYTHONCOMMAND_H
