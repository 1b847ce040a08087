//===- Writers.cpp - The forms of a comparison ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sides.h"

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/Keys.h"
#include "mpopt/Report/MarkdownText.h"
#include "mpopt/Report/RuleTable.h"
#include "mpopt/Report/TextStyle.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"

using namespace mpopt;
using namespace mpopt::diffing;
using llvm::StringRef;
using llvm::json::OStream;

using Pairs = llvm::ArrayRef<DiffPair>;

// Lines of a part that are shown; JSON has all of them.
static constexpr size_t kMostText = 10, kMostMarkdown = 50;

static std::string getInterval(const Interval &interval) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("[%.4g, %.4g]", interval.lo, interval.hi);
  return text;
}

//===----------------------------------------------------------------------===//
// Lines that text and Markdown share
//===----------------------------------------------------------------------===//

namespace {
/// One line: the place, and the difference there.
struct Line {
  std::string place, what;
};
struct Part {
  std::string title;
  std::vector<Line> lines;
  size_t folded = 0; ///< Differences beyond one a line.

  std::string heading() const {
    return title + " (" + std::to_string(lines.size() + folded) + ")";
  }
};
} // namespace

static std::string describeError(double error) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2g %%", 100 * error);
  return std::isnan(error)   ? "not known"
         : std::isinf(error) ? "Inf or NaN"
                             : text;
}

/// Of the outputs that both have.
static Part listErrors(const DiffReport &diff) {
  Part part{"expected errors of outputs", {}};
  for (const EffectReport &a : diff.a.report.effects)
    for (const EffectReport &b : diff.b.report.effects)
      if (a.output == b.output)
        part.lines.push_back({a.output, describeError(a.error) + " -> " +
                                            describeError(b.error)});
  return part;
}

/// A line for each difference, with the number of its places and the first.
static Part foldAlike(Part part) {
  llvm::MapVector<StringRef, std::vector<StringRef>> places;
  for (const Line &line : part.lines)
    places[line.what].push_back(line.place);
  Part folded{part.title, {}, part.lines.size() - places.size()};
  for (const auto &[what, those] : places) {
    std::string place = those.front().str();
    if (those.size() > 1)
      place += " and " + std::to_string(those.size() - 1) + " more";
    folded.lines.push_back({place, what.str()});
  }
  return folded;
}

static Part listFindings(StringRef title,
                         llvm::ArrayRef<DiffFinding> findings) {
  Part part{title.str(), {}};
  for (const auto &[finding, elsewhere] : findings) {
    std::string what =
        std::string(toString(finding->severity)) + " " + finding->rule;
    if (const RuleInfo *rule = findRule(finding->rule))
      what += " " + std::string(rule->name);
    std::string place =
        finding->op.name.empty() ? finding->tensor : finding->op.name;
    if (!elsewhere.empty())
      what += " (" + elsewhere + " by the other)";
    part.lines.push_back({place, what + ": " + finding->message});
  }
  return part;
}

static std::string describe(const DiffOp &op) {
  return (op.type.empty() ? "" : op.type + ", ") + op.dtype;
}

static std::string getPlace(const DiffOp &op) {
  return op.isGradient ? "gradient of " + op.name : op.name;
}

static Part listPairs(
    StringRef title, Pairs pairs,
    llvm::function_ref<std::string(const DiffOp &, const DiffOp &)> describe) {
  Part part{title.str(), {}};
  for (auto [a, b] : pairs) {
    std::string place = getPlace(*a);
    if (b->name != a->name)
      place += " (now " + b->name + ")";
    part.lines.push_back({place, describe(*a, *b)});
  }
  return part;
}

static Part listOps(StringRef title, llvm::ArrayRef<const DiffOp *> ops) {
  Part part{title.str(), {}};
  for (const DiffOp *op : ops)
    part.lines.push_back({getPlace(*op), describe(*op)});
  return part;
}

static Part listConstants(llvm::ArrayRef<DiffConstant> list) {
  Part part = {"constants that the converter wrote otherwise", {}};
  for (const DiffConstant &its : list) {
    auto [a, b] = its.ops;
    const auto &[name, most] = a->constants[its.index];
    std::string change;
    llvm::raw_string_ostream(change)
        << name << ", of magnitudes up to "
        << llvm::format("%.4g -> %.4g", most, b->constants[its.index].second);
    part.lines.push_back({getPlace(*a), change});
  }
  return part;
}

static std::string describeCodes(const QuantizedTensor *side) {
  if (!side)
    return "floats";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << side->codes << " of scale";
  if (side->scales > 1)
    os << "s " << getInterval(side->scale);
  else
    os << llvm::format(" %.4g", side->scale.hi);
  os << llvm::format(", zero point %.4g", side->zeroPoint);
  if (!std::isnan(side->error))
    os << llvm::format(" (%.2g %%)", 100 * side->error);
  return text;
}

