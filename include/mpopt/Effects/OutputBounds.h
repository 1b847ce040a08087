//===- OutputBounds.h - What outputs cannot be off by -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_EFFECTS_OUTPUTBOUNDS_H
#define MPOPT_EFFECTS_OUTPUTBOUNDS_H

#include "mpopt/Effects/OutputEffects.h"

namespace mpopt {

/// Gives each output the sound bounds of its error that there are, past which
/// nothing is expected then.
void boundErrors(mlir::ModuleOp module, const RangeAnalysis &ranges,
                 OutputEffects &effects);

} // namespace mpopt

#endif // MPOPT_EFFECTS_OUTPUTBOUNDS_H
