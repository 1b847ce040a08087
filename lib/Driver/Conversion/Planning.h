//===- Planning.h - From casts to the plan of a file ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONVERSION_PLANNING_H
#define MPOPT_LIB_DRIVER_CONVERSION_PLANNING_H

#include "mpopt/Convert/Convert.h"
#include "mpopt/Driver/Convert.h"
#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Repair/CastPlan.h"
#include "mpopt/Repair/ConversionPlan.h"

#include "mlir/IR/Builders.h"

namespace mpopt {

/// The ops of the plan as nodes of the file.
ConversionPlan planConversion(mlir::ModuleOp module, const CastPlan &plan,
                              llvm::ArrayRef<FindingList::Entry> entries);

/// Notes in the module which values one call gives to the next. The error is
/// one line.
llvm::Error carryStates(mlir::ModuleOp module,
                        llvm::ArrayRef<CarriedState> states);

/// `value` as stored in a type of 16 bits, where finite numbers stay finite.
mlir::Value storeIn(mlir::OpBuilder &builder, mlir::Value value,
                    mlir::Type type);

/// Gives the inputs of a result that are of 16 bits now the numbers of FP32,
/// and a cast that rounds them as a caller does.
void roundInputs(mlir::ModuleOp result, llvm::ArrayRef<ConvertedBorder> io);

/// The nodes that a policy keeps in FP32.
std::vector<WideNode> listByPolicy(mlir::ModuleOp module,
                                   llvm::StringRef policy);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONVERSION_PLANNING_H
