//===- CodedConstants.h - Numbers of constants in codes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CODEDCONSTANTS_H
#define MPOPT_LIB_DRIVER_CODEDCONSTANTS_H

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <optional>
#include <vector>

namespace mpopt {

/// The numbers for which constant codes stand, row-major.
struct CodedConstant {
  mlir::Operation *op; ///< on which the difference is noted
  mlir::Value codes;
  mlir::Value result; ///< the numbers, or the product with them
  Shape shape;
  std::vector<float> numbers;
};

/// Reads a constant that is dequantised, the codes in blocks of a product, and
/// the right operand of a product of codes. Nothing for other ops, for splats,
/// and where scales are computed from inputs.
std::optional<CodedConstant> readCodedConstant(mlir::Operation *op,
                                               const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CODEDCONSTANTS_H
