//===- ErrorSink.h - Errors and warnings of an import -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_IMPORT_ERRORSINK_H
#define MPOPT_IMPORT_ERRORSINK_H

#include "mpopt/Import/ImportResult.h"

#include "llvm/ADT/Twine.h"

namespace mpopt {

enum class ImportCode {
#define MPOPT_IMPORT_ERROR(Name, Code, Summary) Name,
#include "mpopt/Import/ImportErrors.def"
};

llvm::StringRef getCodeName(ImportCode code);

/// Errors of one import, all of them up to a limit, and warnings.
class ErrorSink {
public:
  /// Errors that are kept, as many as one reads; later ones are only counted.
  static constexpr size_t kMaxErrors = 20, kMaxWarnings = 200;

  explicit ErrorSink(ImportResult &result) : result(result) {}

  void error(ImportCode code, llvm::StringRef node, const llvm::Twine &reason);
  void warn(const llvm::Twine &text);
  bool hasErrors() const { return !result.errors.empty() || dropped; }

  /// A position in the lists of errors and warnings, for `rollBack`.
  struct Mark {
    size_t errors, warnings;
    uint64_t dropped;
  };
  Mark mark() const {
    return {result.errors.size(), result.warnings.size(), dropped};
  }
  void rollBack(Mark mark);

  /// Adds an error that says how many were dropped, if any were.
  void finish();

private:
  ImportResult &result;
  uint64_t dropped = 0;
};

} // namespace mpopt

#endif // MPOPT_IMPORT_ERRORSINK_H
