//===- Origin.h - The model's node behind an op -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers and the maker of the locations described in MPDialect.td.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_ORIGIN_H
#define MPOPT_DIALECT_ORIGIN_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpopt {

/// A location for an op made from `node` of type `type` inside `scope`.
/// `values` names its results, in order; `source` may be a file location.
mlir::Location makeOrigin(mlir::MLIRContext *context, llvm::StringRef node,
                          llvm::StringRef type, llvm::StringRef scope,
                          llvm::ArrayRef<llvm::StringRef> values,
                          mlir::Location source);

/// The same location with other value names (an op that a pass inserts next to
/// one of the model's has none).
mlir::Location withValues(mlir::Location location,
                          llvm::ArrayRef<llvm::StringRef> values);

/// The same location for an op whose results have their names in another body
/// than its own: the last ops of a function, whose caller names what it
/// returns.
mlir::Location withValueScope(mlir::Location location, llvm::StringRef scope);

/// The same location, but for where the op is in a source: at `source`.
mlir::Location withSource(mlir::Location location, mlir::Location source);

/// The path of the Python module that an exporter says the node comes from
/// (`encoder.layer.3.attention`), as a source location to be kept beside the
/// file location: names of values do not have it.
mlir::Location withModule(mlir::Location source, llvm::StringRef module);

/// The name and type of the op's node in the model, and the path of the body
/// that holds the op. Empty strings where the op has no origin.
llvm::StringRef getNodeName(mlir::Operation *op);
llvm::StringRef getNodeType(mlir::Operation *op);
llvm::StringRef getScope(mlir::Operation *op);

/// The path of the body in which the op's results have their names.
llvm::StringRef getValueScope(mlir::Operation *op);

/// The scope as reports name it: the path of the body, then of the Python
/// module.
std::string getScopeText(mlir::Operation *op);

/// The model's name of a value; empty if the model does not have it. Block
/// arguments of a function take theirs from the argument attribute `mp.name`,
/// those of a region from the attribute `mp.arg_names` of the op that holds it.
llvm::StringRef getValueName(mlir::Value value);

/// The innermost file location; null if there is none.
mlir::FileLineColLoc getSourceLine(mlir::Location location);

} // namespace mpopt

#endif // MPOPT_DIALECT_ORIGIN_H
