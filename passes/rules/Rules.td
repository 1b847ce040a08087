//===- Rules.td - Every rule's record ---------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_TD
#define MPOPT_PASSES_RULES_RULES_TD

include "passes/rules/RuleBase.td"

def EmitFindings : Pass<"mp-emit-findings", "::mlir::ModuleOp"> {
  let summary = "Turn the findings of earlier rules into diagnostics";
  let description = [{
    One diagnostic a finding, at its op: error, warning or remark by severity,
    `MESSAGE [MP103 certain]`, with a note for each cause. Findings are listed
    in the order in which the rules reported them.
  }];
}

include "passes/rules/Rules/Dtype.td"
include "passes/rules/Rules/Range.td"
include "passes/rules/Rules/Effect.td"
include "passes/rules/Rules/Precision.td"
include "passes/rules/Rules/Quantization.td"
include "passes/rules/Rules/Training.td"
include "passes/rules/Rules/Optimizer.td"
include "passes/rules/Rules/Fp8.td"
include "passes/rules/Rules/Run.td"
include "passes/rules/Rules/Monitor.td"
include "passes/rules/Rules/Source.td"
include "passes/rules/Rules/SourceStep.td"
include "passes/rules/Rules/SourceNumbers.td"
include "passes/rules/Rules/SourceSettings.td"
include "passes/rules/Rules/SourceFp8.td"

#endif // MPOPT_PASSES_RULES_RULES_TD
