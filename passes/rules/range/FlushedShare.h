//===- FlushedShare.h - How much of a tensor becomes zero -------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_RULES_RANGE_FLUSHEDSHARE_H
#define MPOPT_PASSES_RULES_RANGE_FLUSHEDSHARE_H

#include "passes/rules/range/RangeSupport.h"

namespace mpopt {

/// Expected share of the non-zero values of `value` that its dtype rounds to
/// zero; nothing where no value is expected to, or nothing is known.
std::optional<double> flushedShare(mlir::Value value,
                                   const RangeAnalysis &ranges);

/// Certain where the bounds leave nothing else.
Certainty certaintyOfFlush(mlir::Value value, const RangeAnalysis &ranges);

/// "about 80 % of the non-zero values are below 2.98e-08 and become 0 in f16".
std::string describeFlush(double share, mlir::Value value);

} // namespace mpopt

#endif // MPOPT_PASSES_RULES_RANGE_FLUSHEDSHARE_H
