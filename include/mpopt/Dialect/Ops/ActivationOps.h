//===- ActivationOps.h - See ActivationOps.td -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_ACTIVATIONOPS_H
#define MPOPT_DIALECT_OPS_ACTIVATIONOPS_H

#include "mpopt/Dialect/OpSupport.h"

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/ActivationOps.h.inc"

#endif // MPOPT_DIALECT_OPS_ACTIVATIONOPS_H
