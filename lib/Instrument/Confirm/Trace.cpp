//===- Trace.cpp - Where NaN and Inf begin --------------------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Probes are in program order, and each knows the nearest probes that it
// depends on. A record tells the first step with NaN and the first with Inf; a
// probe was the origin in its first bad step if none that it depends on was bad
// by then. Records merge over ranks and calls inside a loop, whose steps are
// their own: there the step orders no more than it says.
//
// Infinities that the model puts there itself are not bad: a mask of -Inf. An
// op that only moves or selects elements cannot make an infinity, so where it
// has one and what it reads has none, the infinity was written in the file; and
// an op that reads such values hands them on, as long as its finite values stay
// away from the edge. NaN is always bad.
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mpopt;
using namespace mpopt::confirming;

static constexpr size_t kMostChain = 16;

static bool isGiven(const Probe &probe, const ProbeSight &seen,
                    llvm::ArrayRef<BadValues> bad) {
  if (!seen.infinite() || probe.role == ProbeRole::Input)
    return false;
  // Something that is not the model's own may be among what it read.
  bool handedOn = false;
  for (int64_t from : probe.from) {
    if (from >= probe.id)
      continue;
    if (bad[from].step)
      return false;
    handedOn |= bad[from].given;
  }
  if (probe.tensor.copies || probe.tensor.isConstant)
    return true;
  // Half of the edge: an overflow would have left larger values behind.
  const FloatFormat *stored = seen.stored();
  return handedOn && stored && seen.record.absmax < stored->maxFinite / 2;
}

std::vector<BadValues> confirming::classifyBadValues(const ProbePlan &plan,
                                                     const RunRecords &runs) {
  std::vector<BadValues> bad(plan.probes.size());
  for (const Probe &probe : plan.probes) {
    const ProbeSight &seen = runs.probes[probe.id];
    BadValues &own = bad[probe.id];
    own.given = isGiven(probe, seen, bad);
    uint64_t first = seen.record.nan ? seen.record.first_nan_step : MPOPT_NEVER;
    if (!own.given && seen.infinite())
      first = std::min(first, seen.record.first_inf_step);
    if (first == MPOPT_NEVER)
      continue;
    own.step = first;
    own.begins = llvm::none_of(probe.from, [&](int64_t from) {
      return from < probe.id && bad[from].step && *bad[from].step <= first;
    });
  }
  return bad;
}

// Ops from the nearest probes down to the bad one; where all of them are on one
// way, back along the first dependency for as long as there is room.
static std::vector<std::string> getChain(const ProbePlan &plan,
                                         const Probe &probe) {
  std::vector<std::string> chain = probe.via;
  const Probe *at = &probe;
  while (chain.size() < kMostChain) {
    auto next = llvm::find_if(at->from, [&](int64_t from) {
      return from < at->id && !plan.probes[from].via.empty();
    });
    if (next == at->from.end())
      break;
    at = &plan.probes[*next];
    size_t room = kMostChain - chain.size();
    llvm::ArrayRef<std::string> more(at->via);
    more = more.take_back(room);
    chain.insert(chain.begin(), more.begin(), more.end());
  }
  return chain;
}

static std::string explain(const Probe &probe, const ProbeSight &seen) {
  std::string what = seen.record.nan       ? "NaN"
                     : seen.record.pos_inf ? "Inf"
                                           : "-Inf";
  if (probe.role == ProbeRole::Input)
    return "this input of the model held " + what + " when it came";
  return what + " begins here: nothing probed that it depends on was NaN or "
                "infinite by then";
}

std::optional<FirstBad>
confirming::findFirstBad(const ProbePlan &plan, const RunRecords &runs,
                         llvm::ArrayRef<BadValues> bad) {
  const Probe *first = nullptr;
  for (const Probe &probe : plan.probes)
    if (bad[probe.id].begins &&
        (!first || *bad[probe.id].step < *bad[first->id].step))
      first = &probe;
  if (!first)
    return std::nullopt;
  FirstBad found;
  found.probe = first->id;
  found.step = *bad[first->id].step;
  found.before = first->from;
  found.chain = getChain(plan, *first);
  found.isInput = first->role == ProbeRole::Input;
  found.why = explain(*first, runs.probes[first->id]);
  return found;
}
