//===- Confirm.h - mpopt --confirm ------------------------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_CONFIRM_H
#define MPOPT_TOOLS_MPOPT_CONFIRM_H

#include "Options.h"

namespace mpopt {

/// Joins records with the ledger and writes what came of the predictions; the
/// exit status.
int confirm(const Options &options);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_CONFIRM_H
