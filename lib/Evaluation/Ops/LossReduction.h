//===- LossReduction.h - Reductions of losses -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_EVALUATION_OPS_LOSSREDUCTION_H
#define MPOPT_LIB_EVALUATION_OPS_LOSSREDUCTION_H

#include "mpopt/Evaluation/Array.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mpopt::evaluation {

/// The loss of elements whose weights add up to `total` under a mean.
std::optional<Array> reduceLoss(Array elements, llvm::StringRef reduction,
                                double total);

/// The gradient that arrives at each element; a loss that nothing follows has
/// 1.
std::optional<Array> expandGradient(const Array *grad, const Shape &shape,
                                    llvm::StringRef reduction, double total);

} // namespace mpopt::evaluation

#endif // MPOPT_LIB_EVALUATION_OPS_LOSSREDUCTION_H
