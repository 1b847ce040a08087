//===- RegionTypes.h - Types inside the bodies of ops -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_INTERFACES_REGIONTYPES_H
#define MPOPT_DIALECT_INTERFACES_REGIONTYPES_H

#include "mlir/IR/OpDefinition.h"

#include "mpopt/Dialect/Interfaces/RegionTypes.h.inc"

#endif // MPOPT_DIALECT_INTERFACES_REGIONTYPES_H
