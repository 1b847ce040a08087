//===- SpreadModels.h - Registration of spread functions --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_GRADIENTS_SPREADMODELS_H
#define MPOPT_GRADIENTS_SPREADMODELS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mpopt {

/// On the gradient of a frozen batch norm where it is that of an error, a float
/// for each channel: by what errors that come by the norm's input are larger
/// than those of independent elements (AbstractValue::understated).
inline constexpr llvm::StringLiteral kGainAttr = "mp.gain";

/// On the gradient of a function where it is that of an error, a float: the
/// mean square of the argument's error. The slope is that between the argument
/// and the exact one.
inline constexpr llvm::StringLiteral kMovedAttr = "mp.moved";

/// On a product that is the gradient of a weight, an integer: the axis along
/// which its groups are kept where there are too many, as what is multiplied
/// with it differs along that axis.
inline constexpr llvm::StringLiteral kKeptAxisAttr = "mp.kept_axis";

/// The forward value at which an op, the gradient of a function of one number,
/// has its slope; null if it is none, or the value is not known.
mlir::Value getSlopeArgument(mlir::Operation *op);

/// Attaches SpreadOpInterface to every op for which lib/Gradients/Ops has a
/// function.
void registerSpreadModels(mlir::DialectRegistry &registry);

} // namespace mpopt

#endif // MPOPT_GRADIENTS_SPREADMODELS_H
