//===- FunctionOfWhole.h - Choices by functions of whole numbers -*- C++ -*-==//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions and buckets are computed from whole numbers by floats. There are
// few of them, which are evaluated one by one, exactly and as each step is
// stored.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_FUNCTIONOFWHOLE_H
#define MPOPT_RANGES_VALUE_FUNCTIONOFWHOLE_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace mpopt {
class TransferContext;

/// The share of the whole numbers of which a function, cut off behind the
/// point, changes as its steps are stored, among those that a selection by the
/// same numbers leaves of the results `integers`. Nothing if it is none of
/// whole numbers, or of too many.
std::optional<double> shareOfFunction(mlir::Value value, mlir::Value integers,
                                      TransferContext &ctx);

/// The same of comparisons with numbers that the file holds: buckets of
/// positions, whose edges a factor next to 1 decides.
std::optional<double> shareOfCompared(mlir::Operation *op,
                                      TransferContext &ctx);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_FUNCTIONOFWHOLE_H
