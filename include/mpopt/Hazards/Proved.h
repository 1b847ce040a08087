//===- Proved.h - What no range rule says anything about --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_HAZARDS_PROVED_H
#define MPOPT_HAZARDS_PROVED_H

#include "mpopt/Hazards/FindingList.h"

#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

namespace mpopt {

/// Float tensors that the model's ops compute, and how many of them are proved:
/// their bound, before it is rounded, stays in their dtype, no rule of the
/// range family reported them at any certainty, and they are not all flushed to
/// 0.
struct Proved {
  unsigned tensors = 0, proved = 0;
};

Proved countProved(mlir::ModuleOp module, const RangeAnalysis &ranges,
                   const FindingList &findings);

} // namespace mpopt

#endif // MPOPT_HAZARDS_PROVED_H
