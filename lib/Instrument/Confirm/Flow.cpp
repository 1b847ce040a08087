//===- Flow.cpp - What NaN and Inf can follow from ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps order calls of two probes where both have those of runs: in one run
// what a tensor depends on has no later step than the tensor. Numbers that each
// probe counts for itself say nothing of another one, whose branch may have
// been taken at other times; there only a probe that was never bad is out of
// the question.
//
// In a loop all of one run's rounds have one step. If what it carries is bad,
// each of its ops has something bad before it. Then the one with the largest
// share of bad values is the likeliest: it was bad for one round more than
// those that come before it.
//
//===----------------------------------------------------------------------===//

#include "Flow.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using namespace mpopt::confirming;

bool confirming::mayExplain(const BadValues &from, const BadValues &at) {
  if (!from.step || !at.step)
    return false;
  return !from.sharesSteps || !at.sharesSteps || *from.step <= *at.step;
}

llvm::StringRef confirming::nameWorst(const mpopt_record &record) {
  return record.nan ? "NaN" : record.pos_inf ? "Inf" : "-Inf";
}

void confirming::sortBeginnings(std::vector<FirstBad> &found, bool backward) {
  // Numbers that probes count for themselves are in no order.
  bool ordered = llvm::all_of(
      found, [](const FirstBad &first) { return first.sharesSteps; });
  llvm::sort(found, [&](const FirstBad &a, const FirstBad &b) {
    if (a.reaches != b.reaches)
      return a.reaches > b.reaches;
    if (ordered && a.step != b.step)
      return a.step < b.step;
    return backward ? a.probe > b.probe : a.probe < b.probe;
  });
}

static double getBadShare(const ProbeSight &seen) {
  return double(seen.record.nan + seen.infinite()) / double(seen.record.count);
}

/// Whatever depends on what has an origin has that one: of several the one with
/// the shortest way.
static void spread(const Flow &flow, llvm::ArrayRef<BadValues> bad,
                   std::vector<int64_t> &origins) {
  std::vector<int64_t> reached;
  for (auto [id, origin] : llvm::enumerate(origins))
    if (origin >= 0)
      reached.push_back(int64_t(id));
  for (size_t at = 0; at < reached.size(); ++at)
    for (int64_t user : flow.nodes[reached[at]].users)
      if (origins[user] < 0 && mayExplain(bad[reached[at]], bad[user])) {
        origins[user] = origins[reached[at]];
        reached.push_back(user);
      }
}

std::vector<bool> confirming::findReached(const Flow &flow,
                                          llvm::ArrayRef<BadValues> bad,
                                          int64_t probe) {
  std::vector<int64_t> origins(flow.nodes.size(), -1);
  origins[probe] = probe;
  spread(flow, bad, origins);
  std::vector<bool> reached;
  for (int64_t origin : origins)
    reached.push_back(origin >= 0);
  return reached;
}

/// Those of the cycle through `probe`, and what it depends on.
static std::vector<int64_t>
findSources(const Flow &flow, llvm::ArrayRef<BadValues> bad, int64_t probe) {
  std::vector<int64_t> sources = {probe};
  for (size_t at = 0; at < sources.size(); ++at)
    for (int64_t from : flow.nodes[sources[at]].from)
      if (mayExplain(bad[from], bad[sources[at]]) &&
          !llvm::is_contained(sources, from))
        sources.push_back(from);
  return sources;
}

void confirming::findBegins(const Flow &flow,
                            llvm::MutableArrayRef<BadValues> bad) {
  std::vector<int64_t> origins(bad.size(), -1);
  for (auto [id, node] : llvm::enumerate(flow.nodes)) {
    BadValues &own = bad[id];
    if (!own.step || llvm::any_of(node.from, [&](int64_t from) {
          return mayExplain(bad[from], own);
        }))
      continue;
    own.begins = node.fromMore ? Begins::Maybe : Begins::Yes;
    origins[id] = int64_t(id);
  }
  spread(flow, bad, origins);
  // The remaining nodes depend only on each other.
  for (size_t id = 0; id < bad.size(); ++id) {
    if (!bad[id].step || origins[id] >= 0)
      continue;
    auto rank = [&](int64_t probe) {
      return std::tuple(!flow.nodes[probe].copies,
                        getBadShare(*flow.nodes[probe].seen), -probe);
    };
    std::vector<int64_t> sources = findSources(flow, bad, int64_t(id));
    int64_t best = *llvm::max_element(
        sources, [&](int64_t a, int64_t b) { return rank(a) < rank(b); });
    bad[best].begins = Begins::Maybe;
    origins[best] = best;
    spread(flow, bad, origins);
  }
  for (auto [own, origin] : llvm::zip(bad, origins))
    own.origin = origin;
}
