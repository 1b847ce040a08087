//===- KeepState.h - The verdict on a model with some nodes kept *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In terms of the module as it is, so that the verdicts on different copies can
// be compared after the copies are gone.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPAIR_SEARCH_KEEPSTATE_H
#define MPOPT_LIB_REPAIR_SEARCH_KEEPSTATE_H

#include "mpopt/Repair/KeepSearch.h"

namespace mpopt {

/// A finding above a note.
struct Trouble {
  Place place;
  llvm::StringRef rule;
  /// The op that it is on, and the value that it is about; null where the
  /// module has none.
  mlir::Operation *op = nullptr;
  mlir::Value value;
  /// Its effect is known and finite: there are smaller and larger ones.
  bool isPartial = false;
};

/// The error of one output, and where it comes from.
struct OutputState {
  /// Infinite if Inf or NaN is expected, NaN if it is not known.
  double error = 0;
  /// Values at which Inf or NaN begins that gets here.
  llvm::SmallVector<mlir::Value> origins;
  /// As OutputEffect has them.
  llvm::MapVector<mlir::Value, double> squares;
  std::vector<OutputEffect::Sum> sums;
};

struct KeepState {
  std::vector<Trouble> troubles;
  std::vector<OutputState> outputs;
};

/// Where the values and ops of a copy come from. Null for what the copy has and
/// the module has not.
struct Origins {
  llvm::function_ref<mlir::Value(mlir::Value)> value;
  llvm::function_ref<mlir::Operation *(mlir::Operation *)> op;
};

/// The findings of `least` certainty or more that are above a note, and the
/// outputs.
KeepState makeState(const Verdict &verdict, Certainty least, Origins origins);

/// The analysis of the module with some ops kept in f32; nothing if they cannot
/// be.
std::optional<KeepState> tryKept(mlir::ModuleOp module,
                                 llvm::ArrayRef<mlir::Operation *> ops,
                                 Certainty least, JudgeCopy judge);

} // namespace mpopt

#endif // MPOPT_LIB_REPAIR_SEARCH_KEEPSTATE_H
