//===- OpSupport.h - Includes of the headers of op families -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPSUPPORT_H
#define MPOPT_DIALECT_OPSUPPORT_H

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#endif // MPOPT_DIALECT_OPSUPPORT_H
