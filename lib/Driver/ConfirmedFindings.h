//===- ConfirmedFindings.h - Findings that a run is asked about -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONFIRMEDFINDINGS_H
#define MPOPT_LIB_DRIVER_CONFIRMEDFINDINGS_H

#include "mpopt/Driver/Options.h"
#include "mpopt/Report/Finding.h"

#include "llvm/ADT/STLExtras.h"

namespace mpopt {

/// Leaves the findings of the selected rules that are as certain as asked for.
inline void keepSelected(const Options &options, std::vector<Finding> &list) {
  llvm::erase_if(list, [&](const Finding &finding) {
    return finding.certainty < options.minCertainty ||
           llvm::none_of(
               options.rules,
               [&](const RuleInfo *rule) {
                 return llvm::StringRef(rule->id) == finding.rule;
               });
  });
}

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONFIRMEDFINDINGS_H
