//===- GradientIsland.h - Gradients that are kept in FP32 -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPAIR_GRADIENTISLAND_H
#define MPOPT_REPAIR_GRADIENTISLAND_H

#include "mpopt/Hazards/FindingList.h"

namespace mpopt {

/// Adds a fix that keeps a value of the forward pass in FP32, and with it its
/// gradient: the ops around it compute in FP32 on the way forward and back. No
/// fix if all of them do so already.
void fixByIsland(FindingBuilder &finding, mlir::Value gradient);

} // namespace mpopt

#endif // MPOPT_REPAIR_GRADIENTISLAND_H
