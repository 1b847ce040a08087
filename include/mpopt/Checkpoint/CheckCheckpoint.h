//===- CheckCheckpoint.h - Rules about quantised checkpoints ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults that a file of weights shows without its model: scales that are
// missing, bad, or another tensor's, codes that are clipped or wasted, blocks
// of another size (MP601 to MP603, MP616 to MP619). Without a graph there
// are no effects on outputs.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CHECKPOINT_CHECKCHECKPOINT_H
#define MPOPT_CHECKPOINT_CHECKCHECKPOINT_H

#include "mpopt/Checkpoint/Checkpoint.h"
#include "mpopt/Report/Finding.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt {

struct CheckpointRequest {
  const Checkpoint &checkpoint;
  /// The weights before they were quantised; may be null.
  const Checkpoint *against = nullptr;
  llvm::ArrayRef<const RuleInfo *> rules;
  /// The number of a rule's threshold.
  llvm::function_ref<double(llvm::StringRef)> threshold;
};

struct CheckpointVerdict {
  /// The worst first.
  std::vector<Finding> findings;
  /// Lines about what could not be judged.
  std::vector<std::string> warnings;
};

/// Fails only where bytes cannot be read.
llvm::Expected<CheckpointVerdict> checkCheckpoint(const CheckpointRequest &);

} // namespace mpopt

#endif // MPOPT_CHECKPOINT_CHECKCHECKPOINT_H
