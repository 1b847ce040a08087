//===- RangeSupport.h - What the range rules share --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_HAZARDS_RANGESUPPORT_H
#define MPOPT_HAZARDS_RANGESUPPORT_H

#include "mpopt/Dialect/Match.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Hazards/FindingList.h"

#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

namespace mpopt {

/// The largest magnitude that the bounds allow; 0 if no element is finite.
double boundMagnitude(const AbstractValue &value);

/// The largest magnitude that the estimate expects; nothing if there is no
/// estimate.
std::optional<double> likelyMagnitude(const AbstractValue &value);

/// Adds the bounds and the estimate of `value`, before rounding, to the
/// finding.
void addRange(FindingBuilder &finding, mlir::Value value,
              const RangeAnalysis &ranges);

/// Adds the ops from which the magnitude of `value` comes as causes: the
/// operand of the largest magnitude is followed back to the constant or input
/// where growth begins; of many steps the first, the last and the three largest
/// are named. Magnitudes are those of the estimate if `likely`, else of the
/// bounds.
void addGrowth(FindingBuilder &finding, mlir::Value value,
               const RangeAnalysis &ranges, bool likely);

/// True if the op runs whenever the model does: not in a branch or body.
bool runsAlways(mlir::Operation *op);

/// Adds the fix "keep `what` in f32" if `type` is a narrower float.
void fixByKeeping(FindingBuilder &finding, mlir::Type type,
                  const llvm::Twine &what);

} // namespace mpopt

#endif // MPOPT_HAZARDS_RANGESUPPORT_H
