//===- Judge.cpp - The order of a checkpoint's check ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Judge.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::checkpoints;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

std::string checkpoints::text(double value) {
  std::string out;
  llvm::raw_string_ostream(out) << llvm::format("%.4g", value);
  return out;
}

std::string checkpoints::percent(double share) {
  std::string out;
  llvm::raw_string_ostream(out) << llvm::format("%.3g %%", share * 100);
  return out;
}

Judge::Judge(const CheckpointRequest &request)
    : request(request), checkpoint(request.checkpoint),
      modules(findModules(request.checkpoint)),
      hasScales(llvm::any_of(modules, [](const auto &entry) {
        return bool(entry.second.of(ScaleRole::Weight));
      })) {}

Finding *Judge::report(StringRef rule, const std::string &module,
                       const StoredTensor &tensor, const std::string &message) {
  const auto *info = llvm::find_if(request.rules, [&](const RuleInfo *info) {
    return StringRef(info->name) == rule;
  });
  // The finding that is filled in there is not read.
  if (info == request.rules.end())
    return &unselected;
  Finding finding;
  finding.rule = (*info)->id;
  finding.severity = (*info)->severity;
  finding.op = {
      .name = module, .type = "Tensor", .scope = "", .kind = "tensor"};
  finding.tensor = tensor.name;
  finding.dtype = tensor.dtype->name.str();
  finding.message = message;
  // Names are what stays of a checkpoint from one export to the next.
  std::string key = finding.rule + "\n" + module + "\n" + tensor.name;
  if (unsigned before = reported[key]++)
    key += "\n" + std::to_string(before);
  finding.fingerprint =
      llvm::utohexstr(llvm::xxh3_64bits(key), /*LowerCase=*/true, /*Width=*/16);
  verdict.findings.push_back(std::move(finding));
  return &verdict.findings.back();
}

Expected<CheckpointVerdict> Judge::run() {
  if (modules.empty())
    verdict.warnings.push_back("holds no quantised tensor: nothing is judged");
  findMissing();
  if (Error error = findRawCodes())
    return std::move(error);
  for (const auto &[name, module] : modules)
    if (Error error = readModule(name, module))
      return std::move(error);
  judgeBlocks();
  judgeMagnitudes();
  judgeCaches();
  for (const std::vector<std::string> &group : findJoined(modules))
    judgeJoined(group);
  llvm::stable_sort(verdict.findings, [](const Finding &a, const Finding &b) {
    return a.severity > b.severity;
  });
  return std::move(verdict);
}

Expected<CheckpointVerdict>
mpopt::checkCheckpoint(const CheckpointRequest &request) {
  return Judge(request).run();
}
