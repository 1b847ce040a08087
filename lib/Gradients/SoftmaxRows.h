//===- SoftmaxRows.h - Moments of rows of probabilities ---------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRADIENTS_SOFTMAXROWS_H
#define MPOPT_LIB_GRADIENTS_SOFTMAXROWS_H

#include "mpopt/Gradients/SpreadContext.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace mpopt {

/// The expected sum of squares of a row of `count` probabilities whose logits
/// have that variance.
double collisionsOf(double count, double variance);

/// An element of a row of `count` probabilities, of which rows have the first
/// `lengths` (at least one row, none of length 0); different positions are
/// different rows.
Moments probabilitiesOf(llvm::ArrayRef<double> lengths, double count,
                        double variance);

/// The second moment of y (g - sum y g), where y has those moments, in rows of
/// `count`, and g varies by `own` within a row.
double logitSquare(const Moments &y, double count, double own);

/// Elements of each row of a constant mask for which `isLive`; nothing for
/// another value.
std::vector<double> countLive(SpreadContext &ctx, mlir::Value mask,
                              int64_t count,
                              llvm::function_ref<bool(double)> isLive);

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_SOFTMAXROWS_H
