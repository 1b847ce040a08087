//===- SafeInput.h - How far inputs may be scaled ---------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The answer to "how large may x be?": each float input in turn is taken to be
// a multiple of what is assumed of it, the others staying as they are.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_SAFEINPUT_H
#define MPOPT_HAZARDS_SAFEINPUT_H

#include "mpopt/Hazards/OverflowSites.h"

#include "mpopt/Report/Report.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// The scales of every float input of the model's function, in order.
///
/// A scale is found by search: it was analysed and has no overflow, and one at
/// most 1 % larger was analysed and has one. That no smaller scale has one is
/// taken for granted: most models overflow upwards, and one that does not
/// (1 / x) is safe at the scale that is told. 0: there is an overflow however
/// small the input is. `kMostScale`: there is none up to there.
///
/// Masks do not count: they are meant to be huge. A tensor of which nothing is
/// known is not proved.
std::vector<SafeScale> findSafeScales(mlir::ModuleOp module,
                                      const OverflowSites &sites);

} // namespace mpopt

#endif // MPOPT_HAZARDS_SAFEINPUT_H
