//===- NormalizationOps.td - Normalisations ----------------*- tablegen -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_OPS_NORMALIZATIONOPS_TD
#define MPOPT_DIALECT_OPS_NORMALIZATIONOPS_TD

include "mpopt/Dialect/MPDialect.td"

#endif // MPOPT_DIALECT_OPS_NORMALIZATIONOPS_TD
