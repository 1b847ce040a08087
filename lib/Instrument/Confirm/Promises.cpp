//===- Promises.cpp - Assumptions that did not hold, bounds that broke ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bound holds for the arithmetic that was judged. What a run of the file
// computes is that only where nothing upstream was judged in another dtype than
// the file has (`as_filed`): the FP16 bound of a tensor says nothing of the
// values that an FP32 run of it has, whose operands were not rounded.
//
// Runtimes may compute a little differently from what was judged (TF32 on a
// GPU, fused kernels that keep wider intermediates, approximated functions), so
// a bound counts as broken only by more than that could explain.
//
//===----------------------------------------------------------------------===//

#include "Promises.h"

#include "mpopt/Numerics/Precision.h"
#include "mpopt/Report/Keys.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::confirming;
using llvm::StringRef;
using llvm::Twine;

static std::string text(double value) {
  std::string out;
  llvm::raw_string_ostream(out) << llvm::format("%.9g", value);
  return out;
}

static std::string text(const Interval &interval) {
  return "[" + text(interval.lo) + ", " + text(interval.hi) + "]";
}

//===----------------------------------------------------------------------===//
// Assumptions
//===----------------------------------------------------------------------===//

static std::string describeShape(llvm::ArrayRef<int64_t> dims) {
  std::string out = "[";
  llvm::raw_string_ostream os(out);
  llvm::interleaveComma(dims, os, [&](int64_t dim) {
    if (dim < 0)
      os << '?';
    else
      os << dim;
  });
  return out + "]";
}

/// Dims that the file (or `--dim`) fixes and the run had otherwise.
static std::optional<std::string> compareDims(const TensorFacts &tensor,
                                              const mpopt_record &record) {
  if (!tensor.shape || (record.flags & MPOPT_NO_SHAPE))
    return std::nullopt;
  const std::vector<int64_t> &dims = *tensor.shape;
  if ((record.flags & MPOPT_MIXED_RANK) || record.rank != dims.size())
    return "rank " + std::to_string(record.rank) +
           ((record.flags & MPOPT_MIXED_RANK) ? " and others" : "") +
           " in place of " + describeShape(dims);
  for (size_t axis = 0; axis < std::min<size_t>(dims.size(), MPOPT_MAX_DIMS);
       ++axis) {
    if (dims[axis] < 0)
      continue;
    int64_t least = record.dim_min[axis], most = record.dim_max[axis];
    if (least == dims[axis] && most == dims[axis])
      continue;
    std::string seen = std::to_string(least);
    if (most != least)
      seen += " to " + std::to_string(most);
    return "axis " + std::to_string(axis) + " had " + seen +
           " elements in place of " + std::to_string(dims[axis]);
  }
  return std::nullopt;
}

static void compareRange(const Probe &probe, const ProbeSight &seen,
                         const Assumption &assumed, std::vector<Outside> &out) {
  const mpopt_record &record = seen.record;
  if (record.nan || seen.infinite())
    out.push_back({probe.id, "non-finite",
                   "held " + std::to_string(record.nan + seen.infinite()) +
                       " NaN or infinite values"});
  if (!seen.finite())
    return;
  // The box in decimal, as the run's dtype has it.
  Interval box = assumed.bound;
  if (const FloatFormat *format = seen.stored()) {
    box.lo = std::min(box.lo, format->round(box.lo));
    box.hi = std::max(box.hi, format->round(box.hi));
  }
  Interval values = {record.min, record.max};
  if (!box.contains(values))
    out.push_back({probe.id, keys::kRange.str(),
                   "held values in " + text(values) + ", assumed were " +
                       text(assumed.bound)});
}

