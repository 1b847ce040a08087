//===- Plan.cpp - Which tensors are looked at -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sentinels: every float tensor that is not proved finite, but for those whose
// op only moves elements. Where the assumptions hold, a NaN or infinity can
// begin at no other tensor; so the first sentinel in program order that is not
// finite although all those it depends on are names the op that made it.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Instrument/Plan.h"

#include "mpopt/Report/Keys.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Regex.h"

using namespace mpopt;
using llvm::StringRef;

// Probes above a tensor, and ops between it and the nearest, that the ledger
// stores: bounds its size in wide graphs.
static constexpr size_t kMostFrom = 64, kMostVia = 16;

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
  case ProbeRole::Parameter:
    return "parameter";
  case ProbeRole::Scalar:
    return "scalar";
  }
  llvm_unreachable("unknown role");
}

std::optional<ProbeRole> mpopt::parseProbeRole(StringRef text) {
  return llvm::StringSwitch<std::optional<ProbeRole>>(text)
      .Case("input", ProbeRole::Input)
      .Case("finding", ProbeRole::Finding)
      .Case("sentinel", ProbeRole::Sentinel)
      .Case("chosen", ProbeRole::Chosen)
      .Case("parameter", ProbeRole::Parameter)
      .Case("scalar", ProbeRole::Scalar)
      .Default(std::nullopt);
}

/// No fewer than the states that a pattern compiles to, per character of it:
/// LLVM's compiler writes what `{1,200}` repeats 200 times, and repeats inside
/// each other multiply, as all are taken to do here.
static uint64_t countRepeats(StringRef pattern) {
  uint64_t product = 1;
  while (!pattern.empty()) {
    pattern = pattern.split('{').second;
    uint64_t least = 1, most = 1;
    if (!pattern.consumeInteger(10, least) && pattern.consume_front(","))
      (void)pattern.consumeInteger(10, most);
    product =
        llvm::SaturatingMultiply(product, std::max<uint64_t>({least, most, 1}));
  }
  return product;
}

/// A MiB of states; a list of ten thousand names has room.
static constexpr uint64_t kMostStates = 1 << 20;

llvm::Expected<ProbeSelection> ProbeSelection::parse(StringRef text) {
  if (text == "findings")
    return ProbeSelection{};
  if (text == "all")
    return ProbeSelection{.kind = Kind::All};
  if (llvm::SaturatingMultiply<uint64_t>(text.size(), countRepeats(text)) >
      kMostStates)
    return llvm::createStringError("the regular expression repeats too much: "
                                   "a repeated part counts as often");
  if (std::string reason; !llvm::Regex(text).isValid(reason))
    return llvm::createStringError("'" + text +
                                   "' is not a regular expression: " + reason);
  return ProbeSelection{.kind = Kind::Pattern, .pattern = text.str()};
}

namespace {
/// A tensor's probe, or the nearest ones above it.
struct Above {
  using Ids = llvm::SmallVector<int64_t, 2>;
  Ids all;
  /// NaN and infinities of which may reach the tensor.
  Ids carrying;
  /// There are others.
  bool more = false;

  /// True if something is new.
  bool add(const Above &other);
};

class Planner {
public:
  Planner(llvm::ArrayRef<TensorFacts> tensors, const ProbeSelection &selection)
      : tensors(tensors), selection(selection), pattern(selection.pattern) {}

  void takeFindings(llvm::ArrayRef<Finding> findings);
  ProbePlan make(Placeable placeable);
  bool matchedAny() const { return matched; }

private:
  std::optional<ProbeRole> choose(const TensorFacts &tensor);
  void addProbes(ProbePlan &plan, Placeable placeable);
  void addParameter(ProbePlan &plan, unsigned index, Placeable placeable);
  void findAbove();
  void connect(unsigned index, Probe &probe) const;
  void trace(unsigned index, Probe &probe) const;

  llvm::ArrayRef<TensorFacts> tensors;
  const ProbeSelection &selection;
  llvm::Regex pattern;
  llvm::StringMap<std::vector<std::string>> fingerprints; ///< by tensor
  /// Those of which the values tell, not the gradient alone.
  llvm::StringSet<> valued;
  llvm::StringMap<int64_t> axes; ///< by tensor
  bool matched = false;
  std::vector<int64_t> ids; ///< by tensor; -1: no probe
  /// By tensor: the probes on its gradient as a parameter.
  llvm::DenseMap<unsigned, llvm::SmallVector<int64_t, 2>> parameters;
  std::vector<Above> above; ///< by tensor
};
} // namespace

