//===- SequenceOps.h - See SequenceOps.td -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_SEQUENCEOPS_H
#define MPOPT_DIALECT_OPS_SEQUENCEOPS_H

#include "mpopt/Dialect/Interfaces/RegionTypes.h"
#include "mpopt/Dialect/OpSupport.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/SequenceOps.h.inc"

#endif // MPOPT_DIALECT_OPS_SEQUENCEOPS_H
