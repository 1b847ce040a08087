//===- Trace.cpp - Where NaN and Inf begin --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each probe knows the nearest probes that it depends on. A record tells the
// first step with NaN and the first with Inf; a probe was the origin in its
// first bad step if none that it depends on was bad by then (Flow.cpp).
//
// Infinities that the model puts there itself are not bad: a mask of -Inf. An
// op that only moves or selects elements cannot make an infinity, so where it
// has one and what it reads has none, the infinity was written in the file; and
// an op that reads such values hands them on, as long as its finite values stay
// away from the overflow threshold. NaN is always bad.
//
// There may be several origins, and not all do harm: a -Inf of a logarithm may
// become an index or be selected away. Those come first from which a way of bad
// values leads to an output, then those that went on to other ops.
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include "Flow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mpopt;
using namespace mpopt::confirming;

// Ops of a chain that a report shows: as many as a probe stores (kMostVia of
// Plan.cpp).
static constexpr size_t kMostChain = 16;

static bool isGiven(const Probe &probe, const RunRecords &runs,
                    llvm::ArrayRef<BadValues> bad) {
  const ProbeSight &seen = runs.probes[probe.id];
  if (!seen.infinite() || probe.role == ProbeRole::Input)
    return false;
  // Something that is not the model's own may be among what it read.
  bool handedOn = false;
  for (int64_t from : probe.from) {
    // A loop-carried dependency: nothing is known of its op yet.
    if (from >= probe.id ? runs.probes[from].infinite() != 0
                         : bad[from].step.has_value())
      return false;
    handedOn |= bad[from].given;
  }
  if (probe.tensor.copies || probe.tensor.isConstant)
    return true;
  // Below half of the largest finite value: an overflow would have left larger
  // values behind.
  const FloatFormat *stored = seen.stored();
  return handedOn && stored && seen.record.absmax < stored->maxFinite / 2;
}

/// NaN and infinities pass no op whose result is proved finite.
static bool isBlocked(const Probe &probe, int64_t from, bool holds) {
  return holds && llvm::is_contained(probe.blocked, from);
}

static Flow makeFlow(const ProbePlan &plan, const RunRecords &runs,
                     bool holds) {
  Flow flow;
  flow.nodes.resize(plan.probes.size());
  for (const Probe &probe : plan.probes) {
    Flow::Node &node = flow.nodes[probe.id];
    node.seen = &runs.probes[probe.id];
    node.fromMore = probe.fromMore || !probe.tensor.unseen.empty();
    node.copies = probe.tensor.copies;
    for (int64_t from : probe.from)
      if (from != probe.id && !isBlocked(probe, from, holds))
        flow.connect(from, probe.id);
  }
  return flow;
}

std::vector<BadValues> confirming::classifyBadValues(const ProbePlan &plan,
                                                     const RunRecords &runs,
                                                     bool holds) {
  std::vector<BadValues> bad(plan.probes.size());
  for (const Probe &probe : plan.probes) {
    const ProbeSight &seen = runs.probes[probe.id];
    BadValues &own = bad[probe.id];
    own.given = isGiven(probe, runs, bad);
    own.sharesSteps = seen.sharesSteps();
    uint64_t first = seen.record.nan ? seen.record.first_nan_step : MPOPT_NEVER;
    if (!own.given && seen.infinite())
      first = std::min(first, seen.record.first_inf_step);
    if (first != MPOPT_NEVER)
      own.step = first;
  }
  findBegins(makeFlow(plan, runs, holds), bad);
  return bad;
}

/// Back along the way that each probe knows, for as long as there is room.
static std::vector<std::string> getChain(const ProbePlan &plan,
                                         const Probe &probe) {
  std::vector<std::string> chain = probe.via;
  for (const Probe *at = &probe;
       chain.size() < kMostChain && at->viaFrom >= 0 && at->viaFrom < at->id;) {
    at = &plan.probes[at->viaFrom];
    llvm::ArrayRef<std::string> more(at->via);
    more = more.take_back(kMostChain - chain.size());
    chain.insert(chain.begin(), more.begin(), more.end());
  }
  return chain;
}

