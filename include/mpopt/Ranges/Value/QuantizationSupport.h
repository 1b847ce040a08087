//===- QuantizationSupport.h - Scales beside numbers ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_VALUE_QUANTIZATIONSUPPORT_H
#define MPOPT_RANGES_VALUE_QUANTIZATIONSUPPORT_H

#include "mpopt/Numerics/StorageFormat.h"
#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt {

/// Numbers `x` with the scale and the zero point (null: 0) that quantise them,
/// in groups that broadcast. Those along an axis meet the groups of their
/// channel; those of blocks count as a whole.
llvm::SmallVector<AbstractValue, 3>
alignQuantization(const AbstractValue &x, mlir::Value scale,
                  mlir::Value zeroPoint, const StorageFormat &format,
                  TransferContext &ctx);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_QUANTIZATIONSUPPORT_H
