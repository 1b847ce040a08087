//===- TextFindings.cpp - Findings for people, rule by rule
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FindingText.h"
#include "SourceText.h"
#include "TextReport.h"

#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mpopt;
using llvm::StringRef;
using llvm::Twine;

// Places of a note, and causes of a finding, that are shown.
static constexpr size_t kMaxNotes = 3, kMaxCauses = 5;

/// The fixes that are printed: those that help, else the one that does not.
static llvm::SmallVector<const Fix *> chooseFixes(const Finding &finding) {
  llvm::SmallVector<const Fix *> fixes;
  for (const Fix &fix : finding.fixes)
    if (fix.safe)
      fixes.push_back(&fix);
  if (fixes.empty() && !finding.fixes.empty())
    fixes.push_back(&finding.fixes.front());
  return fixes;
}

static bool haveSameFixes(const Finding &lhs, const Finding &rhs) {
  return llvm::equal(chooseFixes(lhs), chooseFixes(rhs),
                     [](const Fix *a, const Fix *b) {
                       return a->text == b->text && a->safe == b->safe;
                     });
}

/// Notes that a list of ops is behind: a line for each kind of op.
void TextReport::writeKinds(const FindingGroup &group) {
  llvm::MapVector<StringRef, std::vector<const Finding *>> kinds;
  for (const FoldedFinding &fold : group.folded)
    for (const Finding *finding : fold.members)
      kinds[finding->op.kind].push_back(finding);
  for (const auto &[kind, findings] : kinds) {
    style.dim("  --> ");
    std::string text = kind.str();
    if (findings.size() > 1)
      text += " x " + std::to_string(findings.size());
    StringRef separator = ": ";
    llvm::ArrayRef<const Finding *> named(findings);
    for (const Finding *finding : named.take_front(kMaxNames)) {
      text += separator.str() + finding->op.name;
      separator = ", ";
    }
    if (findings.size() > kMaxNames)
      text += " and " + std::to_string(findings.size() - kMaxNames) + " more";
    style.wrap(text, 6);
  }
}

void TextReport::writeGroup(const FindingGroup &group) {
  const RuleInfo *rule = findRule(group.rule);
  std::string head =
      (StringRef(toString(group.severity)) + "[" + group.rule + "]").str();
  style.severity(group.severity, head);
  std::string title = ":";
  if (rule)
    title += " " + std::string(rule->name) + ": " + std::string(rule->summary);
  if (group.certainty != Certainty::Certain)
    title += " (" + std::string(toString(group.certainty)) +
             (group.folded.front().first().byTraining
                  ? ", a state that training reaches)"
                  : ")");
  os << title.front();
  os << ' ';
  style.wrap(StringRef(title).drop_front(), 4, head.size() + 2);

  if (group.severity == Severity::Note && isByList(group.rule)) {
    writeKinds(group);
    style.dim("  = ");
    os << "more: mpopt --explain " << group.rule << ", "
       << getPagePath(group.rule) << '\n';
    return;
  }

  const Finding &first = group.folded.front().first();
  bool sameFixes = llvm::all_of(group.folded, [&](const FoldedFinding &fold) {
    return haveSameFixes(fold.first(), first);
  });
  // Text that all places have in common is printed once, around them.
  llvm::ArrayRef<FoldedFinding> places = group.folded;
  bool sameMessage =
      places.size() > 1 && llvm::all_of(places, [&](const FoldedFinding &fold) {
        return fold.first().message == first.message;
      });
  if (sameMessage) {
    os.indent(2);
    style.wrap(first.message, 2);
  }
  size_t most = group.severity == Severity::Note ? kMaxNotes : kMaxPlaces;
  for (const FoldedFinding &fold : places.take_front(most))
    writePlace(fold, /*withMessage=*/!sameMessage, /*withFixes=*/!sameFixes);
  if (places.size() > most) {
    unsigned rest = 0;
    for (const FoldedFinding &fold : places.drop_front(most))
      rest += fold.members.size();
    style.dim("  --> ");
    os << "and " << rest << " more (--format json lists all)\n";
  }
  if (sameFixes)
    writeFixes(first, 2);
  style.dim("  = ");
  os << "more: mpopt --explain " << group.rule;
  if (rule)
    os << ", " << getPagePath(group.rule);
  os << '\n';
}

