//===- Against.cpp - Two runs of one model side by side -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/Against.h"

#include "Projections.h"
#include "RunScale.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Report/Keys.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::confirming;
using llvm::StringRef;

/// Roundings of one layer: its operands, partial sums and result.
static constexpr double kRoundingsPerLayer = 4;
/// The difference of FP32 kernels that add in another order, as for ranks that
/// hold the same parameters (MP511).
static constexpr double kOrderOfSums = 1e-5;
/// Relative to the larger one, unrelated gradients are the root of 2 apart and
/// those of opposite signs 2: the limit lies between.
static constexpr double kMostOfGradients = 1.7;

StringRef mpopt::getKindName(uint32_t kind) {
  // In the order of MPOPT_KINDS (Kernels/Record.h).
  static constexpr StringRef kNames[MPOPT_KINDS] = {
      "value", keys::kGradient, "parameter", "optimizer", "scalar"};
  return kNames[kind];
}

const RunDifference *RunComparison::findFirst(uint32_t kind) const {
  auto found = llvm::find_if(differences, [&](const RunDifference &entry) {
    return entry.kind == kind && !entry.isExplained();
  });
  return found == differences.end() ? nullptr : &*found;
}

static const ProbeSight *findSight(const RunRecords &runs, uint32_t kind,
                                   int64_t probe) {
  const ProbeSight *sight = nullptr;
  if (kind == MPOPT_VALUE)
    sight = &runs.probes[probe];
  else if (kind == MPOPT_GRADIENT)
    sight = &runs.gradients[probe];
  else if (auto found = runs.others.find({kind, probe});
           found != runs.others.end())
    sight = &found->second;
  return sight && sight->ran() ? sight : nullptr;
}

namespace {
class Comparer {
public:
  Comparer(const ProbePlan &plan, const RunRecords &runs,
           const ProbePlan &otherPlan, const RunRecords &others)
      : plans{&plan, &otherPlan}, runs{&runs, &others} {
    for (int side : {0, 1})
      if (std::optional<RunScale> scale =
              findRunScale(*plans[side], *this->runs[side]))
        scales[side] = scale->range;
    for (int side : {0, 1})
      projections[side] = Projections::read(this->runs[side]->paths);
    // Under autocast any op may be in its format, whatever it gives.
    for (const Projections &run : projections)
      for (const auto &[name, used] : run.formats)
        if (const FloatFormat *format = FloatFormat::byName(name))
          narrowest = std::max(narrowest, format->unitRoundoff());
    findLayers();
  }

  RunComparison run() {
    comparison.files = runs[1]->files;
    for (uint32_t kind :
         {MPOPT_VALUE, MPOPT_GRADIENT, MPOPT_PARAMETER, MPOPT_OPTIMIZER})
      compare(kind);
    return std::move(comparison);
  }

private:
  void compare(uint32_t kind);
  /// Why the two cannot be compared; empty if they can.
  std::string findObstacle(uint32_t kind, const ProbeSight &one,
                           const ProbeSight &other) const;
  RunDifference differ(uint32_t kind, const ProbeSight &one,
                       const ProbeSight &other) const;
  /// Ids of probes that recorded the kind, in the order of the run.
  std::vector<int64_t> listProbes(int side, uint32_t kind) const;
  void findLayers();
  /// The layer that a parameter belongs to.
  static StringRef getLayer(StringRef parameter) {
    return parameter.rsplit('.').first;
  }
  /// The most that is explained of the tensor at a place, from 1, in the order
  /// of its kind.
  double explain(uint32_t kind, double place, double roundoff) const;
  void leaveOut(int side, int64_t probe, uint32_t kind, std::string why) {
    comparison.incomparable.push_back(
        {plans[side]->probes[probe].tensor.name, kind, std::move(why)});
  }

  const ProbePlan *plans[2];
  const RunRecords *runs[2];
  /// The loss scales by which recorded gradients are multiplied.
  Interval scales[2] = {{1, 1}, {1, 1}};
  Projections projections[2];
  /// The first run's sums of squares of the gradients of a layer's
  /// parameters.
  llvm::StringMap<double> layers;
  /// The unit roundoff of the narrowest format that is known to be in use so
  /// far, and how many values were compared.
  double narrowest = 0;
  size_t numValues = 0;
  RunComparison comparison;
};
} // namespace

