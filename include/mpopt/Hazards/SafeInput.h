//===- SafeInput.h - How far inputs may be scaled ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers "how large may x be?": each float input in turn is assumed to be a
// multiple of its assumed range, while the others stay as they are.
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
/// not checked: most models overflow as inputs grow, and one that does not (1 /
/// x) is safe at the reported scale. 0: there is an overflow however small the
/// input is. `kMostScale`: there is none up to that scale.
///
/// Masks do not count: they are meant to be huge. A tensor of which nothing is
/// known is not proved.
std::vector<SafeScale> findSafeScales(mlir::ModuleOp module,
                                      const OverflowSites &sites);

} // namespace mpopt

#endif // MPOPT_HAZARDS_SAFEINPUT_H
