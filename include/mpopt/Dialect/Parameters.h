//===- Parameters.h - The constants that a model learns ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_PARAMETERS_H
#define MPOPT_DIALECT_PARAMETERS_H

#include "mlir/IR/Value.h"

namespace mpopt {

/// True for a float constant that some op may learn, and that the model neither
/// writes as a literal in its graph nor keeps as a buffer. Casts that a
/// precision puts before its ops hide it: ask before that.
bool isParameter(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_DIALECT_PARAMETERS_H
