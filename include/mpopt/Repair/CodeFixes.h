//===- CodeFixes.h - Fixes of quantised tensors, tried ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPAIR_CODEFIXES_H
#define MPOPT_REPAIR_CODEFIXES_H

#include "mpopt/Effects/OutputEffects.h"

namespace mpopt {

/// Tries fixes of the findings above a note about codes, each alone: another
/// scale, more bits, a scale by channel, weights of 7 bits, and leaving the op
/// in floats. Those that help are added to their finding with the error that
/// its output has then, the smallest first. `now` are the effects of the module
/// as it is.
void tryCodeFixes(mlir::ModuleOp module, mlir::AnalysisManager analyses,
                  const OutputEffects &now,
                  std::vector<FindingList::Entry> &entries);

} // namespace mpopt

#endif // MPOPT_REPAIR_CODEFIXES_H