std::vector<Outside> confirming::findOutside(const Ledger &ledger,
                                             const RunRecords &runs) {
  std::vector<Outside> outside;
  llvm::StringMap<const Assumption *> assumptions;
  for (const Assumption &assumption : ledger.report.assumptions)
    assumptions[assumption.input] = &assumption;
  for (const Probe &probe : ledger.plan.probes) {
    const ProbeSight &seen = runs.probes[probe.id];
    if (!seen.ran())
      continue;
    const TensorFacts &tensor = probe.tensor;
    bool isInput = probe.role == ProbeRole::Input;
    // Statistics as outputs of a file whose dtype was not known have none.
    bool other = !seen.dtype().empty() && !tensor.fileDtype.empty() &&
                 tensor.fileDtype != "unknown" &&
                 seen.dtype() != tensor.fileDtype;
    // A TorchScript archive that ran under the autocast that was judged.
    if (Precision::of(ledger.report.precision).byPolicy)
      other &= seen.dtype() != tensor.dtype;
    if (other || (seen.record.flags & MPOPT_MIXED_DTYPE))
      outside.push_back(
          {probe.id, "dtype",
           "ran in " + seen.dtype().str() +
               ((seen.record.flags & MPOPT_MIXED_DTYPE) ? " and other dtypes"
                                                        : "") +
               // A module does not say what it takes.
               (isInput && ledger.report.format == "torchscript"
                    ? ", it was taken as "
                    : ", the file has ") +
               tensor.fileDtype});
    if (!isInput)
      continue;
    if (std::optional<std::string> dims = compareDims(tensor, seen.record))
      outside.push_back({probe.id, "dims", *dims});
    if (const Assumption *assumed = assumptions.lookup(tensor.name))
      compareRange(probe, seen, *assumed, outside);
  }
  return outside;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// By how much a run may differ from what was judged, as a share of the bound's
/// magnitude: TF32's 11 digits, or what some ops that leave out the rounding to
/// the narrowest dtype upstream are off by. No float: integers are exact.
static double getSlack(StringRef narrowest) {
  const FloatFormat *format = FloatFormat::byName(narrowest);
  if (!format)
    return 0x1p-40;
  return std::ldexp(1.0, std::max(-10, 4 - int(format->digits)));
}

namespace {
class Comparison {
public:
  Comparison(const Probe &probe, const ProbeSight &seen,
             std::vector<Exceeded> &out)
      : probe(probe), tensor(probe.tensor), seen(seen), record(seen.record),
        out(out), slack(getSlack(tensor.narrowest)) {}

  void run();

private:
  void report(StringRef kind, const Twine &what) {
    out.push_back({probe.id, kind.str(), what.str()});
  }
  bool nearEdge() const;

  const Probe &probe;
  const TensorFacts &tensor;
  const ProbeSight &seen;
  const mpopt_record &record;
  std::vector<Exceeded> &out;
  double slack;
};
} // namespace

/// A little more than the bound would overflow: then the flags are no promise.
bool Comparison::nearEdge() const {
  const FloatFormat *format = FloatFormat::byName(tensor.dtype);
  return !format || format->overflows(tensor.bound.maxAbs() * (1 + 4 * slack));
}

void Comparison::run() {
  const Interval &bound = tensor.bound;
  if (seen.finite()) {
    double room = slack * bound.maxAbs();
    Interval values = {record.min, record.max};
    Interval allowed = {bound.lo - room, bound.hi + room};
    if (bound.isEmpty() || !allowed.contains(values))
      report("bound", "held values in " + text(values) +
                          ", which should be in " + text(bound));
  }
  // A runtime that leaves out a rounding keeps what it would have flushed.
  const FloatFormat *narrowest = FloatFormat::byName(tensor.narrowest);
  bool wide = !narrowest || narrowest->bits >= 32;
  if (wide && seen.nonZero() && record.min_nonzero < tensor.minNonZero / 2)
    report("min_nonzero",
           "held a value of magnitude " + text(record.min_nonzero) +
               ", none but 0 should be below " + text(tensor.minNonZero));
  if (nearEdge())
    return;
  if (record.nan && !tensor.nan)
    report("non-finite", Twine(record.nan) + " values were NaN, none can be");
  if (record.pos_inf && !tensor.posInf)
    report("non-finite",
           Twine(record.pos_inf) + " values were Inf, none can be");
  if (record.neg_inf && !tensor.negInf)
    report("non-finite",
           Twine(record.neg_inf) + " values were -Inf, none can be");
}

/// ONNX Runtime computes in FP32 what it has no 16-bit kernel for, and leaves
/// out the roundings between such ops; a probe reads a rounded copy. What is
/// behind them may then be what FP16 cannot give: the logarithm of 1e-30.
static bool omitsRoundings(const RunRecords &runs) {
  return llvm::any_of(runs.runtimes, [](StringRef runtime) {
    return runtime.starts_with("onnxruntime");
  });
}

/// True if a tensor ran in another dtype than the file has: then an autocast
/// that the file does not know of was on, and may have cast what no probe sees.
static bool ranUnderAutocast(const Ledger &ledger, const RunRecords &runs) {
  return llvm::any_of(ledger.plan.probes, [&](const Probe &probe) {
    StringRef dtype = runs.probes[probe.id].dtype();
    return !dtype.empty() && !probe.tensor.fileDtype.empty() &&
           dtype != probe.tensor.fileDtype;
  });
}

void confirming::findExceeded(const Ledger &ledger, const RunRecords &runs,
                              Confirmation &confirmation) {
  if (!confirmation.outside.empty() || ranUnderAutocast(ledger, runs))
    return;
  // Bounds by element cannot be checked by a hull.
  if (llvm::any_of(ledger.report.assumptions, [](const Assumption &assumption) {
        return assumption.byElement;
      }))
    return;
  bool omits = omitsRoundings(runs);
  llvm::StringMap<int64_t> comparable;
  for (const Probe &probe : ledger.plan.probes) {
    const ProbeSight &seen = runs.probes[probe.id];
    const TensorFacts &tensor = probe.tensor;
    if (!tensor.asFiled || !seen.ran() || !seen.record.count ||
        (seen.record.flags & MPOPT_COUNT_ONLY) || seen.dtype() != tensor.dtype)
      continue;
    if (omits && tensor.afterRounding)
      continue;
    ++confirmation.comparable;
    comparable[tensor.name] = probe.id;
    Comparison(probe, seen, confirmation.exceeded).run();
  }
  // Certain findings about ranges have to be confirmed: they hold for every
  // input. Those that a run itself made (MP5xx) hold for that run only.
  auto isPrediction = [](const Finding &finding) {
    return finding.certainty == Certainty::Certain && isByRange(finding.rule) &&
           findRule(finding.rule)->isPass;
  };
  for (auto [finding, status] :
       llvm::zip(ledger.report.findings, confirmation.statuses)) {
    if (!isPrediction(finding) || status.status != Status::Refuted ||
        !status.probe)
      continue;
    const Probe &probe = ledger.plan.probes[*status.probe];
    if (comparable.count(probe.tensor.name))
      confirmation.exceeded.push_back(
          {probe.id, "certain",
           finding.rule +
               " was certain, and was not seen: " + finding.message});
  }
}
