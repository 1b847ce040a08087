//===- Suppressions.cpp - Findings that are borne for a reason ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/Baseline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::GlobPattern;
using llvm::StringRef;

/// True if the word means the rule: its id, a prefix of it, or its name.
static bool means(StringRef word, const RuleInfo &rule) {
  return StringRef(rule.id).starts_with_insensitive(word) ||
         word == StringRef(rule.name);
}

/// True for `2027-01-31`, whose order is that of time.
static bool isDate(StringRef text) {
  unsigned month = 0, day = 0;
  return text.size() == 10 && text[4] == '-' && text[7] == '-' &&
         llvm::all_of(text.take_front(4), llvm::isDigit) &&
         !text.substr(5, 2).getAsInteger(10, month) &&
         !text.substr(8, 2).getAsInteger(10, day) && month >= 1 &&
         month <= 12 && day >= 1 && day <= 31;
}

Error mpopt::checkSuppression(const Suppression &suppression) {
  auto fail = [](const llvm::Twine &text) {
    return llvm::createStringError("a suppression " + text);
  };
  if (StringRef(suppression.reason).trim().empty())
    return fail("needs a reason");
  if (suppression.rule.empty() && suppression.op.empty() &&
      suppression.fingerprint.empty())
    return fail("needs a rule, an op or a fingerprint");
  if (!suppression.rule.empty() &&
      llvm::none_of(getRules(), [&](const RuleInfo &rule) {
        return means(suppression.rule, rule);
      }))
    return fail("names a rule that does not exist, '" + suppression.rule + "'");
  if (!suppression.op.empty())
    if (Expected<GlobPattern> pattern = GlobPattern::create(suppression.op, 64);
        !pattern)
      return fail("has an op that is no pattern: " +
                  llvm::toString(pattern.takeError()));
  if (!suppression.expires.empty() && !isDate(suppression.expires))
    return fail("expires on '" + suppression.expires +
                "', which is no date as 2027-01-31");
  return Error::success();
}

namespace {
class Matcher {
public:
  explicit Matcher(const Suppression &suppression) : wanted(suppression) {
    if (wanted.op.empty())
      return;
    if (Expected<GlobPattern> made = GlobPattern::create(wanted.op, 64))
      pattern = std::move(*made);
    else
      llvm::consumeError(made.takeError());
  }

  bool fits(StringRef rule, StringRef op, StringRef fingerprint) const {
    if (!wanted.fingerprint.empty() && wanted.fingerprint != fingerprint)
      return false;
    if (!wanted.op.empty() && !(pattern && pattern->match(op)))
      return false;
    const RuleInfo *info = findRule(rule);
    return wanted.rule.empty() || (info && means(wanted.rule, *info));
  }

private:
  const Suppression &wanted;
  std::optional<GlobPattern> pattern;
};
} // namespace

static std::string describe(const Suppression &suppression) {
  std::string text = suppression.place + ": the suppression of ";
  text += suppression.rule.empty() ? "any rule" : suppression.rule;
  if (!suppression.op.empty())
    text += " at '" + suppression.op + "'";
  if (!suppression.fingerprint.empty())
    text += " with fingerprint " + suppression.fingerprint;
  return text;
}

void mpopt::applySuppressions(llvm::ArrayRef<Suppression> suppressions,
                              StringRef today, ModelReport &report) {
  for (const Suppression &suppression : suppressions) {
    if (!suppression.expires.empty() &&
        StringRef(suppression.expires) < today) {
      report.warnings.push_back(describe(suppression) + " expired on " +
                                suppression.expires);
      continue;
    }
    Matcher matcher(suppression);
    bool used = false;
    for (Finding &finding : report.findings) {
      if (!matcher.fits(finding.rule, finding.op.name, finding.fingerprint))
        continue;
      used = true;
      if (!finding.counts())
        continue;
      finding.standing = Standing::Suppressed;
      finding.reason = suppression.reason;
    }
    used |= llvm::any_of(report.unlisted, [&](const BaselineEntry &entry) {
      return matcher.fits(entry.rule, entry.op, entry.fingerprint);
    });
    if (!used)
      report.warnings.push_back(describe(suppression) + " matches nothing");
  }
}
