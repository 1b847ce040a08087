//===- ModelPaths.h - The models that a word stands for ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_MODELPATHS_H
#define MPOPT_DRIVER_MODELPATHS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mpopt {

struct ModelPaths {
  std::vector<std::string> paths;
  /// True if a word may stand for any number of models.
  bool isExpanded = false;
};

/// The models of the words, in their order: of a folder those in it and below
/// it, of a pattern (`*`, `?`, `[a-z]`, `**` for any folders) what matches;
/// other words stand for themselves. The error is one line, also where a folder
/// or a pattern has no model.
llvm::Expected<ModelPaths> expandModels(llvm::ArrayRef<std::string> words);

} // namespace mpopt

#endif // MPOPT_DRIVER_MODELPATHS_H
