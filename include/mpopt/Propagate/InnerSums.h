//===- InnerSums.h - Errors of the sums that kernels add --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On a target that adds in 16 bits the sums inside of norms, softmaxes, means
// and products round, absorb small terms and overflow, although operands and
// results fit.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_INNERSUMS_H
#define MPOPT_PROPAGATE_INNERSUMS_H

#include "mpopt/Numerics/SumEstimate.h"
#include "mpopt/Propagate/AddedTerms.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

namespace mpopt {

/// True if the terms are whole numbers whose sum the format of the running sum
/// holds: nothing is rounded.
bool isSumExact(mlir::Operation *op, const AddedTerms &terms,
                const RangeAnalysis &ranges);

/// A sum that a kernel adds in a narrow format.
struct InnerSum {
  enum class Form { Terms, Squares, Exponentials };

  AddedTerms terms;
  Form form = Form::Terms;
  /// The error of the sum, and that of the result by it: relative, -1 where a
  /// quotient by Inf is 0.
  SumError error, ofResult;
  /// True if an overflow makes the result 0, and not Inf.
  bool isDivisor = false;
};

/// The sum inside of `op`; nothing if it is added in FP32 or nothing is
/// expected of its terms.
std::optional<InnerSum> findInnerSum(mlir::Operation *op,
                                     const RangeAnalysis &ranges);

/// True if bounds exclude that a number inside of `op` overflows where its
/// kernel computes in a narrow format, or it does not.
bool isInnerSumBounded(mlir::Operation *op, const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_INNERSUMS_H