std::vector<int64_t> Comparer::listProbes(int side, uint32_t kind) const {
  std::vector<std::pair<double, int64_t>> places;
  for (const Probe &probe : plans[side]->probes) {
    if (!findSight(*runs[side], kind, probe.id))
      continue;
    const ProbeSight *order =
        kind == MPOPT_VALUE ? findSight(*runs[side], MPOPT_SCALAR, probe.id)
                            : nullptr;
    places.emplace_back(order ? order->record.min : kInfinity, probe.id);
  }
  llvm::stable_sort(places, [](const auto &one, const auto &other) {
    return one.first < other.first;
  });
  std::vector<int64_t> probes;
  for (const auto &[place, probe] : places)
    probes.push_back(probe);
  // A gradient's way begins at the last one.
  if (kind == MPOPT_GRADIENT)
    std::reverse(probes.begin(), probes.end());
  return probes;
}

void Comparer::findLayers() {
  for (const Probe &probe : plans[0]->probes) {
    const ProbeSight &seen = runs[0]->gradients[probe.id];
    double size = seen.rootMeanSquare();
    if (probe.role == ProbeRole::Parameter && seen.ran())
      layers[getLayer(probe.tensor.name)] +=
          size * size * double(seen.finite());
  }
}

double Comparer::explain(uint32_t kind, double place, double roundoff) const {
  if (kind == MPOPT_PARAMETER)
    // It is rounded once.
    return kRoundingsPerLayer * roundoff;
  if (kind == MPOPT_VALUE)
    return std::max(kRoundingsPerLayer * roundoff * std::sqrt(place),
                    kOrderOfSums);
  // A gradient carries the roundings of the whole way to it. Where operands of
  // ReLUs and of maxima differ by a share d, a share d of them takes the other
  // side, and its gradient is an unrelated one: the root mean square moves by
  // the root of d.
  double values = kRoundingsPerLayer * roundoff *
                  std::sqrt(double(std::max<size_t>(numValues, 1)));
  return std::sqrt(std::max(values, kOrderOfSums) * place);
}

std::string Comparer::findObstacle(uint32_t kind, const ProbeSight &one,
                                   const ProbeSight &other) const {
  for (const ProbeSight *sight : {&one, &other}) {
    if (!sight->stored())
      return "it is of no float format";
    if (!sight->hasDistribution() || (sight->record.flags & MPOPT_COUNT_ONLY))
      return "a record has no sums";
  }
  if (one.record.calls != other.record.calls ||
      one.record.count != other.record.count)
    return std::to_string(one.record.count) + " elements in " +
           std::to_string(one.record.calls) + " calls, and " +
           std::to_string(other.record.count) + " in " +
           std::to_string(other.record.calls) + ": not the same batches";
  for (const Interval &scale : scales)
    if (kind == MPOPT_GRADIENT && scale.lo != scale.hi)
      return "the loss scale of a run changed";
  return "";
}

