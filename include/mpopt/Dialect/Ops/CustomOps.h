//===- CustomOps.h - See CustomOps.td ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_CUSTOMOPS_H
#define MPOPT_DIALECT_OPS_CUSTOMOPS_H

#include "mpopt/Dialect/OpSupport.h"

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/CustomOps.h.inc"

#endif // MPOPT_DIALECT_OPS_CUSTOMOPS_H
