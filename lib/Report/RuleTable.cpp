//===- RuleTable.cpp - The rules' metadata
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mpopt;

namespace {
#include "mpopt/Report/Rules.inc"
} // namespace

std::span<const RuleInfo> mpopt::getRules() { return kRules; }

const RuleInfo *mpopt::findRule(std::string_view idOrName) {
  llvm::StringRef wanted(idOrName);
  const auto *found = llvm::find_if(kRules, [&](const RuleInfo &rule) {
    return wanted == llvm::StringRef(rule.name) ||
           wanted.equals_insensitive(rule.id);
  });
  return found == std::end(kRules) ? nullptr : found;
}

const ThresholdInfo *mpopt::findThreshold(std::string_view key) {
  for (const RuleInfo &rule : kRules)
    for (const ThresholdInfo &threshold : rule.thresholds)
      if (threshold.key == key)
        return &threshold;
  return nullptr;
}
