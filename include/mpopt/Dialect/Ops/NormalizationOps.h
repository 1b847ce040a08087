//===- NormalizationOps.h - See NormalizationOps.td -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_NORMALIZATIONOPS_H
#define MPOPT_DIALECT_OPS_NORMALIZATIONOPS_H

#include "mpopt/Dialect/OpSupport.h"

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/NormalizationOps.h.inc"

#endif // MPOPT_DIALECT_OPS_NORMALIZATIONOPS_H
