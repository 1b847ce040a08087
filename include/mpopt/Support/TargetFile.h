//===- TargetFile.h - Target profiles, built in or in a file ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The built-in ones are lib/Support/targets/*.json; a user's file has that
// form.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_TARGETFILE_H
#define MPOPT_SUPPORT_TARGETFILE_H

#include "mpopt/Numerics/Target.h"

#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace mpopt {

/// `gpu-tensorcore`, the default, first.
std::vector<std::string> getTargetNames();

/// A built-in profile, or the one in a JSON file. The error is one line.
llvm::Expected<std::shared_ptr<const TargetProfile>>
findTarget(llvm::StringRef nameOrFile);

/// The name of the format that stands in for one of that name on a target; the
/// name itself where none does, and where there is no such target.
std::string findFloats(llvm::StringRef nameOrFile, llvm::StringRef format);

/// The codes and zero points that a runtime takes.
struct CodeLimits {
  /// The types of codes, as `s8` or `f8E4M3FN`; empty: all.
  std::vector<std::string> types;
  /// Zero points other than 0.
  bool zeroPoints = true;
};

/// No limits where there is no such target.
CodeLimits findCodeLimits(llvm::StringRef nameOrFile);

/// The name of the precision of that name in the formats of a target.
std::string precisionOn(llvm::StringRef nameOrFile, llvm::StringRef precision);

/// The built-in targets by their arithmetic of codes, those with the same
/// together.
std::vector<std::vector<std::string>> groupByCodes(bool byLimits = false);

/// `gpu-tensorcore`.
std::shared_ptr<const TargetProfile> getStandardTarget();

} // namespace mpopt

#endif // MPOPT_SUPPORT_TARGETFILE_H
