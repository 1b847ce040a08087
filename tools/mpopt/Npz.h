//===- Npz.h - Ranges from NumPy archives
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_NPZ_H
#define MPOPT_TOOLS_MPOPT_NPZ_H

#include "mpopt/Report/Finding.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace mpopt {

/// What a file says about one input.
struct NpzRange {
  Interval bound;
  /// Of a sample; absent where the file gives bounds.
  std::optional<double> mean, std;
};

/// The arrays `lo` and `hi` of an .npz file, or a sample: the array `input`.
/// The error is one line.
llvm::Expected<NpzRange> readNpzRange(llvm::StringRef file,
                                      llvm::StringRef input);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_NPZ_H
