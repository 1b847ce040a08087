//===- Plan.cpp - Which tensors are looked at -----------------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sentinels: every float tensor that is not proved finite, but for those whose
// op only moves elements. Where the assumptions hold, a NaN or infinity can
// begin at no other tensor; so the first sentinel in program order that is not
// finite although all those it depends on are names the op that made it.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Instrument/Plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"

using namespace mpopt;
using llvm::StringRef;

static constexpr size_t kMostFrom = 16, kMostVia = 8;

StringRef mpopt::toString(ProbeRole role) {
  switch (role) {
  case ProbeRole::Input:
    return "input";
  case ProbeRole::Finding:
    return "finding";
  case ProbeRole::Sentinel:
    return "sentinel";
  case ProbeRole::Chosen:
    return "chosen";
  }
  llvm_unreachable("unknown role");
}

std::optional<ProbeRole> mpopt::parseProbeRole(StringRef text) {
  return llvm::StringSwitch<std::optional<ProbeRole>>(text)
      .Case("input", ProbeRole::Input)
      .Case("finding", ProbeRole::Finding)
      .Case("sentinel", ProbeRole::Sentinel)
      .Case("chosen", ProbeRole::Chosen)
      .Default(std::nullopt);
}

llvm::Expected<ProbeSelection> ProbeSelection::parse(StringRef text) {
  if (text == "findings")
    return ProbeSelection{};
  if (text == "all")
    return ProbeSelection{Kind::All, ""};
  if (std::string reason; !llvm::Regex(text).isValid(reason))
    return llvm::createStringError("'" + text +
                                   "' is not a regular expression: " + reason);
  return ProbeSelection{Kind::Pattern, text.str()};
}

namespace {
class Planner {
public:
  Planner(llvm::ArrayRef<TensorFacts> tensors, const ProbeSelection &selection)
      : tensors(tensors), selection(selection), pattern(selection.pattern) {}

  void takeFindings(llvm::ArrayRef<Finding> findings);
  ProbePlan make(Placeable placeable);
  bool matchedAny() const { return matched; }

private:
  std::optional<ProbeRole> choose(const TensorFacts &tensor);
  void connect(unsigned index, Probe &probe);

  llvm::ArrayRef<TensorFacts> tensors;
  const ProbeSelection &selection;
  llvm::Regex pattern;
  llvm::StringMap<std::vector<std::string>> fingerprints; ///< by tensor
  llvm::StringMap<int64_t> axes;                          ///< by tensor
  bool matched = false;
  /// Of each tensor: its probe, or the nearest ones above it.
  std::vector<llvm::SmallVector<int64_t, 2>> above;
  std::vector<bool> probed;
};
} // namespace

void Planner::takeFindings(llvm::ArrayRef<Finding> findings) {
  for (const Finding &finding : findings) {
    for (const Watch &watch : finding.watches) {
      if (watch.test == Decision::FileFact)
        continue;
      if (watch.axis >= 0)
        axes.try_emplace(watch.tensor, watch.axis);
      for (const std::string &tensor : {watch.tensor, watch.against}) {
        if (tensor.empty())
          continue;
        auto &list = fingerprints[tensor];
        if (!llvm::is_contained(list, finding.fingerprint))
          list.push_back(finding.fingerprint);
      }
    }
  }
}

std::optional<ProbeRole> Planner::choose(const TensorFacts &tensor) {
  bool chosen = selection.kind == ProbeSelection::Kind::Pattern &&
                (pattern.match(tensor.name) ||
                 (!tensor.op.name.empty() && pattern.match(tensor.op.name)));
  matched |= chosen;
  if (tensor.isInput)
    return ProbeRole::Input;
  if (selection.kind == ProbeSelection::Kind::Pattern)
    return chosen ? std::optional(ProbeRole::Chosen) : std::nullopt;
  if (fingerprints.count(tensor.name))
    return ProbeRole::Finding;
  if (!tensor.isFloat || tensor.isConstant)
    return std::nullopt;
  if (tensor.mayBeNonFinite() && !tensor.isMoved)
    return ProbeRole::Sentinel;
  if (selection.kind == ProbeSelection::Kind::All)
    return ProbeRole::Chosen;
  return std::nullopt;
}

static bool holdsNumbers(const TensorFacts &tensor) {
  StringRef dtype = tensor.fileDtype.empty() ? tensor.dtype : tensor.fileDtype;
  return dtype != "string" && !dtype.starts_with("complex");
}

void Planner::connect(unsigned index, Probe &probe) {
  llvm::SmallSetVector<int64_t, kMostFrom> from;
  for (unsigned operand : tensors[index].operands)
    for (int64_t id : above[operand])
      if (from.size() < kMostFrom)
        from.insert(id);
  probe.from.assign(from.begin(), from.end());
  // Back along first operands to the nearest probe.
  unsigned at = index;
  while (probe.via.size() < kMostVia && !tensors[at].op.name.empty()) {
    probe.via.push_back(tensors[at].op.name);
    auto next = llvm::find_if(tensors[at].operands, [&](unsigned operand) {
      return !tensors[operand].isConstant;
    });
    if (next == tensors[at].operands.end() || probed[*next])
      break;
    at = *next;
  }
  std::reverse(probe.via.begin(), probe.via.end());
}

ProbePlan Planner::make(Placeable placeable) {
  ProbePlan plan;
  above.resize(tensors.size());
  probed.resize(tensors.size());
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    std::optional<ProbeRole> role = choose(tensor);
    if (role) {
      std::string why = holdsNumbers(tensor) ? placeable(tensor.name)
                                             : "it holds no real numbers";
      if (!why.empty()) {
        if (*role != ProbeRole::Chosen)
          plan.unprobed.push_back({tensor.name, std::move(why)});
        role.reset();
      }
    }
    if (!role) {
      llvm::SmallSetVector<int64_t, kMostFrom> ids;
      for (unsigned operand : tensor.operands)
        for (int64_t id : above[operand])
          if (ids.size() < kMostFrom)
            ids.insert(id);
      above[index].assign(ids.begin(), ids.end());
      continue;
    }
    Probe probe{int64_t(plan.probes.size()), *role, tensor, {}, {}, {}, -1};
    if (auto found = fingerprints.find(tensor.name);
        found != fingerprints.end())
      probe.fingerprints = found->second;
    if (auto found = axes.find(tensor.name); found != axes.end())
      probe.channelAxis = found->second;
    connect(index, probe);
    above[index] = {probe.id};
    probed[index] = true;
    plan.probes.push_back(std::move(probe));
  }
  return plan;
}

llvm::Expected<ProbePlan> mpopt::makePlan(llvm::ArrayRef<TensorFacts> tensors,
                                          llvm::ArrayRef<Finding> findings,
                                          const ProbeSelection &selection,
                                          Placeable placeable) {
  Planner planner(tensors, selection);
  planner.takeFindings(findings);
  ProbePlan plan = planner.make(placeable);
  if (selection.kind == ProbeSelection::Kind::Pattern && !planner.matchedAny())
    return llvm::createStringError("no tensor or op matches '" +
                                   selection.pattern + "'");
  // A finding about a tensor that the list does not have would be forgotten.
  llvm::StringMap<bool> known;
  for (const TensorFacts &tensor : tensors)
    known[tensor.name] = true;
  for (const Finding &finding : findings)
    for (const Watch &watch : finding.watches)
      if (watch.test != Decision::FileFact && !watch.tensor.empty() &&
          !known.count(watch.tensor)) {
        known[watch.tensor] = true;
        plan.unprobed.push_back({watch.tensor, "the file has no such value"});
      }
  return plan;
}
