//===- Interfaces.h - Interfaces of all mp ops ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_INTERFACES_INTERFACES_H
#define MPOPT_DIALECT_INTERFACES_INTERFACES_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Support/Framework.h"

#include "mlir/IR/OpDefinition.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h.inc"

#endif // MPOPT_DIALECT_INTERFACES_INTERFACES_H
