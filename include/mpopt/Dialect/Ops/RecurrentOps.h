//===- RecurrentOps.h - See RecurrentOps.td ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_RECURRENTOPS_H
#define MPOPT_DIALECT_OPS_RECURRENTOPS_H

#include "mpopt/Dialect/OpSupport.h"

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/RecurrentOps.h.inc"

#endif // MPOPT_DIALECT_OPS_RECURRENTOPS_H