RunDifference Comparer::differ(uint32_t kind, const ProbeSight &one,
                               const ProbeSight &other) const {
  RunDifference found;
  found.kind = kind;
  const ProbeSight *sights[2] = {&one, &other};
  double means[2], roundoff = 0;
  uint64_t bad[2];
  for (int side : {0, 1}) {
    const ProbeSight &sight = *sights[side];
    double scale = kind == MPOPT_GRADIENT ? scales[side].lo : 1;
    found.dtypes[side] = sight.dtype().str();
    found.rootMeanSquares[side] = sight.rootMeanSquare() / scale;
    means[side] = sight.finite() ? mpopt_record_mean(&sight.record) / scale : 0;
    bad[side] = sight.record.count - sight.finite();
    roundoff = std::max(roundoff, sight.stored()->unitRoundoff());
  }
  double size = found.rootMeanSquares[0], reference = size;
  double apart = std::max(std::abs(size - found.rootMeanSquares[1]),
                          std::abs(means[0] - means[1]));
  const auto &tensor = plans[0]->probes[one.record.probe].tensor;
  if (kind == MPOPT_GRADIENT && layers.contains(getLayer(tensor.name)) &&
      plans[0]->probes[one.record.probe].role == ProbeRole::Parameter)
    reference = std::sqrt(layers.lookup(getLayer(tensor.name)) /
                          double(std::max<uint64_t>(one.finite(), 1))) /
                scales[0].lo;
  if (bad[0] != bad[1] || (reference == 0 && apart != 0))
    found.difference = kInfinity;
  else if (reference != 0)
    found.difference = apart / reference;
  if (std::optional<double> distance = projections[0].findDistance(
          projections[1], getKindName(kind), tensor.name);
      distance && reference != 0) {
    found.elements = *distance * size / reference;
    found.difference = std::max(found.difference, *found.elements);
  }
  found.roundoff = roundoff;
  if (reference != 0)
    found.mostOfGradient =
        kMostOfGradients *
        std::max(found.rootMeanSquares[0], found.rootMeanSquares[1]) /
        reference;
  if (one.record.first_step != MPOPT_NEVER)
    found.step = one.record.first_step;
  return found;
}

void Comparer::compare(uint32_t kind) {
  llvm::StringMap<int64_t> known;
  for (int64_t probe : listProbes(1, kind))
    known.try_emplace(plans[1]->probes[probe].tensor.name, probe);
  std::vector<int64_t> probes = listProbes(0, kind);
  size_t place = 0;
  for (int64_t probe : probes) {
    StringRef name = plans[0]->probes[probe].tensor.name;
    auto found = known.find(name);
    if (found == known.end()) {
      leaveOut(0, probe, kind, "only the first run recorded it");
      continue;
    }
    const ProbeSight &one = *findSight(*runs[0], kind, probe);
    const ProbeSight &other = *findSight(*runs[1], kind, found->second);
    known.erase(found);
    if (std::string why = findObstacle(kind, one, other); !why.empty()) {
      leaveOut(0, probe, kind, std::move(why));
      continue;
    }
    RunDifference difference = differ(kind, one, other);
    difference.probe = probe;
    // A tensor in FP32 may come of others that were not.
    double roundoff = difference.roundoff;
    if (kind == MPOPT_VALUE || kind == MPOPT_GRADIENT)
      roundoff = narrowest = std::max(narrowest, roundoff);
    difference.explained = explain(kind, double(++place), roundoff);
    if (kind == MPOPT_GRADIENT)
      difference.explained =
          std::min(difference.explained, difference.mostOfGradient);
    numValues += kind == MPOPT_VALUE;
    comparison.differences.push_back(std::move(difference));
  }
  for (int64_t probe : listProbes(1, kind))
    if (known.contains(plans[1]->probes[probe].tensor.name))
      leaveOut(1, probe, kind, "only the second run recorded it");
}

RunComparison mpopt::compareRuns(const ProbePlan &plan, const RunRecords &runs,
                                 const ProbePlan &otherPlan,
                                 const RunRecords &others) {
  return Comparer(plan, runs, otherPlan, others).run();
}

std::string mpopt::describeDifference(const RunDifference &difference,
                                      StringRef name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (difference.step)
    os << "step " << *difference.step << ": ";
  os << "'" << name << "' is the first " << getKindName(difference.kind)
     << " in which the runs differ: ";
  if (std::isinf(difference.difference))
    os << (difference.rootMeanSquares[0] == 0
               ? "it is 0 in one run, or one holds NaN or Inf"
               : "one run holds NaN or Inf and the other does not");
  else
    os << "root mean squares "
       << llvm::format("%.6g", difference.rootMeanSquares[0]) << " in "
       << difference.dtypes[0] << " and "
       << llvm::format("%.6g", difference.rootMeanSquares[1]) << " in "
       << difference.dtypes[1] << ", "
       << (difference.elements == difference.difference ? "elements " : "")
       << llvm::format("%.3g", difference.difference)
       << " apart where rounding explains "
       << llvm::format("%.3g", difference.explained);
  os << "; compare its weights, its epsilon and its kernel in both, or keep it "
        "in FP32";
  return text;
}
