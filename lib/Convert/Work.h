//===- Work.h - Multiplications, and what casts move ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_WORK_H
#define MPOPT_LIB_CONVERT_WORK_H

#include "Graph.h"

#include "mpopt/Convert/Convert.h"

namespace mpopt::convert {

/// Fills in the multiplications of a decided model, bodies as often as they
/// run where that is known.
void countWork(Model &model, const ConvertRequest &request, Conversion &report);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_WORK_H
