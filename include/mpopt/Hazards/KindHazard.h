//===- KindHazard.h - Why ops of a kind are kept in FP32 --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Policies keep kinds of ops in FP32 for what may happen to some values. A
// message that names the danger must not name one that the bounds of the very
// op exclude: then what is left are the digits.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_KINDHAZARD_H
#define MPOPT_HAZARDS_KINDHAZARD_H

#include "mpopt/Dialect/Roles.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <string>

namespace mpopt {

/// The danger of ops with these roles in `type`, a float of 16 bits, as far as
/// the ranges of `members` admit it: those of an op, or of all ops of a
/// decomposed composite in program order.
std::string describeKindHazard(Role roles,
                               llvm::ArrayRef<mlir::Operation *> members,
                               mlir::Type type, const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_HAZARDS_KINDHAZARD_H
