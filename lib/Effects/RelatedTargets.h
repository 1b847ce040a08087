//===- RelatedTargets.h - Targets that a model has learnt -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Targets that are drawn without regard to the inputs give a trained model a
// loss that it does not have, and a gradient that it has descended. A model
// that has learnt its targets is calibrated, so that its gradient is zero on
// average over them: classes are drawn from the probabilities that it predicts,
// numbers are its predictions plus noise of the declared loss.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_RELATEDTARGETS_H
#define MPOPT_LIB_EFFECTS_RELATEDTARGETS_H

#include "mpopt/Evaluation/DrawnInputs.h"
#include "mpopt/Evaluation/Evaluation.h"

namespace mpopt {

/// Targets of an op of a loss that a calibrated model has; those that are
/// numbers make it `factor` times as large as it was. Nothing for other ops,
/// and where operands are not known.
std::optional<Array> relateTargets(mlir::Operation *op, double factor,
                                   Evaluation &evaluation,
                                   RandomNumbers &random);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_RELATEDTARGETS_H
