//===- Probabilities.h - Softmaxes of several ops --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A softmax that is written out, and logarithms of one.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_RELATIONS_PROBABILITIES_H
#define MPOPT_LIB_RANGES_RELATIONS_PROBABILITIES_H

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Ranges/Relations/RelationSupport.h"

namespace mpopt::relations {

struct RowScale;

/// e^x / sum(e^x) is a softmax of x, whose estimate knows that the terms of a
/// sum are those that it divides. An x in front of which the row's maximum is
/// taken off has the same.
void expectProbabilities(mlir::Value dividend, const RowScale &scale,
                         AbstractValue &value, TransferContext &ctx);

/// log(softmax(x)), where nothing next to 0 flushes, is expected to be as large
/// as the op that computes both.
void expectLogSoftmax(mp::LogOp op, AbstractValue &value, TransferContext &ctx);

/// z - log(sum(exp(z))): the sum is at least its largest term.
void refineLogSoftmax(mp::SubOp op, mlir::Operation *log, AbstractValue &value,
                      TransferContext &ctx);

} // namespace mpopt::relations

#endif // MPOPT_LIB_RANGES_RELATIONS_PROBABILITIES_H
