//===- Tensors.h - The analysis' results by tensor --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_TENSORS_H
#define MPOPT_INSTRUMENT_TENSORS_H

#include "mpopt/Instrument/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mpopt {

class RangeAnalysis;

/// The dtype of every tensor by its name, before a precision is applied.
llvm::StringMap<std::string> collectDtypes(mlir::ModuleOp module);

/// The names of all parameters, before a precision is applied.
llvm::StringSet<> collectParameters(mlir::ModuleOp module);

/// The tensor that each output of the model is, by the output's name.
llvm::StringMap<std::string> collectOutputs(mlir::ModuleOp module);

/// Every tensor of the module that the model has a name for, in program order;
/// of values that share a name the first.
std::vector<TensorFacts>
collectTensors(mlir::ModuleOp module, const RangeAnalysis &ranges,
               const llvm::StringMap<std::string> &fileDtypes,
               const llvm::StringSet<> &parameters = {});

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_TENSORS_H