bool Above::add(const Above &other) {
  size_t before = all.size() + carrying.size() + more;
  more |= other.more;
  auto join = [&](Ids &into, const Ids &from) {
    for (int64_t id : from) {
      if (llvm::is_contained(into, id))
        continue;
      if (into.size() == kMostFrom) {
        more = true;
        return;
      }
      into.push_back(id);
    }
  };
  join(all, other.all);
  join(carrying, other.carrying);
  return all.size() + carrying.size() + more != before;
}

void Planner::takeFindings(llvm::ArrayRef<Finding> findings) {
  for (const Finding &finding : findings) {
    for (const Watch &watch : finding.watches) {
      if (watch.test == Decision::FileFact)
        continue;
      if (watch.axis >= 0)
        axes.try_emplace(watch.tensor, watch.axis);
      bool ofGradients = looksAtGradient(watch.test);
      if (!ofGradients)
        valued.insert(watch.tensor);
      // The gradient of a factor that is 0 tells whether it learns.
      bool isZero = watch.test == Decision::GradientZero;
      if (!isZero && !watch.factor.empty())
        valued.insert(watch.factor);
      for (const std::string &tensor :
           {watch.tensor, watch.against, watch.factor}) {
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
  // A parameter has a probe for its gradient.
  bool hasOther = selection.train && tensor.isParameter;
  if (fingerprints.count(tensor.name) &&
      (!hasOther || valued.contains(tensor.name)))
    return ProbeRole::Finding;
  // An integer kernel reads them all the same, so the run is as it was.
  if (tensor.codes)
    return ProbeRole::Chosen;
  if (!tensor.isFloat || tensor.isConstant)
    return std::nullopt;
  if (tensor.mayBeNonFinite() && !tensor.isMoved)
    return ProbeRole::Sentinel;
  if (selection.kind == ProbeSelection::Kind::All ||
      (selection.train && (tensor.isLayer || tensor.name == selection.loss)))
    return ProbeRole::Chosen;
  return std::nullopt;
}

static bool holdsNumbers(const TensorFacts &tensor) {
  StringRef dtype = tensor.fileDtype.empty() ? tensor.dtype : tensor.fileDtype;
  return dtype != "string" && !dtype.starts_with("complex");
}

static bool holdsReals(const TensorFacts &tensor) {
  return tensor.isFloat || StringRef(tensor.dtype).starts_with("complex");
}

static bool mayHoldNonFinite(const TensorFacts &tensor) {
  return holdsReals(tensor) && !tensor.isConstant && tensor.mayBeNonFinite();
}

// Loop-carried dependencies point backwards: repeat until nothing is new.
void Planner::findAbove() {
  above.resize(tensors.size());
  // A gradient of a parameter follows from those of what depends on it; no
  // value of it is known, so it explains none.
  for (const auto &[index, probes] : parameters)
    above[index].all.assign(probes.begin(), probes.end());
  for (auto [index, id] : llvm::enumerate(ids)) {
    if (id < 0)
      continue;
    above[index].all.insert(above[index].all.begin(), id);
    if (holdsReals(tensors[index]))
      above[index].carrying = {id};
  }
  for (bool again = true; again;) {
    again = false;
    for (auto [index, tensor] : llvm::enumerate(tensors)) {
      if (ids[index] >= 0 || parameters.contains(index))
        continue;
      for (unsigned operand : tensor.operands) {
        Above from = above[operand];
        if (!mayHoldNonFinite(tensor))
          from.carrying.clear();
        if (above[index].add(from))
          again |= llvm::any_of(tensor.operands,
                                [&](unsigned at) { return at >= index; });
      }
    }
  }
}

/// Back to the nearest probe, along one operand of each op: one by which NaN
/// may come, or else one that depends on a probe.
void Planner::trace(unsigned index, Probe &probe) const {
  for (unsigned at = index;
       probe.via.size() < kMostVia && !tensors[at].op.name.empty();) {
    probe.via.push_back(tensors[at].op.name);
    for (const std::string &op : llvm::reverse(tensors[at].unseen))
      if (probe.via.size() < kMostVia)
        probe.via.push_back(op);
    const unsigned *next = nullptr;
    unsigned best = 0;
    for (const unsigned &operand : tensors[at].operands) {
      if (operand >= at || tensors[operand].isConstant)
        continue;
      unsigned rank = above[operand].all.empty()        ? 1
                      : above[operand].carrying.empty() ? 2
                                                        : 3;
      if (rank > best) {
        best = rank;
        next = &operand;
      }
    }
    if (!next)
      break;
    at = *next;
    if (ids[at] >= 0) {
      probe.viaFrom = ids[at];
      break;
    }
  }
  std::reverse(probe.via.begin(), probe.via.end());
}

void Planner::connect(unsigned index, Probe &probe) const {
  Above from;
  for (unsigned operand : tensors[index].operands)
    from.add(above[operand]);
  probe.from.assign(from.all.begin(), from.all.end());
  probe.fromMore = from.more;
  for (int64_t id : from.all)
    if (!llvm::is_contained(from.carrying, id))
      probe.blocked.push_back(id);
  trace(index, probe);
}

// No value is recorded, so that it costs nothing between two steps.
void Planner::addParameter(ProbePlan &plan, unsigned index,
                           Placeable placeable) {
  const TensorFacts &tensor = tensors[index];
  if (std::string why = placeable(tensor.name); !why.empty()) {
    plan.unprobed.push_back({tensor.name, std::move(why)});
    return;
  }
  auto add = [&](bool cast) {
    Probe probe;
    probe.id = int64_t(plan.probes.size());
    probe.role = ProbeRole::Parameter;
    probe.tensor = tensor;
    probe.gradient = true;
    probe.cast = cast;
    probe.fingerprints = fingerprints.lookup(tensor.name);
    if (cast) {
      probe.tensor.dtype = tensor.castTo;
      probe.tensor.asFiled = false;
    }
    parameters[index].push_back(probe.id);
    plan.probes.push_back(std::move(probe));
  };
  if (!tensor.castTo.empty())
    add(/*cast=*/true);
  if (tensor.usedAsIs)
    add(/*cast=*/false);
}

void Planner::addProbes(ProbePlan &plan, Placeable placeable) {
  ids.assign(tensors.size(), -1);
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    if (selection.train && tensor.isParameter)
      addParameter(plan, unsigned(index), placeable);
    std::optional<ProbeRole> role = choose(tensor);
    if (!role)
      continue;
    std::string why = holdsNumbers(tensor) ? placeable(tensor.name)
                                           : "it holds no real numbers";
    if (!why.empty()) {
      if (*role != ProbeRole::Chosen)
        plan.unprobed.push_back({tensor.name, std::move(why)});
      continue;
    }
    Probe probe;
    probe.id = ids[index] = int64_t(plan.probes.size());
    probe.role = *role;
    probe.tensor = tensor;
    if (auto found = fingerprints.find(tensor.name);
        found != fingerprints.end())
      probe.fingerprints = found->second;
    if (auto found = axes.find(tensor.name); found != axes.end())
      probe.channelAxis = found->second;
    probe.gradient = selection.train && tensor.isFloat && !tensor.isInput &&
                     !tensor.isConstant;
    probe.isLoss = probe.gradient && tensor.name == selection.loss;
    plan.probes.push_back(std::move(probe));
  }
  if (selection.train) {
    Probe scale;
    scale.id = int64_t(plan.probes.size());
    scale.role = ProbeRole::Scalar;
    scale.tensor.name = keys::kLossScale;
    scale.tensor.dtype = "f64";
    scale.tensor.bound = Interval::whole();
    plan.probes.push_back(std::move(scale));
  }
}

ProbePlan Planner::make(Placeable placeable) {
  ProbePlan plan;
  addProbes(plan, placeable);
  findAbove();
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    if (ids[index] >= 0)
      connect(index, plan.probes[ids[index]]);
    if (tensor.isOutput)
      for (int64_t id : above[index].carrying)
        plan.probes[id].output = true;
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
