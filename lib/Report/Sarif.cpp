//===- Sarif.cpp - Reports as SARIF 2.1.0 ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run for all models, as services that join runs by tool expect. A result
// stands at the line of the model's source where a review shows that, otherwise
// at the first line of the model, with the op as a logical location. Findings
// of a baseline that are gone are no results: services would show them as open.
// The verdict is a notification.
//
//===----------------------------------------------------------------------===//

#include "FindingText.h"
#include "ReportWriters.h"
#include "TextReport.h"

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/RuleTable.h"
#include "mpopt/Support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <map>
#include <set>

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

// Characters of a text and of a name: GitHub takes files of up to 10 MB. The
// address of the schema, and the key of fingerprints that outlast renaming.
static constexpr size_t kMostMessage = 1000, kMostName = 4000;
static constexpr StringRef kSchema =
    "https://json.schemastore.org/sarif-2.1.0.json";
static constexpr StringRef kFingerprintKey = "mpoptStructure/v1";

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// `text` as a message: `{0}` would be a placeholder, `[a](1)` a link.
static std::string message(StringRef text) {
  std::string escaped;
  for (char c : text) {
    if (c == '{' || c == '}')
      escaped += c;
    else if (c == '(' && StringRef(escaped).ends_with("]"))
      escaped += ' ';
    escaped += c;
  }
  return escaped;
}

static void writeMessage(OStream &json, StringRef key, StringRef text) {
  json.attributeObject(
      key, [&] { json.attribute("text", jsonText(message(text))); });
}

