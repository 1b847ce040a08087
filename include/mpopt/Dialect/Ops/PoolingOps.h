//===- PoolingOps.h - See PoolingOps.td -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_POOLINGOPS_H
#define MPOPT_DIALECT_OPS_POOLINGOPS_H

#include "mpopt/Dialect/OpSupport.h"

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/PoolingOps.h.inc"

#endif // MPOPT_DIALECT_OPS_POOLINGOPS_H
