//===- AttentionOps.h - See AttentionOps.td ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_ATTENTIONOPS_H
#define MPOPT_DIALECT_OPS_ATTENTIONOPS_H

#include "mpopt/Dialect/OpSupport.h"

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/AttentionOps.h.inc"

namespace mpopt {
/// On mp.attention (unit): a query all of whose scores are -Inf gives zeros, as
/// PyTorch's scaled_dot_product_attention does, rather than NaN.
inline constexpr llvm::StringLiteral kMaskedZeroAttr = "mp.masked_zero";
} // namespace mpopt

#endif // MPOPT_DIALECT_OPS_ATTENTIONOPS_H
