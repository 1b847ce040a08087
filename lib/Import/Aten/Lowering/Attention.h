//===- Attention.h - mp.attention in its plain form -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ATEN_LOWERING_ATTENTION_H
#define MPOPT_LIB_IMPORT_ATEN_LOWERING_ATTENTION_H

#include "mpopt/Import/Aten/Lowering.h"

namespace mpopt::aten {

/// Without past, window or softcap. `heads` as in mp.attention (0: by rank),
/// `scale` 0 for 1 / sqrt(D); the mask may be null. `maskedZero`: a query that
/// sees no key gives 0 rather than NaN.
mlir::Value makeAttention(NodeContext &context, mlir::Value query,
                          mlir::Value key, mlir::Value value, mlir::Value mask,
                          int64_t heads, double scale, bool causal,
                          bool maskedZero = false);

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_LOWERING_ATTENTION_H
