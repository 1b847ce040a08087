//===- Keep.h - What to keep in FP32 ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPORT_KEEP_H
#define MPOPT_REPORT_KEEP_H

#include "mpopt/Report/Finding.h"

namespace mpopt {

/// An op to keep in FP32.
struct KeptOpRef {
  OpRef op;
  /// Fingerprints of the findings that it is kept for.
  std::vector<std::string> why;
  /// Why, as a user reads it; may be empty.
  std::string reason = {};
  /// True if the importer made up the name: converters cannot find the op by
  /// it.
  bool unnamed = false;
  /// The model's names of its float results.
  std::vector<std::string> outputs = {};
};

} // namespace mpopt

#endif // MPOPT_REPORT_KEEP_H
