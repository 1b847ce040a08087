//===- Check.cpp - mpopt --check
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Actions.h"

#include "mpopt/Driver/CheckModel.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/OutputConflicts.h"

#include "mpopt/Report/OutputFormat.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;

int mpopt::check(const Options &options) {
  std::vector<ModelReport> reports;
  std::vector<std::string> weights;
  auto imported = [&](const ImportResult &result) {
    llvm::append_range(weights, result.weightFiles);
  };
  CheckHooks hooks;
  hooks.imported = imported;
  for (const std::string &path : options.models)
    if (std::optional<ModelReport> report = checkModel(options, path, hooks))
      reports.push_back(std::move(*report));
  bool fault = reports.size() < options.models.size();
  llvm::for_each(reports, printWarnings);
  if (reports.empty())
    return kFault;
  // A model at fault does not stop the others, but its weights are spared.
  if (llvm::Error error = checkWeightFiles(options, weights)) {
    llvm::consumeError(std::move(error));
    return kFault;
  }

  llvm::Error error = writeOutput(options.output, [&](llvm::raw_ostream &os) {
    options.format->writeReports(os, reports,
                                 {.color = wantsColor(options.output),
                                  .version = MPOPT_VERSION,
                                  .several = options.models.size() > 1});
  });
  if (error) {
    printError(llvm::toString(std::move(error)));
    return kFault;
  }
  if (fault)
    return kFault;
  bool failing = llvm::any_of(reports, [&](const ModelReport &report) {
    return llvm::any_of(report.findings, [&](const Finding &finding) {
      return options.failOn && finding.severity >= *options.failOn;
    });
  });
  return failing ? kFindings : kClean;
}
