//===- AcceptancePolicy.cpp - When a list of casts is enough
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AcceptancePolicy.h"

#include "mpopt/Effects/Severity.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The share of the threshold that errors past it are brought down to:
/// estimates are mostly within a factor 2 of the truth (docs/effect.md), so
/// that an error just below the threshold may pass it.
static constexpr double kMargin = 0.5;

AcceptancePolicy::AcceptancePolicy(Certainty least, ModuleOp module,
                                   const TrialResult &result)
    : least(least) {
  for (const OutputState &output : result.outputs) {
    double warning = getThreshold(module, output.isDecision ? kDecisionWarning
                                                            : kEffectWarning);
    warnings.push_back(warning);
    before.push_back(output.error);
    limits.push_back(output.error < warning ? warning : warning * kMargin);
  }
}

/// True if an error that was known, or is, passes the limit.
bool AcceptancePolicy::isOver(size_t output, double error, double limit) const {
  return std::isnan(error) ? std::isfinite(before[output]) : error >= limit;
}

bool AcceptancePolicy::isMet(const TrialResult &result) const {
  if (llvm::any_of(result.violations, [&](const Violation &violation) {
        return counts(violation);
      }))
    return false;
  for (auto [index, limit] : llvm::enumerate(limits))
    if (isOver(index, result.outputs[index].error, limit))
      return false;
  return true;
}

bool AcceptancePolicy::isAsGood(const TrialResult &result,
                                const TrialResult &held) const {
  llvm::DenseSet<Place> known;
  for (const Violation &violation : held.violations)
    if (counts(violation))
      known.insert(violation.place);
  for (const Violation &violation : result.violations)
    if (counts(violation) && !known.contains(violation.place))
      return false;
  for (auto [index, limit] : llvm::enumerate(limits)) {
    double error = result.outputs[index].error, had = held.outputs[index].error;
    if (std::isnan(error) ? !std::isnan(had)
                          : error >= limit && !(error <= had))
      return false;
  }
  return true;
}

unsigned AcceptancePolicy::countLeft(const TrialResult &result) const {
  unsigned left =
      llvm::count_if(result.violations, [&](const Violation &violation) {
        return counts(violation);
      });
  if (left == 0)
    for (size_t index = 0; index < limits.size(); ++index)
      left += isOver(index, result.outputs[index].error, warnings[index]);
  return left;
}
