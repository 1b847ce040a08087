//===- RuleTable.cpp - The rules' metadata
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>

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

std::string mpopt::getPagePath(std::string_view id) {
  return "docs/rules/" + std::string(id) + ".md";
}

std::string_view mpopt::toString(Hazard hazard) {
  switch (hazard) {
  case Hazard::Own:
    return "own";
  case Hazard::Overflow:
    return "overflow";
  case Hazard::Underflow:
    return "underflow";
  }
  llvm_unreachable("unknown hazard");
}

bool mpopt::isByList(std::string_view id) {
  const RuleInfo *rule = findRule(id);
  return rule && rule->byList;
}

bool mpopt::isByRange(std::string_view id) {
  const RuleInfo *rule = findRule(id);
  return rule && rule->byRange;
}

std::string_view mpopt::getHazard(const Finding &finding) {
  const RuleInfo *rule = findRule(finding.rule);
  assert(rule && "rule is not in Rules.td");
  bool isError = finding.severity == Severity::Error;
  Hazard hazard = isError ? rule->hazard : rule->mildHazard;
  return hazard == Hazard::Own ? rule->id : toString(hazard);
}

const ThresholdInfo *mpopt::findThreshold(std::string_view key) {
  for (const RuleInfo &rule : kRules)
    for (const ThresholdInfo &threshold : rule.thresholds)
      if (threshold.key == key)
        return &threshold;
  return nullptr;
}
