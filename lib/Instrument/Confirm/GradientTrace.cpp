//===- GradientTrace.cpp - Where NaN of gradients begins ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradient of a tensor is made of those of the tensors that depend on it,
// by the backward of the ops between, and of the values there. So the graph is
// that of values turned around: what comes first is at the end of the model. A
// gradient that was bad although none that it is made of was is a beginning;
// the op that reads its tensor made it so, or values that were bad already did.
//
// A proof about values does not stop the propagation of a gradient.
//
//===----------------------------------------------------------------------===//

#include "GradientTrace.h"

#include "Flow.h"
#include "Scales.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using namespace mpopt::confirming;

namespace {
class GradientTrace {
public:
  GradientTrace(const ProbePlan &plan, const RunRecords &runs,
                llvm::ArrayRef<BadValues> values)
      : plan(plan), runs(runs), values(values) {}

  RecordedGradients trace();

private:
  void makeFlow();
  void classify();
  int64_t findBadValue(int64_t probe) const;
  FirstBad describe(int64_t probe) const;
  std::string explain(int64_t probe) const;
  void addScales();

  const ProbePlan &plan;
  const RunRecords &runs;
  llvm::ArrayRef<BadValues> values;
  Flow flow;
  RecordedGradients found;
};
} // namespace

void GradientTrace::makeFlow() {
  flow.nodes.resize(plan.probes.size());
  for (const Probe &probe : plan.probes) {
    flow.nodes[probe.id].seen = &runs.gradients[probe.id];
    for (int64_t from : probe.from)
      if (from != probe.id)
        flow.connect(/*from=*/probe.id, /*to=*/from);
    // Any earlier probe may be a dependency that it does not name.
    if (probe.fromMore)
      for (int64_t id = 0; id < probe.id; ++id)
        flow.nodes[id].fromMore = true;
  }
}

/// The value, of the tensor or of one that depends on it, that may explain the
/// gradient's bad values.
int64_t GradientTrace::findBadValue(int64_t probe) const {
  const BadValues &own = found.bad[probe];
  auto isBad = [&](int64_t id) { return mayExplain(values[id], own); };
  if (isBad(probe))
    return probe;
  for (int64_t user : flow.nodes[probe].from)
    if (isBad(user))
      return user;
  return -1;
}

void GradientTrace::classify() {
  found.bad.resize(plan.probes.size());
  for (auto [seen, own] : llvm::zip(runs.gradients, found.bad)) {
    own.sharesSteps = seen.sharesSteps();
    uint64_t first =
        std::min(seen.record.first_nan_step, seen.record.first_inf_step);
    if (first != MPOPT_NEVER)
      own.step = first;
  }
  findBegins(flow, found.bad);
  for (int64_t id = 0; id < int64_t(found.bad.size()); ++id)
    if (found.bad[id].begins != Begins::No)
      found.bad[id].byValue = findBadValue(id);
}

std::string GradientTrace::explain(int64_t probe) const {
  const BadValues &own = found.bad[probe];
  std::string what = nameWorst(runs.gradients[probe].record).str();
  if (own.byValue >= 0)
    return what +
           " comes from values: " + plan.probes[own.byValue].tensor.name +
           (own.byValue == probe ? ", the tensor itself," : "") +
           " held NaN or infinity";
  if (own.begins == Begins::Maybe)
    return what + " begins here, or at another tensor of which the record does "
                  "not tell whether it was before";
  bool any = llvm::any_of(flow.nodes[probe].from, [&](int64_t user) {
    return runs.gradients[user].ran();
  });
  if (!any)
    return what + " came with the first gradient that a probe saw: of the "
                  "loss, or of a tensor behind this one";
  return what +
         " begins here, in the backward pass of the op that reads this "
         "tensor: no gradient that enters it was NaN or infinite by then";
}

FirstBad GradientTrace::describe(int64_t probe) const {
  FirstBad first;
  first.probe = probe;
  first.step = *found.bad[probe].step;
  first.sharesSteps = found.bad[probe].sharesSteps;
  first.isSure = found.bad[probe].begins == Begins::Yes;
  size_t reached = llvm::count(findReached(flow, found.bad, probe), true);
  first.reaches = reached > 1 ? Reach::Op : Reach::Nothing;
  first.isInput = plan.probes[probe].role == ProbeRole::Input;
  first.why = explain(probe);
  for (int64_t user : flow.nodes[probe].from) {
    if (!runs.gradients[user].ran())
      continue;
    first.before.push_back(user);
    // The way of one of them, read backwards.
    const Probe &after = plan.probes[user];
    if (first.chain.empty() && after.viaFrom == probe)
      first.chain.assign(after.via.rbegin(), after.via.rend());
  }
  return first;
}

// One scale for all: gradients are linear in the loss.
void GradientTrace::addScales() {
  ProbeSight all;
  mpopt_record_init(&all.record, 0, MPOPT_GRADIENT);
  for (const ProbeSight &seen : runs.gradients) {
    if (!seen.ran() || !seen.stored())
      continue;
    mpopt_record one = seen.record;
    one.probe = 0;
    (void)mpopt_record_merge(&all.record, &one);
  }
  found.scales = findScales(-1, all);
  found.nonZero = all.nonZero();
}

RecordedGradients GradientTrace::trace() {
  makeFlow();
  classify();
  // The last in the model comes first.
  for (int64_t id = int64_t(plan.probes.size()) - 1; id >= 0; --id)
    if (found.bad[id].begins != Begins::No)
      found.beginnings.push_back(describe(id));
  sortBeginnings(found.beginnings, /*backward=*/true);
  addScales();
  return std::move(found);
}

RecordedGradients confirming::traceGradients(const ProbePlan &plan,
                                             const RunRecords &runs,
                                             llvm::ArrayRef<BadValues> values) {
  return GradientTrace(plan, runs, values).trace();
}
