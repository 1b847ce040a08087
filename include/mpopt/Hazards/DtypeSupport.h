//===- DtypeSupport.h - What the dtype rules share --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_HAZARDS_DTYPESUPPORT_H
#define MPOPT_HAZARDS_DTYPESUPPORT_H

#include "mpopt/Dialect/Match.h"
#include "mpopt/Hazards/FindingList.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"

#include <string>

namespace mpopt {

/// True for FP16 and BF16.
bool is16Bit(mlir::Type elementType);
/// True for FP32 and FP64.
bool isWide(mlir::Type elementType);

/// The 16-bit type in which `op` computes: the type of its float operands and
/// results if all have the same one, else null. Casts and ops that only move
/// elements compute nothing.
mlir::Type get16BitCompute(mlir::Operation *op);

/// True if the policy keeps ops of this kind in FP32.
bool isKeptWide(mlir::Operation *op);

/// The name of the policy, for messages.
std::string getPolicyName(mlir::Operation *op);

/// True if the policy in force is an autocast one.
bool isAutocast(mlir::Operation *module);

/// True if autocast governs `op`: as an autocast region of the model says, else
/// as the policy in force does.
bool isUnderAutocast(mlir::Operation *op);

/// PyTorch's name of an op of which it has no kernel in 16 bits: matrix
/// decompositions and what is made of them. Empty for others.
llvm::StringRef getMissingKernel(mlir::Operation *op);

/// Lets a run decide the finding by the tensors that the ops read
/// (`onOperands`) and compute (`onResults`), as stored in `type`.
void watchOps(FindingBuilder &finding, llvm::ArrayRef<mlir::Operation *> ops,
              mlir::Type type, Decision onOperands, Decision onResults);

} // namespace mpopt

#endif // MPOPT_HAZARDS_DTYPESUPPORT_H
