//===- OutputBounds.h - What outputs cannot be off by -----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EFFECTS_OUTPUTBOUNDS_H
#define MPOPT_EFFECTS_OUTPUTBOUNDS_H

#include "mpopt/Effects/OutputEffects.h"
#include "mpopt/Report/Effect.h"

#include <vector>

namespace mpopt {

/// Gives each report of an output the sound bounds of its error that there are.
/// `reports` are those of `effects`, in their order.
void addBounds(mlir::ModuleOp module, const OutputEffects &effects,
               const RangeAnalysis &ranges, std::vector<EffectReport> &reports);

} // namespace mpopt

#endif // MPOPT_EFFECTS_OUTPUTBOUNDS_H
