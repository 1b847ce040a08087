//===- DiffWriters.cpp - The forms of a comparison ------------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Driver/Diff.h"

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/MarkdownText.h"
#include "mpopt/Report/RuleTable.h"
#include "mpopt/Report/TextStyle.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

using Pairs = llvm::ArrayRef<std::pair<const DiffOp *, const DiffOp *>>;

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
/// One line: where, and what is said of it.
struct Line {
  std::string place, what;
};
struct Part {
  std::string title;
  std::vector<Line> lines;
};
} // namespace

static Part listFindings(StringRef title,
                         llvm::ArrayRef<const Finding *> findings) {
  Part part{title.str(), {}};
  for (const Finding *finding : findings) {
    std::string what =
        std::string(toString(finding->severity)) + " " + finding->rule;
    if (const RuleInfo *rule = findRule(finding->rule))
      what += " " + std::string(rule->name);
    part.lines.push_back({finding->op.name, what + ": " + finding->message});
  }
  return part;
}

static std::string describe(const DiffOp &op) {
  return op.type + ", " + op.dtype;
}

static Part listPairs(
    StringRef title, Pairs pairs,
    llvm::function_ref<std::string(const DiffOp &, const DiffOp &)> describe) {
  Part part{title.str(), {}};
  for (auto [a, b] : pairs) {
    std::string place = a->name;
    if (b->name != a->name)
      place += " (now " + b->name + ")";
    part.lines.push_back({place, describe(*a, *b)});
  }
  return part;
}

static Part listOps(StringRef title, llvm::ArrayRef<const DiffOp *> ops) {
  Part part{title.str(), {}};
  for (const DiffOp *op : ops)
    part.lines.push_back({op->name, describe(*op)});
  return part;
}

static std::vector<Part> listParts(const DiffReport &diff) {
  auto dtypes = [](const DiffOp &a, const DiffOp &b) {
    return a.dtype + " -> " + b.dtype;
  };
  auto bounds = [](const DiffOp &a, const DiffOp &b) {
    return getInterval(*a.bound) + " -> " + getInterval(*b.bound);
  };
  return {listFindings("findings that came", diff.came),
          listFindings("findings that went", diff.went),
          listPairs("narrowed, and should have stayed in f32", diff.narrowed,
                    dtypes),
          listPairs("kept in f32 needlessly", diff.wide, dtypes),
          listPairs("other dtypes", diff.dtypes, dtypes),
          listPairs("ranges that moved", diff.ranges, bounds),
          listOps("ops that are gone", diff.onlyA),
          listOps("new ops", diff.onlyB)};
}

static std::string describeOps(const DiffReport &diff) {
  if (diff.a.ops.empty() || diff.b.ops.empty())
    return "reports: ops are not compared";
  return std::to_string(diff.matched) + " of " +
         std::to_string(diff.a.ops.size()) + " ops matched by structure; " +
         std::to_string(diff.a.casts) + " -> " + std::to_string(diff.b.casts) +
         " casts between floats";
}

static std::string describeFindings(const DiffReport &diff) {
  return "findings: " + std::to_string(diff.came.size()) + " came, " +
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
    style.bold(side->report.path);
    style.plain(": judged as " + side->report.precision);
    os << '\n';
  }
  os << describeFindings(diff) << '\n' << describeOps(diff) << '\n';
  for (const Part &part : listParts(diff)) {
    if (part.lines.empty())
      continue;
    os << '\n';
    style.bold(part.title + " (" + std::to_string(part.lines.size()) + ")");
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
     << "From " << markdownCode(diff.a.report.path) << " ("
     << markdownText(diff.a.report.precision) << ") to "
     << markdownCode(diff.b.report.path) << " ("
     << markdownText(diff.b.report.precision) << "): " << describeOps(diff)
     << ".\n\n";
  for (const Part &part : listParts(diff)) {
    if (part.lines.empty())
      continue;
    os << "### " << part.title << " (" << part.lines.size() << ")\n\n";
    for (const Line &line :
         llvm::ArrayRef(part.lines).take_front(kMostMarkdown))
      os << "- " << markdownCode(line.place) << ": " << markdownText(line.what)
         << '\n';
    if (part.lines.size() > kMostMarkdown)
      os << "- and " << part.lines.size() - kMostMarkdown << " more\n";
    os << '\n';
  }
}

static void writeBound(OStream &json, const std::optional<Interval> &bound) {
  if (!bound)
    return;
  json.attributeObject("bound", [&] {
    json.attribute("lo", jsonNumber(bound->lo));
    json.attribute("hi", jsonNumber(bound->hi));
  });
}

static void writeOp(OStream &json, const DiffOp &op) {
  json.attribute("name", jsonText(op.name));
  json.attribute("type", jsonText(op.type));
  json.attribute("dtype", op.dtype);
  writeBound(json, op.bound);
}

static void writePairs(OStream &json, StringRef key, Pairs pairs) {
  json.attributeArray(key, [&] {
    for (auto [a, b] : pairs)
      json.object([&, a = a, b = b] {
        json.attributeObject("a", [&] { writeOp(json, *a); });
        json.attributeObject("b", [&] { writeOp(json, *b); });
      });
  });
}

static void writeSide(OStream &json, StringRef key, const DiffSide &side) {
  json.attributeObject(key, [&] {
    json.attribute("path", jsonText(side.report.path));
    json.attribute("precision", side.report.precision);
    json.attribute("ops", int64_t(side.ops.size()));
    json.attribute("casts", side.casts);
    json.attribute("findings", int64_t(side.report.findings.size()));
  });
}

static void writeDiffJson(llvm::raw_ostream &os, const DiffReport &diff,
                          const WriteOptions &options) {
  OStream json(os, /*IndentSize=*/2);
  auto findings = [&](StringRef key, llvm::ArrayRef<const Finding *> list) {
    json.attributeArray(key, [&] {
      for (const Finding *finding : list)
        json.object([&] {
          writeBaselineEntry(json, {finding->fingerprint, finding->rule,
                                    finding->severity, finding->certainty,
                                    finding->op.name, finding->message});
        });
    });
  };
  auto ops = [&](StringRef key, llvm::ArrayRef<const DiffOp *> list) {
    json.attributeArray(key, [&] {
      for (const DiffOp *op : list)
        json.object([&] { writeOp(json, *op); });
    });
  };
  json.object([&] {
    json.attribute("schema", "mpopt-diff/1");
    json.attributeObject("tool", [&] {
      json.attribute("name", "mpopt");
      json.attribute("version", options.version);
    });
    writeSide(json, "a", diff.a);
    writeSide(json, "b", diff.b);
    findings("came", diff.came);
    findings("went", diff.went);
    json.attribute("stayed", diff.stayed);
    json.attribute("matched", diff.matched);
    writePairs(json, "narrowed", diff.narrowed);
    writePairs(json, "wide", diff.wide);
    writePairs(json, "dtypes", diff.dtypes);
    writePairs(json, "ranges", diff.ranges);
    ops("only_a", diff.onlyA);
    ops("only_b", diff.onlyB);
  });
  json.flush();
  os << '\n';
}

DiffWriter mpopt::getDiffWriter(const OutputFormat &format) {
  return llvm::StringSwitch<DiffWriter>(format.name)
      .Case("text", writeDiffText)
      .Case("json", writeDiffJson)
      .Case("markdown", writeDiffMarkdown)
      .Default(nullptr);
}
