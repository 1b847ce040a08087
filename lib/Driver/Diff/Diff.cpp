//===- Diff.cpp - mpopt --diff --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops are matched first (Match.h); findings follow their ops.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Driver/Diff.h"

#include "Match.h"
#include "Sides.h"

#include "mpopt/Driver/Actions.h"
#include "mpopt/Driver/Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::diffing;
using llvm::Error;
using llvm::StringRef;

StringRef mpopt::toString(DiffKind kind) {
  switch (kind) {
  case DiffKind::Model:
    return "model";
  case DiffKind::Report:
    return "report";
  case DiffKind::Record:
    return "record";
  }
  llvm_unreachable("unknown kind");
}

bool diffing::isNarrow(StringRef dtype) {
  return dtype == "f16" || dtype == "bf16" || dtype.starts_with("f8");
}

/// The precision to which a converter brought `side`: that of most of its
/// narrow ops; empty if it has none.
static std::string getNarrowest(const DiffSide &side) {
  auto count = [&](StringRef dtype) {
    return llvm::count_if(side.ops,
                          [&](const DiffOp &op) { return op.dtype == dtype; });
  };
  if (side.kind == DiffKind::Report)
    return "";
  auto half = count("f16"), brain = count("bf16");
  return half + brain == 0 ? "" : half >= brain ? "fp16" : "bf16";
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

namespace {
/// Pairs the findings of both sides: of the same rule at ops that are the same,
/// then by fingerprint.
class FindingMatcher {
public:
  FindingMatcher(const DiffReport &diff, const OpMatches *ops);

  /// By finding of a side: its partner, or null.
  std::vector<const Finding *> ofA, ofB;

private:
  void pair(size_t first, size_t second) {
    ofA[first] = &b[second];
    ofB[second] = &a[first];
  }
  void matchByOp(const DiffReport &diff, const OpMatches &ops);
  void matchByFingerprint();

  llvm::ArrayRef<Finding> a, b;
};
} // namespace

FindingMatcher::FindingMatcher(const DiffReport &diff, const OpMatches *ops)
    : a(diff.a.report.findings), b(diff.b.report.findings) {
  ofA.assign(a.size(), nullptr);
  ofB.assign(b.size(), nullptr);
  if (ops)
    matchByOp(diff, *ops);
  matchByFingerprint();
}

void FindingMatcher::matchByOp(const DiffReport &diff, const OpMatches &ops) {
  llvm::StringMap<std::vector<size_t>> ofOps;
  auto key = [](const Finding &finding, StringRef op) {
    return (finding.rule + "\n" + op).str();
  };
  for (size_t second = b.size(); second-- > 0;)
    ofOps[key(b[second], b[second].op.name)].push_back(second);
  // Each op of a model once; of a record, the first of its tensors.
  llvm::StringMap<StringRef> partners;
  for (size_t first = 0; first < diff.a.ops.size(); ++first)
    if (ops.ofA[first] >= 0 && !diff.a.ops[first].op.empty())
      partners.try_emplace(diff.a.ops[first].op,
                           diff.b.ops[size_t(ops.ofA[first])].op);
  for (size_t first = 0; first < a.size(); ++first) {
    auto partner = partners.find(a[first].op.name);
    if (partner == partners.end() || partner->second.empty())
      continue;
    auto found = ofOps.find(key(a[first], partner->second));
    if (found == ofOps.end() || found->second.empty())
      continue;
    pair(first, found->second.back());
    found->second.pop_back();
  }
}

void FindingMatcher::matchByFingerprint() {
  llvm::StringMap<size_t> known;
  for (size_t second = 0; second < b.size(); ++second)
    if (!ofB[second])
      known.try_emplace(b[second].fingerprint, second);
  for (size_t first = 0; first < a.size(); ++first)
    if (auto found = known.find(a[first].fingerprint);
        !ofA[first] && found != known.end()) {
      pair(first, found->second);
      known.erase(found);
    }
}

static std::string getElsewhere(const DiffSide &side, const Finding &finding) {
  auto why = side.unconfirmed.find(finding.fingerprint);
  return why == side.unconfirmed.end() ? "" : why->second;
}

static void compareFindings(DiffReport &diff, const OpMatches *ops) {
  FindingMatcher matcher(diff, ops);
  for (auto [finding, partner] :
       llvm::zip(diff.b.report.findings, matcher.ofB)) {
    if (!partner)
      diff.came.push_back({&finding, getElsewhere(diff.a, finding)});
    else if (finding.severity > partner->severity)
      diff.came.push_back({&finding, std::string(toString(partner->severity))});
    else
      ++diff.stayed;
  }
  for (auto [finding, partner] : llvm::zip(diff.a.report.findings, matcher.ofA))
    if (!partner)
      diff.went.push_back({&finding, getElsewhere(diff.b, finding)});
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// True if an end moved by a factor of two or more, or to the other side of 0.
static bool hasMoved(const Interval &a, const Interval &b) {
  auto moved = [](double from, double to) {
    if (from == to)
      return false;
    return !(from * to > 0) || std::abs(from) >= 2 * std::abs(to) ||
           std::abs(to) >= 2 * std::abs(from);
  };
  return moved(a.lo, b.lo) || moved(a.hi, b.hi);
}

/// The same of values that a run saw, of which the lesser end is a matter of
/// chance: it counts where it moved by half of the larger magnitude.
static bool hasSeenMoved(const Interval &a, const Interval &b) {
  double from = std::max(std::abs(a.lo), std::abs(a.hi));
  double to = std::max(std::abs(b.lo), std::abs(b.hi));
  if (from == to && from == 0)
    return false;
  double largest = std::max(from, to);
  return largest >= 2 * std::min(from, to) ||
         std::abs(a.lo - b.lo) >= largest / 2 ||
         std::abs(a.hi - b.hi) >= largest / 2;
}

/// True if a magnitude is more than a rounding to BF16 away from another.
static bool isOther(double from, double to) {
  return std::abs(to - from) > std::max(from, to) * 0x1p-7;
}

static void compareConstants(DiffReport &diff, const DiffOp &op,
                             const DiffOp &other) {
  if (op.constants.size() != other.constants.size())
    return;
  for (size_t index = 0; index < op.constants.size(); ++index)
    if (isOther(op.constants[index].second, other.constants[index].second))
      diff.constants.push_back({{&op, &other}, index});
}

static bool isOfReports(const DiffReport &diff) {
  return diff.a.kind == DiffKind::Report || diff.b.kind == DiffKind::Report;
}

static void compareOps(DiffReport &diff, const OpMatches &matches) {
  bool areReports = isOfReports(diff);
  bool areRecords = diff.a.kind == DiffKind::Record;
  llvm::StringSet<> needed;
  for (const std::string &name : diff.a.needed)
    needed.insert(name);
  llvm::StringSet<> compared;
  for (size_t first = 0; first < diff.a.ops.size(); ++first) {
    const DiffOp &op = diff.a.ops[first];
    if (matches.ofA[first] < 0) {
      if (!areReports)
        diff.onlyA.push_back(&op);
      continue;
    }
    const DiffOp &other = diff.b.ops[size_t(matches.ofA[first])];
    // A tensor of a report comes with each of its findings.
    if (areReports && !compared.insert(op.name).second)
      continue;
    ++diff.matched;
    if (op.dtype != other.dtype)
      diff.dtypes.push_back({&op, &other});
    if (op.bound && other.bound &&
        (areRecords ? hasSeenMoved : hasMoved)(*op.bound, *other.bound))
      diff.ranges.push_back({&op, &other});
    if (op.isGradient || op.op.empty())
      continue;
    compareConstants(diff, op, other);
    if (other.dtype == "f32" && !needed.contains(op.op))
      diff.wide.push_back({&op, &other});
    if (isNarrow(other.dtype) && !isNarrow(op.dtype) && needed.contains(op.op))
      diff.narrowed.push_back({&op, &other});
  }
  if (!areReports)
    for (size_t second = 0; second < diff.b.ops.size(); ++second)
      if (matches.ofB[second] < 0)
        diff.onlyB.push_back(&diff.b.ops[second]);
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

double DiffCodes::error() const {
  auto of = [](const QuantizedTensor *side) {
    return side && !std::isnan(side->error) ? side->error : 0;
  };
  return std::max(of(a), of(b));
}

/// True if either has other codes; scales that differ by less than a hundredth
/// come of calibrations that differ by chance.
static bool hasOtherCodes(const QuantizedTensor &a, const QuantizedTensor &b) {
  constexpr double kChance = 0.01;
  auto differ = [](double from, double to) {
    return std::abs(to - from) >
           kChance * std::max(std::abs(from), std::abs(to));
  };
  return a.codes != b.codes || a.scales != b.scales ||
         a.zeroPoint != b.zeroPoint || differ(a.scale.lo, b.scale.lo) ||
         differ(a.scale.hi, b.scale.hi);
}

/// Tensors by name, as quantisers leave them.
static void compareCodes(DiffReport &diff, const OpMatches &matches) {
  if (diff.a.quantized.empty() || diff.b.quantized.empty())
    return;
  llvm::StringMap<const QuantizedTensor *> others;
  for (const QuantizedTensor &tensor : diff.b.quantized)
    others[tensor.tensor] = &tensor;
  for (const QuantizedTensor &tensor : diff.a.quantized) {
    const QuantizedTensor *other = others.lookup(tensor.tensor);
    others.erase(tensor.tensor);
    if (!other || hasOtherCodes(tensor, *other))
      diff.codes.push_back({&tensor, other});
  }
  for (const QuantizedTensor &tensor : diff.b.quantized)
    if (others.contains(tensor.tensor))
      diff.codes.push_back({nullptr, &tensor});
  llvm::stable_sort(diff.codes, [](const DiffCodes &lhs, const DiffCodes &rhs) {
    return lhs.error() > rhs.error();
  });
  for (size_t first = 0; first < diff.a.ops.size(); ++first) {
    if (matches.ofA[first] < 0)
      continue;
    const DiffOp &op = diff.a.ops[first];
    const DiffOp &other = diff.b.ops[size_t(matches.ofA[first])];
    if (op.readsCodes && other.readsCodes &&
        *op.readsCodes != *other.readsCodes)
      (*op.readsCodes ? diff.leftOut : diff.takenIn).push_back({&op, &other});
  }
}

//===----------------------------------------------------------------------===//
// The two sides
//===----------------------------------------------------------------------===//

/// Refuses what says how to judge: a record's model was judged when it got its
/// probes.
static bool judgesRecords(const Options &options) {
  bool judges = options.precision != "auto" || !options.policy.empty() ||
                !options.target.empty() || !options.inputs.empty() ||
                options.assumed || !options.import.dims.empty() ||
                !options.import.inputShapes.empty() ||
                !options.import.method.empty();
  if (judges)
    printError("--diff of records takes no option of the judgement: it was "
               "fixed when the model was instrumented");
  return judges;
}

using Paths = llvm::ArrayRef<std::string>;

/// The two that were given, or all that were and those of `--against`.
static std::pair<Paths, Paths> splitSides(const Options &options) {
  Paths models = options.models;
  if (options.against.empty())
    return {models.take_front(), models.drop_front()};
  return {models, options.against};
}

/// True if both sides are records; nothing if they are not of one kind or come
/// with options of the other, which is printed.
static std::optional<bool> checkKinds(const Options &options, Paths first,
                                      Paths second) {
  std::string record, other;
  for (Paths side : {first, second})
    for (const std::string &path : side) {
      if (path != "-" && !llvm::sys::fs::exists(path)) {
        printError(path + ": cannot be read: No such file or directory");
        return std::nullopt;
      }
      (isRecord(path) ? record : other) = path;
    }
  if (!record.empty() && !other.empty()) {
    printError("'" + record + "' is " +
               (llvm::sys::fs::is_directory(record) ? "a folder of records"
                                                    : "a record") +
               " and '" + other +
               "' is none: --confirm compares a run with its predictions");
    return std::nullopt;
  }
  bool areRecords = other.empty();
  if (areRecords && judgesRecords(options))
    return std::nullopt;
  if (areRecords && !options.noise.empty() && !isRecord(options.noise)) {
    printError("--noise: '" + options.noise + "' is no record");
    return std::nullopt;
  }
  if (areRecords)
    return true;
  if (!options.against.empty()) {
    printError("'" + other +
               "' is no record: --against names those of the "
               "other run's ranks");
    return std::nullopt;
  }
  if (!(options.ledger + options.againstLedger + options.noise).empty()) {
    printError("--ledger, --against-ledger and --noise go with records");
    return std::nullopt;
  }
  return false;
}

/// False if a side is at fault, which is printed.
static bool readSides(const Options &options, DiffReport &diff) {
  auto [first, second] = splitSides(options);
  std::optional<bool> areRecords = checkKinds(options, first, second);
  if (!areRecords)
    return false;
  auto read = [&](const Options &how, Paths paths) {
    return *areRecords ? readRecordSide(how, paths)
                       : readModelSide(how, paths.front());
  };
  std::optional<DiffSide> b = read(options, second);
  if (!b)
    return false;
  // A model of wide floats is judged as the converter wrote it: where findings
  // of `a` are gone from `b`, the converter has seen to them.
  Options ofA = options;
  std::string narrow = getNarrowest(*b);
  if (ofA.precision == "auto" && !narrow.empty())
    ofA.precision = narrow;
  std::optional<DiffSide> a = read(ofA, first);
  if (!a)
    return false;
  bool converted = !narrow.empty() && getNarrowest(*a).empty() &&
                   a->knowsNeeded &&
                   StringRef(a->report.precision).ends_with(narrow);
  a->knowsNeeded = converted;
  if (a->kind != b->kind)
    for (DiffSide *side : {&*a, &*b})
      if (side->kind == DiffKind::Model)
        listFoundOps(*side);
  diff.a = std::move(*a);
  diff.b = std::move(*b);
  return true;
}

int mpopt::diff(const Options &options, StringRef version) {
  DiffReport diff;
  if (!readSides(options, diff))
    return kFault;
  bool areReports = isOfReports(diff);
  OpMatches matches =
      (areReports ? matchFound : matchOps)(diff.a.ops, diff.b.ops);
  compareFindings(diff, areReports ? nullptr : &matches);
  compareOps(diff, matches);
  compareCodes(diff, matches);
  if (diff.a.kind == DiffKind::Record)
    judgeCourses(options, diff);
  if (!diff.a.knowsNeeded) {
    diff.wide.clear();
    diff.narrowed.clear();
    diff.constants.clear();
  }
  DiffWriter write = getDiffWriter(*options.format);
  if (Error error = writeOutput(options.output, [&](llvm::raw_ostream &os) {
        write(os, diff,
              {.color = wantsColor(options.output, options.color),
               .version = version});
      })) {
    printError(llvm::toString(std::move(error)));
    return kFault;
  }
  bool failing = llvm::any_of(diff.came, [&](const DiffFinding &came) {
    return isFailing(*came.finding, options.failOn);
  });
  failing |= diff.verdict && diff.verdict->isBad() && options.failOn;
  return failing ? kFindings : kClean;
}
