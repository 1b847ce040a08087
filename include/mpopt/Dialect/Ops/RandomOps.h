//===- RandomOps.h - See RandomOps.td ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_RANDOMOPS_H
#define MPOPT_DIALECT_OPS_RANDOMOPS_H

#include "mpopt/Dialect/OpSupport.h"

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/RandomOps.h.inc"

#endif // MPOPT_DIALECT_OPS_RANDOMOPS_H
