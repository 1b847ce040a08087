//===- Check.h - mpopt --check
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_CHECK_H
#define MPOPT_TOOLS_MPOPT_CHECK_H

namespace mpopt {

struct Options;

enum ExitStatus { kClean = 0, kFindings = 1, kFault = 2 };

/// Judges every model and writes the report; the exit status.
int check(const Options &options);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_CHECK_H
