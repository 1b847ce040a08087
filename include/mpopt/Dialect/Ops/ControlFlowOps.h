//===- ControlFlowOps.h - See ControlFlowOps.td -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_CONTROLFLOWOPS_H
#define MPOPT_DIALECT_OPS_CONTROLFLOWOPS_H

#include "mpopt/Dialect/Interfaces/RegionTypes.h"
#include "mpopt/Dialect/OpSupport.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/ControlFlowOps.h.inc"

#endif // MPOPT_DIALECT_OPS_CONTROLFLOWOPS_H
