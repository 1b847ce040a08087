//===- EmitFindings.cpp - Findings as MLIR diagnostics
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_EMITFINDINGS
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

static DiagnosticSeverity toDiagnostic(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return DiagnosticSeverity::Error;
  case Severity::Warning:
    return DiagnosticSeverity::Warning;
  case Severity::Note:
    return DiagnosticSeverity::Remark;
  }
  llvm_unreachable("unknown severity");
}

namespace {
struct EmitFindings : mpopt::impl::EmitFindingsBase<EmitFindings> {
  void runOnOperation() override {
    DiagnosticEngine &engine = getContext().getDiagEngine();
    for (const FindingList::Entry &entry : getAnalysis<FindingList>().entries) {
      const Finding &finding = entry.finding;
      InFlightDiagnostic diagnostic =
          engine.emit(entry.op->getLoc(), toDiagnostic(finding.severity));
      diagnostic << finding.message << " [" << finding.rule << ' '
                 << StringRef(toString(finding.certainty)) << ']';
      for (auto [cause, location] :
           llvm::zip_equal(finding.causes, entry.causeLocations))
        diagnostic.attachNote(location) << cause.why;
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
