//===- DescribeMemory.h - Bytes of a training step --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_DESCRIBEMEMORY_H
#define MPOPT_LIB_DRIVER_DESCRIBEMEMORY_H

#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Report/MemoryReport.h"
#include "mpopt/Train/TrainConfig.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpopt {

/// The bytes of a function that has its backward graph, which reads `reads` of
/// the forward pass and gives gradients of `parameters`.
MemoryReport describeMemory(mlir::func::FuncOp function,
                            llvm::ArrayRef<OpReads> reads,
                            llvm::ArrayRef<std::string> parameters,
                            const TrainConfig &config);

/// The reads of the gradients of a model that holds them already: every forward
/// value that an op of the backward graph has as an operand.
std::vector<OpReads> findOwnReads(mlir::func::FuncOp function);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_DESCRIBEMEMORY_H