static Part listCodes(llvm::ArrayRef<DiffCodes> list) {
  Part part = {"codes that changed, by the error of an output by them", {}};
  for (const DiffCodes &its : list)
    part.lines.push_back(
        {(its.a ? its.a : its.b)->tensor,
         describeCodes(its.a) + " -> " + describeCodes(its.b)});
  return part;
}

/// A number of a verdict; those that are not finite are words.
static std::string getNumber(const llvm::json::Object &object, StringRef key,
                             double unit = 1) {
  std::string text;
  if (std::optional<double> number = object.getNumber(key))
    llvm::raw_string_ostream(text) << llvm::format("%.4g", *number * unit);
  else
    text = object.getString(key).value_or("nan").str();
  return text;
}

/// The loss and the metrics at the end of both runs.
static Part listQuantities(const DiffReport &diff) {
  Part part{"loss and metrics", {}};
  const llvm::json::Array *quantities =
      diff.verdict ? diff.verdict->judged.getArray("quantities") : nullptr;
  if (!quantities)
    return part;
  for (const llvm::json::Value &value : *quantities)
    if (const llvm::json::Object *each = value.getAsObject())
      part.lines.push_back(
          {each->getString("name").value_or("").str(),
           getNumber(*each, "reference") + " -> " + getNumber(*each, "run") +
               ", " + getNumber(*each, "worse", 100) +
               " % worse (noise: " + getNumber(*each, "noise", 100) +
               " %): " + each->getString("outcome").value_or("").str()});
  return part;
}

/// `type 2: does not converge ...`; empty where no trainings are compared.
static std::string describeVerdict(const DiffReport &diff) {
  if (!diff.verdict)
    return "";
  if (!diff.verdict->unknown.empty())
    return "the courses of the trainings are not compared: " +
           diff.verdict->unknown;
  int64_t type = diff.verdict->judged.getInteger("type").value_or(0);
  return (type ? "type " + std::to_string(type) : "as good") + ": " +
         diff.verdict->judged.getString("text").value_or("").str();
}

static std::vector<Part> listParts(const DiffReport &diff) {
  auto dtypes = [](const DiffOp &a, const DiffOp &b) {
    return a.dtype + " -> " + b.dtype;
  };
  auto bounds = [](const DiffOp &a, const DiffOp &b) {
    return getInterval(*a.bound) + " -> " + getInterval(*b.bound);
  };
  bool areRecords = diff.a.kind == DiffKind::Record;
  std::string findings = areRecords ? "confirmed findings" : "findings";
  return {
      listErrors(diff),
      listQuantities(diff),
      listFindings(findings + " that came", diff.came),
      listFindings(findings + " that went", diff.went),
      listPairs("narrowed, and should have stayed in f32", diff.narrowed,
                dtypes),
      listPairs("kept in f32 needlessly", diff.wide, dtypes),
      listConstants(diff.constants),
      listCodes(diff.codes),
      listPairs("left out of quantisation now", diff.leftOut, dtypes),
      listPairs("quantised now", diff.takenIn, dtypes),
      foldAlike(listPairs("other dtypes", diff.dtypes, dtypes)),
      listPairs(areRecords ? "seen ranges that changed" : "ranges that changed",
                diff.ranges, bounds),
      listOps(areRecords ? "no longer recorded" : "ops that are gone",
              diff.onlyA),
      listOps(areRecords ? "newly recorded" : "new ops", diff.onlyB)};
}

static std::string describeOps(const DiffReport &diff) {
  if (diff.a.kind == DiffKind::Report || diff.b.kind == DiffKind::Report)
    return "reports: of ops, the " + std::to_string(diff.matched) +
           " are compared that have a finding in both";
  bool areRecords = diff.a.kind == DiffKind::Record;
  std::string text = std::to_string(diff.matched) + " of " +
                     std::to_string(diff.a.ops.size()) +
                     (areRecords ? " recorded tensors" : " ops") +
                     " matched by structure";
  if (areRecords && llvm::all_of(diff.a.ops, [](const DiffOp &op) {
        return op.fingerprint.empty();
      }))
    text = std::to_string(diff.matched) + " of " +
           std::to_string(diff.a.ops.size()) +
           " recorded tensors matched by name";
  return text + "; " + std::to_string(diff.a.casts) + " -> " +
         std::to_string(diff.b.casts) +
         (areRecords ? " recorded casts" : " casts between floats");
}