/// A path as a reference of RFC 3986, relative where the path is.
static std::string makeUri(StringRef path) {
  std::string uri = llvm::sys::path::is_absolute(path) ? "file://" : "";
  for (char c : path) {
    if (llvm::isAlnum(c) || StringRef("-._~/").contains(c))
      uri += c;
    else
      uri += "%" + llvm::toHex(StringRef(&c, 1));
  }
  return uri;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static StringRef getLevel(Severity severity) { return toString(severity); }

static void writeRule(OStream &json, const RuleInfo &rule, StringRef pages) {
  json.attribute("id", StringRef(rule.id));
  json.attribute("name", StringRef(rule.name));
  if (!pages.empty())
    json.attribute("helpUri",
                   (pages + "/rules/" + StringRef(rule.id) + ".html").str());
  writeMessage(json, "shortDescription", rule.summary);
  writeMessage(json, "fullDescription", rule.what);
  json.attributeObject("help", [&] {
    std::string page;
    for (auto [title, text] : {std::pair("Definition", rule.what),
                               std::pair("Why it matters", rule.why),
                               std::pair("Example", rule.example),
                               std::pair("Do instead", rule.instead)})
      page += "## " + std::string(title) + "\n\n" + std::string(text) + "\n\n";
    std::string plain = message(StringRef(page).rtrim());
    json.attribute("text", plain);
    json.attribute("markdown", plain);
  });
  json.attributeObject("defaultConfiguration", [&] {
    json.attribute("level", getLevel(rule.severity));
  });
  json.attributeObject("properties", [&] {
    json.attributeArray("tags", [&] { json.value(StringRef(rule.family)); });
    // The word of code scanning for a note.
    json.attribute("problem.severity", rule.severity == Severity::Note
                                           ? "recommendation"
                                           : getLevel(rule.severity));
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

namespace {
class SarifWriter {
public:
  SarifWriter(OStream &json, llvm::ArrayRef<ModelReport> reports,
              const WriteOptions &options);
  void write();

private:
  void writeTool();
  void writeResult(const ModelReport &report, const ShownFinding &shown);
  void writeLocation(const ModelReport &report,
                     const std::optional<SourceLine> &line, StringRef scope,
                     StringRef op, StringRef text);
  void writeNotifications(const ModelReport &report);
  void writeProperties(const ModelReport &report, const ShownFinding &shown);

  OStream &json;
  llvm::ArrayRef<ModelReport> reports;
  const WriteOptions &options;
  /// The rules of listed findings, each with its place in the list; those of a
  /// ledger of another version may be unknown.
  std::map<std::string, unsigned> rules;
};
} // namespace

SarifWriter::SarifWriter(OStream &json, llvm::ArrayRef<ModelReport> reports,
                         const WriteOptions &options)
    : json(json), reports(reports), options(options) {
  for (const ModelReport &report : reports)
    for (const Finding &finding : report.findings)
      rules.try_emplace(finding.rule, 0);
  unsigned count = 0;
  for (auto &[rule, index] : rules)
    index = count++;
}

void SarifWriter::writeTool() {
  json.attributeObject("tool", [&] {
    json.attributeObject("driver", [&] {
      json.attribute("name", "mpopt");
      json.attribute("version", options.version);
      json.attribute("semanticVersion", options.version);
      if (!options.pages.empty())
        json.attribute("informationUri", options.pages);
      json.attributeArray("rules", [&] {
        for (const auto &[id, index] : rules)
          json.object([&] {
            if (const RuleInfo *rule = findRule(id))
              writeRule(json, *rule, options.pages);
            else
              json.attribute("id", jsonText(printable(id)));
          });
      });
    });
  });
}

void SarifWriter::writeLocation(const ModelReport &report,
                                const std::optional<SourceLine> &line,
                                StringRef scope, StringRef op, StringRef text) {
  SourceLine at = getReviewedLine(report, line);
  json.attributeObject("physicalLocation", [&] {
    json.attributeObject("artifactLocation",
                         [&] { json.attribute("uri", makeUri(at.file)); });
    json.attributeObject("region",
                         [&] { json.attribute("startLine", at.line); });
  });
  if (!op.empty())
    json.attributeArray("logicalLocations", [&] {
      json.object([&] {
        std::string name = clip(op, kMostName);
        json.attribute("name", name);
        json.attribute("fullyQualifiedName",
                       scope.empty() ? name
                                     : clip(scope, kMostName) + "/" + name);
      });
    });
  if (!text.empty())
    writeMessage(json, "message", text);
}

void SarifWriter::writeProperties(const ModelReport &report,
                                  const ShownFinding &shown) {
  const Finding &finding = *shown.finding;
  json.attributeObject("properties", [&] {
    json.attribute("certainty", StringRef(toString(finding.certainty)));
    json.attribute("precision", report.precision);
    json.attribute("opType", clip(finding.op.type));
    if (!finding.tensor.empty())
      json.attribute("tensor", clip(finding.tensor, kMostName));
    if (!finding.dtype.empty())
      json.attribute("dtype", clip(finding.dtype));
    if (!finding.witness.empty())
      json.attribute("witness", jsonText(finding.witness));
    if (finding.effect) {
      json.attribute("output", clip(finding.effect->output, kMostName));
      json.attribute("expectedError", jsonNumber(finding.effect->error));
    }
    if (!shown.followers.empty())
      json.attributeObject("followers", [&] {
        for (const auto &[rule, count] : shown.followers)
          json.attribute(jsonText(printable(rule)), count);
      });
    if (std::vector<std::string> fixes = listSafeFixes(finding); !fixes.empty())
      json.attributeArray("safeFixes", [&] {
        for (const std::string &fix : fixes)
          json.value(fix);
      });
  });
}

void SarifWriter::writeResult(const ModelReport &report,
                              const ShownFinding &shown) {
  const Finding &finding = *shown.finding;
  json.attribute("ruleId", jsonText(printable(finding.rule)));
  json.attribute("ruleIndex", rules.at(finding.rule));
  json.attribute("level", getLevel(finding.severity));
  std::string text =
      describePlace(finding) + ": " + clip(finding.message, kMostMessage);
  auto add = [&](const std::string &more) {
    if (!more.empty())
      text += "\n" + more;
  };
  if (finding.location)
    add("at " + clip(finding.location->file) + ":" +
        std::to_string(finding.location->line));
  add(describeRanges(finding));
  add(describeFollowers(shown.followers));
  for (const std::string &fix : listSafeFixes(finding))
    add("Safe fix: " + fix);
  writeMessage(json, "message", text);
  json.attributeArray("locations", [&] {
    json.object([&] {
      writeLocation(report, finding.location, finding.op.scope, finding.op.name,
                    "");
    });
  });
  if (!finding.causes.empty())
    json.attributeArray("relatedLocations", [&] {
      for (auto [index, cause] : llvm::enumerate(finding.causes))
        json.object([&] {
          json.attribute("id", int64_t(index));
          writeLocation(report, cause.location, "",
                        cause.op.empty() ? cause.tensor : cause.op,
                        clip(cause.tensor) + ": " +
                            clip(cause.why, kMostMessage));
        });
    });
  json.attributeObject("partialFingerprints", [&] {
    json.attribute(kFingerprintKey, finding.fingerprint);
    // The key by which code scanning follows a result from upload to upload;
    // it would hash a line of text, which a model file does not have.
    json.attribute("primaryLocationLineHash", finding.fingerprint);
  });
  if (report.baseline)
    json.attribute("baselineState",
                   finding.standing == Standing::Known ? "unchanged" : "new");
  if (finding.standing == Standing::Suppressed)
    json.attributeArray("suppressions", [&] {
      json.object([&] {
        json.attribute("kind", "external");
        json.attribute("status", "accepted");
        json.attribute("justification", clip(finding.reason, kMostMessage));
      });
    });
  writeProperties(report, shown);
}

void SarifWriter::writeNotifications(const ModelReport &report) {
  auto write = [&](StringRef level, StringRef text) {
    json.object([&] {
      json.attribute("level", level);
      writeMessage(json, "message", clip(report.path) + ": " + text.str());
    });
  };
  for (const std::string &warning : report.warnings)
    write("warning", clip(warning, kMostMessage));
  std::string text = getVerdictWord(report).str();
  for (const auto &lines : {quoteEffects(report), quoteTraining(report)})
    for (const std::string &line : lines)
      text += "\n" + clip(line, kMostMessage);
  write(report.isVerdictKnown()  ? "note"
        : options.requireVerdict ? "error"
                                 : "warning",
        text);
}

void SarifWriter::write() {
  json.attribute("$schema", kSchema);
  json.attribute("version", "2.1.0");
  json.attributeArray("runs", [&] {
    json.object([&] {
      writeTool();
      json.attributeArray("invocations", [&] {
        json.object([&] {
          json.attribute("executionSuccessful", true);
          json.attributeArray("toolExecutionNotifications", [&] {
            for (const ModelReport &report : reports)
              writeNotifications(report);
          });
        });
      });
      json.attributeArray("artifacts", [&] {
        std::set<StringRef> seen;
        for (const ModelReport &report : reports)
          if (seen.insert(report.path).second)
            json.object([&] {
              json.attributeObject("location", [&] {
                json.attribute("uri", makeUri(report.path));
              });
              json.attributeArray("roles",
                                  [&] { json.value("analysisTarget"); });
            });
      });
      json.attribute("columnKind", "utf16CodeUnits");
      json.attributeArray("results", [&] {
        for (const ModelReport &report : reports)
          for (const ShownFinding &shown : listShown(report.findings))
            json.object([&] { writeResult(report, shown); });
      });
    });
  });
}

void mpopt::writeSarif(llvm::raw_ostream &os,
                       llvm::ArrayRef<ModelReport> reports,
                       const WriteOptions &options) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] { SarifWriter(json, reports, options).write(); });
  json.flush();
  os << '\n';
}
