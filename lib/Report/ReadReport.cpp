//===- ReadReport.cpp - A report from its JSON ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inverse of Json.cpp, key by key.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Report/JsonReader.h"
#include "mpopt/Report/Keys.h"

using namespace mpopt;
using llvm::StringRef;

static void readCount(JsonReader json, StringRef key, unsigned &count) {
  int64_t number = count;
  json.integer(key, number, 0, UINT32_MAX);
  count = unsigned(number);
}

static void readCount(JsonReader json, StringRef key, uint64_t &count) {
  int64_t number = int64_t(count);
  json.integer(key, number, 0, INT64_MAX);
  count = uint64_t(number);
}

void mpopt::readOp(JsonReader json, OpRef &op) {
  json.text("name", op.name);
  json.text("type", op.type);
  json.text("scope", op.scope);
}

static void readLocation(JsonReader json, std::optional<SourceLine> &location) {
  json.child("location", [&](JsonReader inner) {
    SourceLine line;
    inner.text("file", line.file);
    readCount(inner, "line", line.line);
    location = std::move(line);
  });
}

// More axes than any tensor has.
static constexpr int64_t kMostAxis = 1 << 16;

static void readWatch(JsonReader json, Watch &watch) {
  std::string test;
  json.text("test", test, /*need=*/true);
  if (json.failed())
    return;
  if (std::optional<Decision> decision = parseDecision(test))
    watch.test = *decision;
  else
    json.fail("test", "is no test that this version of mpopt makes");
  json.text("part", watch.part);
  json.text("tensor", watch.tensor);
  json.text("dtype", watch.dtype);
  json.text("against", watch.against);
  json.number("threshold", watch.threshold);
  json.number("lo", watch.lo);
  json.number("hi", watch.hi);
  json.flag("open", watch.open);
  json.integer("axis", watch.axis, 0, kMostAxis);
  json.integer("terms", watch.terms, 0, INT64_MAX);
  json.flag("pairwise", watch.pairwise);
  json.flag("one_sign", watch.oneSign);
  json.text("factor", watch.factor);
  json.number("scale", watch.scale);
}

static void readFinding(JsonReader json, Finding &finding) {
  std::string severity, certainty;
  json.text("rule", finding.rule, /*need=*/true);
  json.text("severity", severity, /*need=*/true);
  json.text("certainty", certainty, /*need=*/true);
  if (json.failed())
    return;
  std::optional<Severity> howBad = parseSeverity(severity);
  std::optional<Certainty> howSure = parseCertainty(certainty);
  if (!howBad)
    return json.fail("severity", "is not error, warning or note");
  if (!howSure)
    return json.fail("certainty", "is not certain, likely or possible");
  finding.severity = *howBad;
  finding.certainty = *howSure;
  std::string reachable;
  json.text("reachable", reachable);
  finding.byTraining = reachable == "training";
  json.text("witness", finding.witness);
  json.child("op", [&](JsonReader inner) { readOp(inner, finding.op); });
  json.text("tensor", finding.tensor);
  json.text("dtype", finding.dtype);
  json.interval("bound", finding.bound);
  json.interval("likely", finding.likely);
  json.text("message", finding.message);
  json.children("cause", [&](JsonReader inner) {
    Cause cause;
    inner.text("tensor", cause.tensor);
    inner.text("op", cause.op);
    inner.text("why", cause.why);
    readLocation(inner, cause.location);
    finding.causes.push_back(std::move(cause));
  });
  json.children("fixes", [&](JsonReader inner) {
    Fix fix;
    inner.text("kind", fix.kind);
    inner.flag("safe", fix.safe);
    inner.text("text", fix.text);
    finding.fixes.push_back(std::move(fix));
  });
  json.children("decided_by", [&](JsonReader inner) {
    readWatch(inner, finding.watches.emplace_back());
  });
  readLocation(json, finding.location);
  json.text("root", finding.root);
  json.text("fingerprint", finding.fingerprint, /*need=*/true);
  std::string standing = "counts";
  json.text("standing", standing);
  if (std::optional<Standing> known = parseStanding(standing))
    finding.standing = *known;
  else
    json.fail("standing", "is not counts, known or suppressed");
  json.text("reason", finding.reason);
}

void mpopt::readAssumption(JsonReader json, Assumption &assumption) {
  json.text("input", assumption.input, /*need=*/true);
  json.number("lo", assumption.bound.lo, /*need=*/true);
  json.number("hi", assumption.bound.hi, /*need=*/true);
  json.number("mean", assumption.mean);
  json.number(keys::kStd, assumption.std);
  json.text("source", assumption.source);
  json.text("why", assumption.why);
  json.flag("by_element", assumption.byElement);
}

void mpopt::readReport(JsonReader json, ModelReport &report) {
  std::string schema;
  json.text("schema", schema, /*need=*/true);
  if (!json.failed() && schema != "mpopt-report/1")
    json.fail("schema", "is '" + schema + "', not 'mpopt-report/1'");
  json.child("model", [&](JsonReader inner) {
    inner.text("path", report.path);
    inner.text("format", report.format);
    readCount(inner, "nodes", report.nodes);
    readCount(inner, "parameters", report.parameters);
  });
  json.text("precision", report.precision);
  json.text("policy", report.policy);
  json.child("target", [&](JsonReader inner) {
    inner.text("name", report.target);
    inner.text("summary", report.targetSummary);
  });
  json.children("assumptions", [&](JsonReader inner) {
    readAssumption(inner, report.assumptions.emplace_back());
  });
  json.child("coverage", [&](JsonReader inner) {
    readCount(inner, "ops", report.ops);
    readCount(inner, "modelled", report.modelled);
    inner.counts("unmodelled", report.unmodelled);
    inner.counts("unknown_ranges", report.unknownRanges);
  });
  json.child("summary", [&](JsonReader inner) {
    readCount(inner, "certain", report.certain);
    readCount(inner, "likely", report.likely);
    readCount(inner, "possible", report.possible);
    readCount(inner, "consequences", report.consequences);
    readCount(inner, "proved", report.proved);
    readCount(inner, "tensors", report.tensors);
  });
  if (json.has("safe_input"))
    report.safeInputs.emplace();
  json.children("safe_input", [&](JsonReader inner) {
    SafeScale &scale = report.safeInputs->emplace_back();
    inner.text("input", scale.input);
    inner.number("proved", scale.proved);
    inner.number("likely", scale.likely);
  });
  json.texts("warnings", report.warnings);
  json.children(
      "findings",
      [&](JsonReader inner) {
        readFinding(inner, report.findings.emplace_back());
      },
      /*need=*/true);
}
