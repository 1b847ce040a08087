//===- OperandScales.h - Static scales of operands --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scale of each operand of a product: that of the least expected error, of
// the inputs as declared and of inputs that are larger. Headroom costs nothing
// where the elements span less than the format, and flushes where they span
// more. A scale for which the bound of the operand, in the model as it runs
// with rounded operands, is within the format is proved: nothing saturates.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EFFECTS_OPERANDSCALES_H
#define MPOPT_EFFECTS_OPERANDSCALES_H

#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Report/ProductReport.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// `precision` has scales that are settled before the model runs.
std::vector<TensorScale> chooseScales(mlir::ModuleOp module,
                                      const RangeAnalysis &ranges,
                                      const ScaleRequest &request);

} // namespace mpopt

#endif // MPOPT_EFFECTS_OPERANDSCALES_H
