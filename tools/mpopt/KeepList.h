//===- KeepList.h - mpopt --keep-fp32
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_KEEPLIST_H
#define MPOPT_TOOLS_MPOPT_KEEPLIST_H

#include "mpopt/Report/Finding.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mpopt {

/// `mpopt-keep/1`: the ops of the findings that name `keep-fp32` among their
/// fixes, each once, with the fingerprints of these findings.
void writeKeepList(llvm::raw_ostream &os, llvm::ArrayRef<Finding> findings);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_KEEPLIST_H
