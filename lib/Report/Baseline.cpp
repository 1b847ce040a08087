//===- Baseline.cpp - Findings that a project knows -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/Baseline.h"

#include "mpopt/Report/JsonReader.h"
#include "mpopt/Report/JsonSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mpopt;
using llvm::Expected;
using llvm::StringRef;

// The form and version of the file.
static constexpr StringRef kSchema = "mpopt-baseline/1";

static BaselineEntry makeEntry(const Finding &finding) {
  return {finding.fingerprint, finding.rule,    finding.severity,
          finding.certainty,   finding.op.name, finding.message};
}

static void readEntry(JsonReader json, BaselineEntry &entry) {
  std::string severity, certainty;
  json.text("fingerprint", entry.fingerprint, /*need=*/true);
  json.text("rule", entry.rule, /*need=*/true);
  json.text("severity", severity, /*need=*/true);
  json.text("certainty", certainty, /*need=*/true);
  json.text("op", entry.op);
  json.text("message", entry.message);
  if (json.failed())
    return;
  if (std::optional<Severity> known = parseSeverity(severity))
    entry.severity = *known;
  else
    json.fail("severity", "is not error, warning or note");
  if (std::optional<Certainty> known = parseCertainty(certainty))
    entry.certainty = *known;
  else
    json.fail("certainty", "is not certain, likely or possible");
}

Expected<Baseline> mpopt::parseBaseline(StringRef text, StringRef file) {
  Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return value.takeError();
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError("is not a JSON object");
  Baseline baseline;
  baseline.file = file.str();
  std::string error, schema;
  JsonReader json(*object, "", error);
  json.text("schema", schema, /*need=*/true);
  if (!json.failed() && schema != kSchema)
    json.fail("schema", "is '" + schema + "', not '" + kSchema + "'");
  json.children(
      "models",
      [&](JsonReader inner) {
        Baseline::Model &model = baseline.models.emplace_back();
        inner.text("path", model.path, /*need=*/true);
        inner.text("precision", model.precision, /*need=*/true);
        inner.children(
            "findings",
            [&](JsonReader entry) {
              readEntry(entry, model.findings.emplace_back());
            },
            /*need=*/true);
      },
      /*need=*/true);
  if (!error.empty())
    return llvm::createStringError(error);
  return baseline;
}

void mpopt::writeBaseline(llvm::raw_ostream &os,
                          llvm::ArrayRef<ModelReport> reports,
                          StringRef version) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", kSchema);
    json.attributeObject("tool", [&] {
      json.attribute("name", "mpopt");
      json.attribute("version", version);
    });
    json.attributeArray("models", [&] {
      for (const ModelReport &report : reports)
        json.object([&] {
          json.attribute("path", jsonText(report.path));
          json.attribute("precision", report.precision);
          json.attributeArray("findings", [&] {
            for (const Finding &finding : report.findings)
              if (finding.standing != Standing::Suppressed)
                json.object(
                    [&] { writeBaselineEntry(json, makeEntry(finding)); });
          });
        });
    });
  });
  json.flush();
  os << '\n';
}

static const Baseline::Model *findModel(const Baseline &baseline, bool only,
                                        StringRef path) {
  auto isSame = [&](const Baseline::Model &model) {
    return model.path == path;
  };
  auto hasName = [&](const Baseline::Model &model) {
    return llvm::sys::path::filename(model.path) ==
           llvm::sys::path::filename(path);
  };
  auto found = llvm::find_if(baseline.models, isSame);
  if (found == baseline.models.end() &&
      llvm::count_if(baseline.models, hasName) == 1)
    found = llvm::find_if(baseline.models, hasName);
  if (found != baseline.models.end())
    return &*found;
  return only && baseline.models.size() == 1 ? &baseline.models.front()
                                             : nullptr;
}

void mpopt::applyBaseline(const Baseline &baseline,
                          llvm::ArrayRef<const RuleInfo *> rules, bool only,
                          ModelReport &report) {
  BaselineReport &outcome = report.baseline.emplace();
  outcome.file = baseline.file;
  const Baseline::Model *model = findModel(baseline, only, report.path);
  if (!model) {
    report.warnings.push_back("the baseline '" + baseline.file +
                              "' has no model of this name");
    return;
  }
  if (model->precision != report.precision)
    report.warnings.push_back("the baseline '" + baseline.file +
                              "' judged as " + model->precision);
  llvm::StringMap<const BaselineEntry *> wanted;
  for (const BaselineEntry &entry : model->findings)
    wanted[entry.fingerprint] = &entry;
  llvm::StringSet<> present;
  for (Finding &finding : report.findings) {
    present.insert(finding.fingerprint);
    if (!finding.counts() || !wanted.contains(finding.fingerprint))
      continue;
    // One that has become worse is not the one that was accepted.
    if (finding.severity > wanted.lookup(finding.fingerprint)->severity)
      continue;
    finding.standing = Standing::Known;
    ++outcome.known;
  }
  for (const BaselineEntry &entry : report.unlisted)
    present.insert(entry.fingerprint);
  for (const BaselineEntry &entry : model->findings)
    if (!present.contains(entry.fingerprint) &&
        llvm::any_of(rules, [&](const RuleInfo *rule) {
          return StringRef(rule->id) == entry.rule;
        }))
      outcome.fixed.push_back(entry);
}
