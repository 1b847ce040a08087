//===- Records.cpp - Records as sides of a comparison -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record counts the findings that it confirms and those that it alone shows:
// a prediction that did not come about in a run is none of its findings.
//
//===----------------------------------------------------------------------===//

#include "Sides.h"

#include "lib/Driver/ConfirmedFindings.h"

#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/OutputConflicts.h"
#include "mpopt/Numerics/Precision.h"
#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mpopt;
using namespace mpopt::diffing;
using llvm::Expected;
using llvm::StringRef;

bool diffing::isRecord(StringRef path) {
  if (llvm::sys::fs::is_directory(path))
    return true;
  // A pipe can be read once, and holds a report.
  if (!llvm::sys::fs::is_regular_file(path))
    return false;
  Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readInputFile(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return false;
  }
  return isRecordFile((*file)->getBuffer());
}

static void addOp(const Probe &probe, const ProbeSight &sight, bool isGradient,
                  DiffSide &side) {
  if (!sight.ran() || !sight.stored())
    return;
  const TensorFacts &tensor = probe.tensor;
  // A cast of the file: what it reads is recorded as well, or as good as.
  if (StringRef(tensor.structure).starts_with("cast-") && !isGradient) {
    ++side.casts;
    return;
  }
  DiffOp &op = side.ops.emplace_back();
  if (!tensor.structure.empty())
    op.fingerprint = tensor.structure + (isGradient ? " gradient" : "") +
                     (probe.cast ? " cast" : "");
  op.name = tensor.name;
  op.type = tensor.isInput                       ? "input"
            : probe.role == ProbeRole::Parameter ? "parameter"
                                                 : tensor.op.type;
  op.op = tensor.op.name;
  op.dtype = sight.dtype();
  op.isGradient = isGradient;
  if (sight.finite())
    op.bound = Interval{sight.record.min, sight.record.max};
}

static void listTensors(const DiffRun &run, DiffSide &side) {
  for (const Probe &probe : run.run.ledger.plan.probes) {
    if (probe.role == ProbeRole::Scalar)
      continue;
    addOp(probe, run.run.records.probes[probe.id], /*isGradient=*/false, side);
    addOp(probe, run.run.records.gradients[probe.id], /*isGradient=*/true,
          side);
  }
}

/// Lists the ops that stay in FP32: those that the run confirmed, and those
/// that it did not show.
static void listNeeded(const DiffRun &run, DiffSide &side) {
  const Ledger &ledger = run.run.ledger;
  side.knowsNeeded = !Precision::of(ledger.report.precision).isAsIs();
  for (const KeptOpRef &kept : keepConfirmed(ledger, run.confirmation))
    side.needed.push_back(kept.op.name);
  for (const KeptOpRef &kept : ledger.keep)
    if (llvm::any_of(kept.why, [&](const std::string &print) {
          auto found = side.unconfirmed.find(print);
          return found != side.unconfirmed.end() &&
                 found->second != toString(Status::Refuted);
        }))
      side.needed.push_back(kept.op.name);
}

std::optional<DiffSide>
diffing::readRecordSide(const Options &options,
                        llvm::ArrayRef<std::string> paths) {
  std::vector<std::string> known;
  for (const std::string &ledger : {options.ledger, options.againstLedger})
    if (!ledger.empty())
      known.push_back(ledger);
  auto fail = [](llvm::Error error) {
    printError(llvm::toString(std::move(error)));
    return std::nullopt;
  };
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    Expected<std::vector<std::string>> list = listRecordFiles(path);
    if (!list)
      return fail(list.takeError());
    llvm::append_range(files, *list);
  }
  // That of the first: one of another ledger is refused.
  Expected<std::string> ledger = findLedger(files.front(), known);
  if (!ledger)
    return fail(ledger.takeError());
  if (llvm::Error error = checkFoundFiles(options, "the ledger", *ledger))
    return fail(std::move(error));
  Expected<RecordedRun> run = readRecordedRun(files, "--ledger", *ledger);
  if (!run)
    return fail(run.takeError());
  for (const std::string &warning : run->records.warnings)
    printWarning(warning);

  // Probes decide findings that are only possible.
  Options listing = options;
  if (!options.hasCertainty)
    listing.minCertainty = Certainty::Possible;
  DiffSide side;
  side.kind = DiffKind::Record;
  side.path = paths.front();
  side.given = paths.size();
  side.records = std::move(files);
  side.run = std::make_unique<DiffRun>(DiffRun{std::move(*run), {}});
  DiffRun &own = *side.run;
  keepSelected(listing, own.run.ledger.report.findings);
  own.confirmation = confirm(own.run.ledger, own.run.records,
                             {options.rules, options.thresholds, nullptr});
  side.report = own.run.ledger.report;
  side.report.findings.clear();
  for (auto [finding, status] :
       llvm::zip(own.run.ledger.report.findings, own.confirmation.statuses)) {
    if (status.status == Status::Confirmed)
      side.report.findings.push_back(finding);
    else
      side.unconfirmed[finding.fingerprint] = toString(status.status).str();
  }
  listTensors(own, side);
  listNeeded(own, side);
  return side;
}
