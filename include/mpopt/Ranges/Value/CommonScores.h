//===- CommonScores.h - What the scores of a row share ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A score is s_ij = sum_c q_ic k_jc. With k_jc = m_c + d_jc, where m_c is the
// mean of the channel over all keys, the part sum_c q_ic m_c moves all scores
// of a row alike, which a softmax does not see. Its variance over rows is
// sum_c var(q_c) m_c^2.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_COMMONSCORES_H
#define MPOPT_RANGES_VALUE_COMMONSCORES_H

#include "mpopt/Ranges/Value/AbstractValue.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt {

using ValueOf = llvm::function_ref<const AbstractValue &(mlir::Value)>;

/// The variance of what all scores of a row along the last axis have in common,
/// on average over rows; 0 where none is known.
double commonVariance(mlir::Value scores, ValueOf of);

/// Takes it from the estimates of `x`, which are those of the scores.
void removeCommon(AbstractValue &x, mlir::Value scores, ValueOf of);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_COMMONSCORES_H
