//===- PrintEffects.cpp - What roundings do to outputs, as remarks
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/transforms/Passes.h"

#include "mpopt/Dialect/Origin.h"
#include "mpopt/Effects/OutputEffects.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_PRINTEFFECTS
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

static std::string percent(double value) {
  return llvm::formatv("{0}%", llvm::format("%.3g", 100 * value)).str();
}

static Location locationOf(Value value) {
  return value.getDefiningOp() ? value.getDefiningOp()->getLoc()
                               : value.getLoc();
}

/// A remark at the output, with a note at each tensor whose storage causes at
/// least `least` of the error, the largest first.
static void printOutput(const OutputEffect &output, double least) {
  InFlightDiagnostic remark = emitRemark(locationOf(output.value));
  remark << "output '" << output.name << "': ";
  if (output.nonFinite)
    remark << "Inf or NaN";
  else if (output.unknown)
    remark << "not known: " << output.unknown->why;
  else
    remark << "error " << percent(*output.error) << ", rms "
           << percent(*output.rms);
  if (!output.error)
    return;
  auto parts = llvm::to_vector(output.squares);
  llvm::stable_sort(
      parts, [](const auto &a, const auto &b) { return a.second > b.second; });
  for (const auto &[value, square] : parts) {
    double part = std::sqrt(square);
    if (part < least * *output.error)
      break;
    Diagnostic &note = remark.attachNote(locationOf(value));
    note << percent(part) << " by the storage of ";
    if (StringRef name = getValueName(value); !name.empty())
      note << '\'' << name << '\'';
    else
      note << "this result";
  }
}

namespace {
struct PrintEffects : mpopt::impl::PrintEffectsBase<PrintEffects> {
  using PrintEffectsBase::PrintEffectsBase;

  void runOnOperation() override {
    OutputEffects effects(getOperation(), getAnalysisManager(), {});
    for (const OutputEffect &output : effects.outputs)
      printOutput(output, least);
    markAllAnalysesPreserved();
  }
};
} // namespace
