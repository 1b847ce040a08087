//===- HelperProcess.h - Runs mpopt-import-torchscript ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LibTorch takes 0.4 s and 430 MB to load, and its loader trusts what it reads.
// A helper that crashes or hangs costs one error here.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_TORCHSCRIPT_HELPERPROCESS_H
#define MPOPT_LIB_IMPORT_TORCHSCRIPT_HELPERPROCESS_H

#include "mpopt/Import/ErrorSink.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace mpopt::torchscript {

/// A file that is gone when this is.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef suffix);
  ~TemporaryFile();
  llvm::SmallString<128> path; ///< empty if there is none

  bool write(llvm::StringRef bytes) const;
};

/// True if this build has a helper.
bool hasHelper();

/// Runs the helper on `archive`; it writes its result to a file that is given
/// back. Null after an error, which is then in `result`.
std::unique_ptr<llvm::MemoryBuffer>
runHelper(std::vector<std::string> arguments, llvm::StringRef archive,
          ErrorSink &sink, ImportResult &result);

} // namespace mpopt::torchscript

#endif // MPOPT_LIB_IMPORT_TORCHSCRIPT_HELPERPROCESS_H
