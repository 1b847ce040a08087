//===- ConversionPlanning.h - From casts to the plan of a file --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONVERSIONPLANNING_H
#define MPOPT_LIB_DRIVER_CONVERSIONPLANNING_H

#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Repair/CastPlan.h"
#include "mpopt/Repair/ConversionPlan.h"

namespace mpopt {

/// The ops of the plan as nodes of the file.
ConversionPlan planConversion(mlir::ModuleOp module, const CastPlan &plan,
                              llvm::ArrayRef<FindingList::Entry> entries);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONVERSIONPLANNING_H
