//===- Names.h - Names of values and ops in reports -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_NAMES_H
#define MPOPT_DIALECT_NAMES_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

#include <string>

namespace mpopt {

/// `f16`, `bf16`, `f8E4M3FN`, `i64`, `string`, `unknown` ...
std::string getDtypeName(mlir::Type elementType);

/// The model's name of a value, with the path of the body it lies in, if that
/// is not the main graph: two branches may use one name. Empty if the model
/// does not have the value.
std::string getTensorPath(mlir::Value value);

/// The same, and for the result of a cast that a policy inserted the tensor
/// that was cast.
std::string getTensorName(mlir::Value value);

/// The op's node in the model; its mp name if it has none.
std::string getOpName(mlir::Operation *op);

/// The node's type in the model's words; the mp op if it comes from none.
std::string getOpType(mlir::Operation *op);

/// The name of a model's input; a made-up one (`arg0`) where the IR has none.
std::string getInputName(mlir::BlockArgument input);

} // namespace mpopt

#endif // MPOPT_DIALECT_NAMES_H