std::string diffing::getLabel(const DiffSide &side, StringRef name) {
  if (side.given < 2)
    return name.str();
  return name.str() + " and " + std::to_string(side.given - 1) + " more";
}

/// `judged as fp16`, and of a record what ran.
static std::string describeSide(const DiffSide &side) {
  std::string text = "judged as " + side.report.precision;
  if (!side.run)
    return text;
  const RunRecords &records = side.run->run.records;
  if (records.files > 1)
    text += "; " + std::to_string(records.files) + " records";
  auto ran = llvm::count_if(
      records.probes, [](const ProbeSight &sight) { return sight.ran(); });
  text += "; " + std::to_string(ran) + " probes ran";
  if (size_t gradients = records.countGradients())
    text += ", " + std::to_string(gradients) + " gradients";
  if (!records.runtimes.empty())
    text += ", in " + llvm::join(records.runtimes, ", ");
  return text;
}

static std::string describeFindings(const DiffReport &diff) {
  return std::string(diff.a.kind == DiffKind::Record ? "confirmed " : "") +
         "findings: " + std::to_string(diff.came.size()) + " came, " +
         std::to_string(diff.went.size()) + " went, " +
         std::to_string(diff.stayed) + " stayed";
}

//===----------------------------------------------------------------------===//
// Text, Markdown, JSON
//===----------------------------------------------------------------------===//

static void writeDiffText(llvm::raw_ostream &os, const DiffReport &diff,
                          const WriteOptions &options) {
  TextStyle style(os, options);
  for (auto [sign, side] : {std::pair("-", &diff.a), std::pair("+", &diff.b)}) {
    os << sign << ' ';
    style.bold(getLabel(*side, side->path));
    style.plain(": " + describeSide(*side));
    os << '\n';
  }
  if (std::string verdict = describeVerdict(diff); !verdict.empty())
    style.wrap(verdict, 2);
  os << describeFindings(diff) << '\n' << describeOps(diff) << '\n';
  for (const Part &part : listParts(diff)) {
    if (part.lines.empty())
      continue;
    os << '\n';
    style.bold(part.heading());
    os << '\n';
    for (const Line &line : llvm::ArrayRef(part.lines).take_front(kMostText)) {
      style.dim("  --> ");
      style.wrap(line.place + ": " + line.what, 6);
    }
    if (part.lines.size() > kMostText)
      os << "  --> and " << part.lines.size() - kMostText
         << " more (--format json lists all)\n";
  }
}

static void writeDiffMarkdown(llvm::raw_ostream &os, const DiffReport &diff,
                              const WriteOptions &) {
  os << "## mpopt: " << markdownText(describeFindings(diff)) << "\n\n"
     << "From " << markdownCode(getLabel(diff.a, diff.a.path)) << " ("
     << markdownText(describeSide(diff.a)) << ") to "
     << markdownCode(getLabel(diff.b, diff.b.path)) << " ("
     << markdownText(describeSide(diff.b)) << "): " << describeOps(diff)
     << ".\n\n";
  if (std::string verdict = describeVerdict(diff); !verdict.empty())
    os << markdownText(verdict) << "\n\n";
  for (const Part &part : listParts(diff)) {
    if (part.lines.empty())
      continue;
    os << "### " << part.heading() << "\n\n";
    for (const Line &line :
         llvm::ArrayRef(part.lines).take_front(kMostMarkdown))
      os << "- " << markdownCode(line.place) << ": " << markdownText(line.what)
         << '\n';
    if (part.lines.size() > kMostMarkdown)
      os << "- and " << part.lines.size() - kMostMarkdown << " more\n";
    os << '\n';
  }
}

static void writeOp(OStream &json, const DiffOp &op, StringRef range) {
  json.attribute("name", jsonText(op.name));
  json.attribute("type", jsonText(op.type));
  json.attribute("dtype", op.dtype);
  if (op.isGradient)
    json.attribute(keys::kGradient, true);
  if (op.bound)
    json.attributeObject(range, [&] {
      json.attribute("lo", jsonNumber(op.bound->lo));
      json.attribute("hi", jsonNumber(op.bound->hi));
    });
}

static void writeSide(OStream &json, StringRef key, const DiffSide &side) {
  json.attributeObject(key, [&] {
    json.attribute("kind", toString(side.kind));
    json.attribute("path", jsonText(side.path));
    if (!side.records.empty())
      json.attributeArray("records", [&] {
        for (const std::string &path : side.records)
          json.value(jsonText(path));
      });
    json.attribute("precision", side.report.precision);
    json.attribute("ops", int64_t(side.ops.size()));
    json.attribute("casts", side.casts);
    json.attribute("findings", int64_t(side.report.findings.size()));
  });
}

