//===- SoftmaxRows.h - Softmax of rows of an abstract value -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mathematics that softmax ops share, without an op. Shapes are those of
// the tensor; the result has the groups of the operand.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_SOFTMAXROWS_H
#define MPOPT_RANGES_VALUE_SOFTMAXROWS_H

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/AbstractValue.h"

namespace mpopt::cells {

/// The relative error of a computed row sum, and half of that of an element, of
/// a row of `count` logits no two of which differ by more than `width`.
double softmaxError(double count, double width, const FloatFormat &functions,
                    const FloatFormat &sums);

/// Exponentials below it may be computed as 0.
double softmaxFlushLimit(const FloatFormat &functions);

/// The softmax of rows along `axes`, or its logarithm. `rowsHaveFinite`: no row
/// is -Inf throughout (which gives NaN). Without a shape the rows' length is
/// unknown. Exponentials are computed in `functions` and added up in `sums`.
AbstractValue softmaxOf(const MaybeShape &shape, const AbstractValue &x,
                        llvm::ArrayRef<int64_t> axes, bool logarithm,
                        bool rowsHaveFinite, const FloatFormat &functions,
                        const FloatFormat &sums);

} // namespace mpopt::cells

#endif // MPOPT_RANGES_VALUE_SOFTMAXROWS_H
