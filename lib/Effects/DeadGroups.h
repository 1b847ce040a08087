//===- DeadGroups.h - Groups of zeros by rectifiers -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_EFFECTS_DEADGROUPS_H
#define MPOPT_LIB_EFFECTS_DEADGROUPS_H

#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Gradients/GradientAnalysis.h"

namespace mpopt {

class RangeAnalysis;

/// The expected share of groups with one scale that a rectifier makes all
/// zeros, or the border of an image: blocks of what a filter reads, and groups
/// along samples and positions, of channels and of their gradients. 0 for other
/// operands.
double shareOfDeadGroups(const ScaledOperand &operand, bool alongPositions,
                         const GradientAnalysis &gradients,
                         const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_DEADGROUPS_H
