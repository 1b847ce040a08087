//===- OperatorNorm.h - A Gram bound of the operator norm -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_OPERATORNORM_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_OPERATORNORM_H

#include "Reader.h"

#include "mpopt/Ranges/Weights/Kernels/Linear.h"

namespace mpopt::kernels {

/// True if the request's budget allows the Gram matrix.
bool isWithinGramBudget(const LinearRequest &request);

/// Lowers each of `norms` to what the Gram matrix' powers prove, within the
/// request's budget.
void boundByGram(const LinearRequest &request, const WeightReader &reader,
                 std::vector<double> &norms);

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_OPERATORNORM_H
