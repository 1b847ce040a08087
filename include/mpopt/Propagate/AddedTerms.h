//===- AddedTerms.h - How many terms an op adds, and where ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PROPAGATE_ADDEDTERMS_H
#define MPOPT_PROPAGATE_ADDEDTERMS_H

#include "mpopt/Numerics/Target.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace mpopt {

/// The terms of a sum, and how they are added.
struct AddedTerms {
  /// Number of terms of one sum.
  int64_t count;
  /// Format of the running sum.
  const FloatFormat *format;
  /// The tensor whose elements are added; null where the terms are products.
  mlir::Value summed = {};
  /// The terms are |x|, x^2 or e^x of `summed`: none is negative.
  bool nonNegative = false;
};

/// The products that one element of the result of a matrix product, convolution
/// or attention adds up. Nothing for other ops, and where a length is unknown.
std::optional<int64_t> countProducts(mlir::Operation *op);

/// The terms of a matrix product, of a convolution, or of the row sums inside a
/// softmax or normalisation. Nothing for other ops, and where a length is
/// unknown.
std::optional<AddedTerms> getInnerTerms(mlir::Operation *op,
                                        const TargetProfile &target);

/// The terms of a sum that the model writes: a reduction, a running sum, an
/// average pool, or an addition to a value that a loop carries (which is
/// stored, and so rounded to its dtype, in each iteration). Nothing as above.
std::optional<AddedTerms> getWrittenTerms(mlir::Operation *op,
                                          const TargetProfile &target);

/// True if the format has fewer digits than FP32, or if its sums overflow where
/// those of FP16 do.
inline bool isNarrow(const FloatFormat &format) {
  return format.digits < FloatFormat::f32().digits ||
         format.overflowFrom <= FloatFormat::f16().overflowFrom;
}

} // namespace mpopt

#endif // MPOPT_PROPAGATE_ADDEDTERMS_H
