//===- Relations.h - What related operands say of a result ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transfer function takes its operands as independent. Where they are
// computed from the same value the result is often far narrower: x - max(x) is
// no more than 0, x / sqrt(mean(x^2) + eps) no more than sqrt(n). These are
// facts about the few ops above, whatever composite they were written for, so a
// decomposed normalisation needs no recognition as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_RELATIONS_RELATIONS_H
#define MPOPT_RANGES_RELATIONS_RELATIONS_H

#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt {

/// Narrows `value`, the result of the op that defines `result` before rounding.
void refineByRelations(mlir::Value result, AbstractValue &value,
                       TransferContext &ctx);

} // namespace mpopt

#endif // MPOPT_RANGES_RELATIONS_RELATIONS_H