/// An output; an op that computes NaN of it or that could, as far as the ledger
/// knows, get it; or nothing but what hands it to tensors that are proved
/// finite.
static Reach getReach(const ProbePlan &plan, const Flow &flow,
                      const std::vector<bool> &reached, int64_t probe) {
  bool others = false, spreads = false;
  for (auto [id, node] : llvm::enumerate(flow.nodes)) {
    if (reached[id] && plan.probes[id].output)
      return Reach::Output;
    if (reached[id] && int64_t(id) != probe) {
      others = true;
      spreads |= node.seen->record.nan > 0;
    } else if (!reached[id]) {
      spreads |=
          llvm::any_of(node.from, [&](int64_t from) { return reached[from]; });
    }
  }
  return others && spreads ? Reach::Op : Reach::Nothing;
}

/// The cast that autocast made where a probe's op reads the one before it, in
/// words: finite values there were Inf in the format in which the op computed.
/// Empty if there was none. The ledger has no probe behind such a cast.
static std::string describeCast(const ProbePlan &plan, const Probe &probe,
                                const RunRecords &runs,
                                llvm::ArrayRef<BadValues> bad) {
  // With an op between, what it reads may be smaller.
  if (probe.viaFrom < 0 || probe.via.size() > 1 || bad[probe.viaFrom].step)
    return "";
  const ProbeSight &read = runs.probes[probe.viaFrom];
  const FloatFormat *stored = runs.probes[probe.id].stored();
  if (!stored || !read.stored() || !read.overflows(*stored))
    return "";
  std::optional<uint64_t> step = read.overflowStep(*stored);
  if (!step || *step > *bad[probe.id].step)
    return "";
  std::string text;
  llvm::raw_string_ostream(text)
      << "; the cast of '" << plan.probes[probe.viaFrom].tensor.name
      << "' from " << read.dtype() << " to " << stored->name << " makes Inf of "
      << read.overflows(*stored) << " finite values, of up to "
      << llvm::format("%.4g", read.record.absmax) << ": keep the op in "
      << read.dtype() << ", or its operand below "
      << llvm::format("%.5g", stored->maxFinite);
  return text;
}

static std::string explain(const Probe &probe, const RunRecords &runs,
                           llvm::ArrayRef<BadValues> bad) {
  const ProbeSight &seen = runs.probes[probe.id];
  const BadValues &own = bad[probe.id];
  std::string what = nameWorst(seen.record).str();
  if (probe.role == ProbeRole::Input)
    return "this input of the model held " + what + " when it came";
  bool missed = false, ever = false, before = false;
  for (int64_t from : probe.from) {
    missed |= runs.probes[from].record.skipped > 0;
    if (!bad[from].step)
      continue;
    ever = true;
    before |= mayExplain(bad[from], own);
  }
  if (own.begins == Begins::Maybe && !probe.tensor.unseen.empty())
    return what + " begins here, or in " +
           llvm::join(probe.tensor.unseen, " or ") +
           " before it, inside a function: a probe cannot tell these apart";
  if (own.begins == Begins::Maybe)
    return what + (probe.fromMore
                       ? " begins here, or in one of the many tensors that it "
                         "depends on and of which the ledger does not tell"
                       : " begins here, or in another op of this loop: the "
                         "record does not tell which round was the first");
  std::string why = what + " begins here: ";
  if (before)
    why += "NaN and infinities of its operands cannot get here, as is proved "
           "of the tensors between";
  else if (ever)
    why += "nothing probed that it depends on was NaN or infinite by then";
  else
    why += "nothing probed that it depends on was ever NaN or infinite";
  return why + (missed ? ", in the calls that were recorded" : "");
}

std::vector<FirstBad> confirming::findBeginnings(const ProbePlan &plan,
                                                 const RunRecords &runs,
                                                 llvm::ArrayRef<BadValues> bad,
                                                 bool holds) {
  Flow flow = makeFlow(plan, runs, holds);
  std::vector<FirstBad> found;
  for (const Probe &probe : plan.probes) {
    if (bad[probe.id].begins == Begins::No)
      continue;
    FirstBad &first = found.emplace_back();
    first.probe = probe.id;
    first.step = *bad[probe.id].step;
    first.sharesSteps = bad[probe.id].sharesSteps;
    first.isSure = bad[probe.id].begins == Begins::Yes;
    first.reaches =
        getReach(plan, flow, findReached(flow, bad, probe.id), probe.id);
    first.before = probe.from;
    first.chain = getChain(plan, probe);
    first.isInput = probe.role == ProbeRole::Input;
    first.why =
        explain(probe, runs, bad) + describeCast(plan, probe, runs, bad);
  }
  sortBeginnings(found, /*backward=*/false);
  return found;
}