/// The op, with its dtype, scope and source line.
void TextReport::writeOp(const FoldedFinding &fold) {
  const Finding &finding = fold.first();
  style.dim("  --> ");
  style.bold(finding.op.name);
  style.plain(" (" + finding.op.type);
  if (!finding.dtype.empty())
    style.plain(", " + finding.dtype);
  os << ')';
  if (!finding.op.scope.empty())
    style.plain(" in " + finding.op.scope);
  if (finding.location) {
    style.plain(" at " + finding.location->file);
    os << ':' << finding.location->line;
  }
  if (fold.members.size() > 1) {
    os << "  ";
    style.bold(
        ("x " + Twine(fold.members.size()) + (fold.layers ? " layers" : ""))
            .str());
  }
  os << '\n';
  if (!finding.location)
    return;
  if (std::optional<std::string> line = readSourceLine(*finding.location)) {
    os.indent(6);
    style.dim((Twine(finding.location->line) + " | ").str());
    style.plain(*line);
    os << '\n';
  }
}

void TextReport::writeCauses(llvm::ArrayRef<Cause> causes) {
  for (const Cause &cause : causes.take_front(kMaxCauses)) {
    os << "      - ";
    std::string place = cause.tensor.empty() ? cause.op : cause.tensor;
    if (!cause.tensor.empty() && !cause.op.empty() && cause.op != cause.tensor)
      place += " (" + cause.op + ")";
    std::string text = place.empty() ? cause.why : place + ": " + cause.why;
    if (cause.location)
      text += " (" + cause.location->file + ":" +
              std::to_string(cause.location->line) + ")";
    style.wrap(text, 8);
  }
  if (causes.size() > kMaxCauses)
    os << "      - and " << causes.size() - kMaxCauses << " more\n";
}

void TextReport::writeWitness(const FoldedFinding &fold) {
  auto has = [](const Finding *finding) { return !finding->witness.empty(); };
  auto first = llvm::find_if(fold.members, has);
  if (first == fold.members.end())
    return;
  std::string text = "happens for the input in " + (*first)->witness;
  if (fold.members.size() > 1)
    text += ", at " + (*first)->op.name;
  os.indent(6);
  style.wrap(text, 6);
}

void TextReport::writePlace(const FoldedFinding &fold, bool withMessage,
                            bool withFixes) {
  writeOp(fold);
  const Finding &finding = fold.first();
  if (withMessage) {
    os.indent(6);
    style.wrap(finding.message, 6);
  }
  if (!finding.tensor.empty() && (finding.bound || finding.likely)) {
    os.indent(6);
    style.plain(finding.tensor + ":");
    if (finding.likely)
      os << " likely " << getInterval(*finding.likely);
    if (finding.bound)
      os << (finding.likely ? "," : "") << " at most "
         << getInterval(*finding.bound);
    os << '\n';
  }
  writeCauses(finding.causes);
  if (std::string effect = describeOwnEffect(fold); !effect.empty()) {
    os.indent(6);
    style.wrap(effect, 6);
  }
  writeWitness(fold);
  if (fold.consequences)
    os << "      " << plural(fold.consequences, "other finding")
       << (fold.consequences == 1 ? " follows" : " follow") << " from it\n";
  if (fold.members.size() > 1) {
    std::string also = "also";
    llvm::ArrayRef<const Finding *> others(fold.members);
    others = others.drop_front();
    for (const Finding *other : others.take_front(kMaxNames))
      also += (also == "also" ? " " : ", ") + other->op.name;
    if (others.size() > kMaxNames)
      also += " and " + std::to_string(others.size() - kMaxNames) + " more";
    os.indent(6);
    style.wrap(also, 11, 6);
  }
  if (withFixes)
    writeFixes(finding, 6);
}

void TextReport::writeFixes(const Finding &finding, unsigned indent) {
  for (const Fix *fix : chooseFixes(finding)) {
    StringRef label =
        fix->safe ? "safe fix: " : "tried, not enough on its own: ";
    os.indent(indent);
    style.dim("= ");
    os << label;
    style.wrap(fix->text, indent + 4, indent + 2 + label.size());
  }
}
