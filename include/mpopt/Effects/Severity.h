//===- Severity.h - How bad findings are, by their effect -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rule for all rules about a model's values: an error is what makes an
// output Inf or NaN or moves it by more than a quarter, a warning what moves it
// by more than 2 %, a note the rest. Where the effect is not known a finding
// keeps its own severity; so does what is only possible, which estimates say
// nothing of.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EFFECTS_SEVERITY_H
#define MPOPT_EFFECTS_SEVERITY_H

#include "mpopt/Effects/OutputEffects.h"
#include "mpopt/Report/Effect.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace mpopt {

struct RuleInfo;

/// The thresholds of a finding's effect from which it is an error or a warning.
inline constexpr llvm::StringLiteral kEffectError = "effect-error";
inline constexpr llvm::StringLiteral kEffectWarning = "effect-warning";

/// The shares of an output's integers or truth values that change, from which
/// that is an error or a warning.
inline constexpr llvm::StringLiteral kDecisionError = "decision-error";
inline constexpr llvm::StringLiteral kDecisionWarning = "decision-warning";
/// The rules about outputs, by name.
inline constexpr llvm::StringLiteral kOutputError = "output-error";
inline constexpr llvm::StringLiteral kQuantizationError = "quantization-error";
inline constexpr llvm::StringLiteral kChangedDecisions = "changed-decisions";

/// Gives each finding its effect, and the severity that follows from it
/// (`FindingList::Entry::judged`).
void judgeByEffect(mlir::ModuleOp module, const OutputEffects &effects,
                   std::vector<FindingList::Entry> &entries);

/// Adds a finding of `rule` for each output, quantised or not, whose expected
/// error passes a threshold that no finding of `entries` passes.
void reportOutputErrors(mlir::ModuleOp module, const OutputEffects &effects,
                        const RangeAnalysis &ranges, const RuleInfo &rule,
                        bool isQuantized,
                        std::vector<FindingList::Entry> &entries);

/// Adds a finding of `rule` for each output of which a larger share changes.
void reportChangedDecisions(mlir::ModuleOp module, const OutputEffects &effects,
                            const RuleInfo &rule,
                            std::vector<FindingList::Entry> &entries);

/// The outputs of integers and truth values as reports show them.
std::vector<DecisionReport> describeDecisions(mlir::ModuleOp module,
                                              const OutputEffects &effects);

/// The outputs as reports show them, with the findings that cause most.
std::vector<EffectReport>
describeEffects(mlir::ModuleOp module, const OutputEffects &effects,
                llvm::ArrayRef<FindingList::Entry> entries);

} // namespace mpopt

#endif // MPOPT_EFFECTS_SEVERITY_H