static void writeConstants(OStream &json, llvm::ArrayRef<DiffConstant> list) {
  json.attributeArray("constants", [&] {
    for (const DiffConstant &its : list)
      json.object([&] {
        auto side = [&](StringRef key, const DiffOp &op) {
          const auto &[name, most] = op.constants[its.index];
          json.attributeObject(key, [&, &name = name, most = most] {
            json.attribute("op", jsonText(op.op));
            json.attribute("name", jsonText(name));
            json.attribute("most", jsonNumber(most));
          });
        };
        side("a", *its.ops.first);
        side("b", *its.ops.second);
      });
  });
}

static void writeCodes(OStream &json, llvm::ArrayRef<DiffCodes> list) {
  auto side = [&](StringRef key, const QuantizedTensor *its) {
    if (!its)
      return json.attribute(key, nullptr);
    json.attributeObject(key, [&] {
      json.attribute("codes", its->codes);
      json.attributeArray("scale", [&] {
        json.value(jsonNumber(its->scale.lo));
        json.value(jsonNumber(its->scale.hi));
      });
      json.attribute("scales", int64_t(its->scales));
      json.attribute("zero_point", jsonNumber(its->zeroPoint));
      json.attribute("expected_error", jsonNumber(its->error));
    });
  };
  json.attributeArray("codes", [&] {
    for (const DiffCodes &its : list)
      json.object([&] {
        json.attribute("tensor", jsonText((its.a ? its.a : its.b)->tensor));
        side("a", its.a);
        side("b", its.b);
      });
  });
}

static void writeVerdict(OStream &json, const DiffReport &diff) {
  if (!diff.verdict)
    return;
  llvm::json::Object judged = diff.verdict->judged;
  if (!diff.verdict->unknown.empty())
    judged["unknown"] = jsonText(diff.verdict->unknown);
  json.attribute("verdict", std::move(judged));
}

void diffing::writeDiffFields(OStream &json, const DiffReport &diff,
                              StringRef version) {
  StringRef range = diff.a.kind == DiffKind::Record ? "seen" : "bound";
  auto findings = [&](StringRef key, llvm::ArrayRef<DiffFinding> list) {
    json.attributeArray(key, [&] {
      for (const auto &[finding, elsewhere] : list)
        json.object([&, finding = finding, &elsewhere = elsewhere] {
          writeBaselineEntry(json, {finding->fingerprint, finding->rule,
                                    finding->severity, finding->certainty,
                                    finding->op.name, finding->message});
          json.attribute("tensor", jsonText(finding->tensor));
          if (!elsewhere.empty())
            json.attribute("elsewhere", elsewhere);
        });
    });
  };
  auto ops = [&](StringRef key, llvm::ArrayRef<const DiffOp *> list) {
    json.attributeArray(key, [&] {
      for (const DiffOp *op : list)
        json.object([&] { writeOp(json, *op, range); });
    });
  };
  auto pairs = [&](StringRef key, Pairs list) {
    json.attributeArray(key, [&] {
      for (auto [a, b] : list)
        json.object([&, a = a, b = b] {
          json.attributeObject("a", [&] { writeOp(json, *a, range); });
          json.attributeObject("b", [&] { writeOp(json, *b, range); });
        });
    });
  };
  json.attribute("schema", "mpopt-diff/1");
  json.attributeObject("tool", [&] {
    json.attribute("name", "mpopt");
    json.attribute("version", version);
  });
  writeSide(json, "a", diff.a);
  writeSide(json, "b", diff.b);
  writeVerdict(json, diff);
  findings("came", diff.came);
  findings("went", diff.went);
  json.attribute("stayed", diff.stayed);
  json.attribute("matched", diff.matched);
  pairs("narrowed", diff.narrowed);
  pairs("wide", diff.wide);
  writeConstants(json, diff.constants);
  writeCodes(json, diff.codes);
  pairs("left_out", diff.leftOut);
  pairs("taken_in", diff.takenIn);
  pairs("dtypes", diff.dtypes);
  pairs("ranges", diff.ranges);
  ops("only_a", diff.onlyA);
  ops("only_b", diff.onlyB);
}

static void writeDiffJson(llvm::raw_ostream &os, const DiffReport &diff,
                          const WriteOptions &options) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] { writeDiffFields(json, diff, options.version); });
  json.flush();
  os << '\n';
}

DiffWriter mpopt::getDiffWriter(const OutputFormat &format) {
  return llvm::StringSwitch<DiffWriter>(format.name)
      .Case("text", writeDiffText)
      .Case("json", writeDiffJson)
      .Case("markdown", writeDiffMarkdown)
      .Case("html", writeDiffHtml)
      .Default(nullptr);
}
