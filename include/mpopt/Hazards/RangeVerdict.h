//===- RangeVerdict.h - What ranges say of an op in 16 bits -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A policy keeps exp or softmax in FP32 whatever they read. Ranges distinguish
// an op whose argument cannot exceed 11.09 (ln 65504) from one whose argument
// is expected to.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_RANGEVERDICT_H
#define MPOPT_HAZARDS_RANGEVERDICT_H

#include "mpopt/Hazards/FlushedShare.h"
#include "mpopt/Hazards/OverflowSites.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpopt {

struct RangeVerdict {
  enum Kind {
    Open,     ///< Neither is shown.
    Harmless, ///< Proved: finite, not flushed to zero, and exact enough.
    Confirmed ///< The hazard that the policy avoids is expected.
  } kind = Open;
  /// The reason, with the numbers; empty if open.
  std::string why;
  /// Confirmed: the value that breaks, and the one that it follows from.
  mlir::Value where = {}, root = {};
};

/// The verdict on an op, or on all members of a decomposed composite. `kind` is
/// the composite or the op's mnemonic; `tolerance` is the relative error from
/// which a result is not exact enough.
RangeVerdict judgeByRanges(llvm::StringRef kind,
                           llvm::ArrayRef<mlir::Operation *> members,
                           mlir::Operation *result, double tolerance,
                           const OverflowSites &sites, FlushedShares &shares);

} // namespace mpopt

#endif // MPOPT_HAZARDS_RANGEVERDICT_H
