//===- Diagnostics.cpp - Findings as an editor shows them
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Diagnostics.h"

#include "mpopt/Driver/CheckText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpopt;
using llvm::StringRef;
namespace json = llvm::json;

/// Between modules that are checked alone, as MLIR's server parses them.
static constexpr llvm::StringLiteral kSplitMarker = "// -----";

// As the protocol numbers them.
static constexpr int kError = 1, kWarning = 2, kInformation = 3;

static int toProtocol(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return kError;
  case Severity::Warning:
    return kWarning;
  case Severity::Note:
    return kInformation;
  }
  llvm_unreachable("unknown severity");
}

/// Positions count UTF-16 units.
static int64_t countUnits(StringRef utf8) {
  int64_t units = 0;
  for (unsigned char byte : utf8)
    units += (byte & 0xc0) == 0x80 ? 0 : byte >= 0xf0 ? 2 : 1;
  return units;
}

static json::Object makePosition(int64_t line, int64_t character) {
  return json::Object{{"line", line}, {"character", character}};
}

namespace {
/// One module of a file.
class Part {
public:
  Part(StringRef text, int64_t firstLine) : text(text), firstLine(firstLine) {
    text.split(lines, '\n');
  }

  /// The word at `place`; the part's first line where there is none.
  json::Object rangeOf(TextPlace place) const;

  StringRef text;

private:
  int64_t firstLine;
  llvm::SmallVector<StringRef> lines;
};
} // namespace

json::Object Part::rangeOf(TextPlace place) const {
  if (place.line == 0 || place.line > lines.size())
    return json::Object{{"start", makePosition(firstLine, 0)},
                        {"end", makePosition(firstLine, 0)}};
  StringRef line = lines[place.line - 1];
  size_t begin = std::min<size_t>(std::max(place.column, 1u) - 1, line.size());
  StringRef word = line.substr(begin).take_while([](char c) {
    return llvm::isAlnum(c) || StringRef("._%$-").contains(c);
  });
  int64_t number = firstLine + place.line - 1;
  int64_t start = countUnits(line.take_front(begin));
  return json::Object{{"start", makePosition(number, start)},
                      {"end", makePosition(number, start + countUnits(word))}};
}

static json::Object makeDiagnostic(json::Object range, int severity,
                                   std::string message) {
  return json::Object{{"range", std::move(range)},
                      {"severity", severity},
                      {"source", "mpopt"},
                      {"message", json::fixUTF8(message)}};
}

static json::Object toJson(const TextFinding &found, const Part &part,
                           StringRef uri) {
  const Finding &finding = found.finding;
  std::string message = finding.message;
  if (finding.certainty != Certainty::Certain)
    message += " (" + std::string(toString(finding.certainty)) + ")";
  for (const Fix &fix : finding.fixes)
    if (fix.safe)
      message += "\nsafe fix: " + fix.text;
  json::Object diagnostic =
      makeDiagnostic(part.rangeOf(found.place), toProtocol(finding.severity),
                     std::move(message));
  diagnostic["code"] = finding.rule;
  json::Array related;
  for (auto [cause, place] : llvm::zip_equal(finding.causes, found.causes))
    if (place.line)
      related.push_back(json::Object{
          {"location",
           json::Object{{"uri", uri}, {"range", part.rangeOf(place)}}},
          {"message", json::fixUTF8(cause.why)}});
  if (!related.empty())
    diagnostic["relatedInformation"] = std::move(related);
  return diagnostic;
}

/// `line N: REASON`, where the reason has a line.
static json::Object toJson(StringRef reason, const Part &part) {
  TextPlace place;
  StringRef rest = reason;
  unsigned line = 0;
  if (rest.consume_front("line ") && !rest.consumeInteger(10, line) &&
      rest.consume_front(": ")) {
    place = {line, 1};
    reason = rest;
  }
  return makeDiagnostic(part.rangeOf(place), kError, reason.str());
}

static void diagnose(const Options &options, const Part &part, StringRef uri,
                     StringRef path, json::Array &result) {
  llvm::Expected<std::vector<TextFinding>> findings =
      checkText(options, part.text, path);
  if (!findings) {
    result.push_back(toJson(llvm::toString(findings.takeError()), part));
    return;
  }
  for (const TextFinding &finding : *findings)
    result.push_back(toJson(finding, part, uri));
}

json::Array mpopt::diagnose(const Options &options, StringRef text,
                            StringRef uri, StringRef path) {
  json::Array result;
  int64_t line = 0;
  while (true) {
    auto [part, rest] = text.split(kSplitMarker);
    // A part with comments alone is no module.
    llvm::SmallVector<StringRef> lines;
    part.split(lines, '\n');
    if (llvm::any_of(lines, [](StringRef text) {
          StringRef code = text.trim();
          return !code.empty() && !code.starts_with("//");
        }))
      ::diagnose(options, Part(part, line), uri, path, result);
    if (part.size() == text.size())
      return result;
    line += part.count('\n');
    text = rest;
  }
}

json::Array mpopt::refuse() {
  return json::Array{makeDiagnostic(Part("", 0).rangeOf({}), kError,
                                    "brackets are nested more than " +
                                        std::to_string(kMostNesting) +
                                        " deep")};
}
