//===- Zeros.h - How sure it is that a value is stored as zero --*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_ZEROS_H
#define MPOPT_HAZARDS_ZEROS_H

#include "mpopt/Hazards/RangeSupport.h"

namespace mpopt {

/// How sure it is that some element of `value`, as stored, is 0. A range that
/// contains 0 makes it possible; likely takes more, since a continuous value
/// does not meet a single number: an op that makes exact zeros, or a flush.
std::optional<Certainty> mayBeZero(mlir::Value value,
                                   const RangeAnalysis &ranges);

/// True if 0 is reached by rounding to the dtype only.
bool isZeroByRounding(mlir::Value value, const RangeAnalysis &ranges);

/// True if nothing is known of the value: what may follow is not said.
bool isUnknown(mlir::Value value, const RangeAnalysis &ranges);

/// "0 for every input", "likely 0", "may be 0".
std::string describeZero(mlir::Value value, Certainty certainty,
                         const RangeAnalysis &ranges);

/// A run decides the finding by zeros of `value`, and of what is zero wherever
/// it is: the sum below a root may flush to zero where the root itself, as a
/// wider dtype has it, does not.
void watchZeros(FindingBuilder &finding, mlir::Value value,
                llvm::StringRef part);

} // namespace mpopt

#endif // MPOPT_HAZARDS_ZEROS_H
