//===- ExpectedCodes.h - The codes that a tensor is to take -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_ANALYSIS_EXPECTEDCODES_H
#define MPOPT_RANGES_ANALYSIS_EXPECTEDCODES_H

#include "mpopt/Numerics/CodeShares.h"

#include "mlir/IR/Value.h"

#include <optional>

namespace mpopt {

class RangeAnalysis;
namespace mp {
class QuantizeOp;
} // namespace mp

/// The factor by which the numbers of `x` have to be expected past an end of
/// their codes before that is believed; `scale` is null where it is not stored.
double getTrust(mlir::Value x, mlir::Value scale = nullptr);

/// The expected shares of codes of up to 8 bits; nothing for floats as codes,
/// and where no range is expected.
std::optional<CodeShares> expectCodes(mp::QuantizeOp op,
                                      const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_RANGES_ANALYSIS_EXPECTEDCODES_H
