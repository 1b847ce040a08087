//===- OptionValues.cpp - The small languages inside option values
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/OptionValues.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Support/Spelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>
#include <set>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

std::optional<double> mpopt::parseNumber(StringRef text) {
  if (text == "inf" || text == "+inf")
    return kInfinity;
  if (text == "-inf")
    return -kInfinity;
  double value;
  // getAsDouble also takes nan and hexadecimal spellings of it.
  if (text.empty() || text.getAsDouble(value) || !std::isfinite(value))
    return std::nullopt;
  return value;
}

Expected<Interval> mpopt::parseInterval(StringRef option, StringRef text) {
  auto [low, high] = text.split(':');
  std::optional<double> lo = parseNumber(low), hi = parseNumber(high);
  if (!lo || !hi)
    return fail(option + ": '" + text + "' is not LO:HI, two numbers");
  if (*lo > *hi)
    return fail(option + ": '" + text + "' is empty: LO is above HI");
  if (*lo == kInfinity || *hi == -kInfinity)
    return fail(option + ": '" + text + "' holds no finite value");
  return Interval{*lo, *hi};
}

// A name may hold `=` or `~` itself only as far left as the last separator
// allows; NAME~MEAN,STD is told by its two numbers.
static Error parseDistribution(StringRef text, StringRef name, StringRef value,
                               std::map<std::string, InputRange> &inputs) {
  auto [first, second] = value.split(',');
  std::optional<double> mean = parseNumber(first), std = parseNumber(second);
  if (name.empty() || !mean || !std || std::isinf(*mean) || std::isinf(*std))
    return fail("--input: '" + text + "' is not NAME~MEAN,STD");
  if (*std < 0)
    return fail("--input: '" + text + "': the standard deviation is negative");
  InputRange &input = inputs[name.str()];
  if (input.mean || input.shapes.sample)
    return fail("--input: two distributions for '" + name + "'");
  input.mean = mean;
  input.std = std;
  return Error::success();
}

Error mpopt::parseInput(StringRef text,
                        std::map<std::string, InputRange> &inputs) {
  size_t tilde = text.rfind('~'), equals = text.rfind('=');
  if (tilde != StringRef::npos &&
      (equals == StringRef::npos || tilde > equals)) {
    StringRef name = text.take_front(tilde), value = text.drop_front(tilde + 1);
    // NAME=LO:HI~MEAN,STD says both.
    auto [bounded, bound] = name.rsplit('=');
    if (bound.contains(':')) {
      if (Error error = parseInput(name, inputs))
        return error;
      name = bounded;
    }
    return parseDistribution(text, name, value, inputs);
  }
  // A file name may hold `=`, so `=@` is looked for first.
  size_t at = text.find("=@");
  if (at != StringRef::npos)
    equals = at;
  StringRef name = text.take_front(equals == StringRef::npos ? 0 : equals);
  if (name.empty() || text.contains(",mean=") || text.contains(",std="))
    return fail("--input: '" + text +
                "' is not NAME=LO:HI, NAME=@FILE.npz, NAME~MEAN,STD or "
                "NAME=LO:HI~MEAN,STD");
  StringRef value = text.drop_front(equals + 1);
  InputRange &input = inputs[name.str()];
  if (value.consume_front("zipf:")) {
    std::optional<double> exponent = parseNumber(value);
    if (!exponent || !(*exponent >= 0) || std::isinf(*exponent))
      return fail("--input: '" + text +
                  "': Zipf's law has an exponent of at "
                  "least 0");
    if (input.zipf)
      return fail("--input: two distributions for '" + name + "'");
    input.zipf = exponent;
    return Error::success();
  }
  if (input.bound || !input.file.empty())
    return fail("--input: two bounds for '" + name + "'");
  if (value.consume_front("@")) {
    Expected<NpzShapes> shapes = readNpzShapes(value, name);
    if (!shapes)
      return shapes.takeError();
    if (input.mean && shapes->sample)
      return fail("--input: two distributions for '" + name + "'");
    input.shapes = std::move(*shapes);
    input.file = value.str();
    return Error::success();
  }
  Expected<Interval> bound = parseInterval("--input", value);
  if (!bound)
    return bound.takeError();
  input.bound = *bound;
  return Error::success();
}

Error mpopt::parseDim(StringRef text, std::map<std::string, int64_t> &dims) {
  auto [name, value] = text.rsplit('=');
  int64_t size;
  if (name.empty() || value.getAsInteger(10, size) || size < 0)
    return fail("--dim: '" + text + "' is not NAME=N");
  if (!dims.insert({name.str(), size}).second)
    return fail("--dim: two sizes for '" + name + "'");
  return Error::success();
}

Error mpopt::parseThreshold(StringRef text,
                            std::map<std::string, double> &thresholds) {
  auto [key, value] = text.split('=');
  if (!findThreshold(key)) {
    llvm::SmallVector<StringRef> known;
    for (const RuleInfo &rule : getRules())
      for (const ThresholdInfo &threshold : rule.thresholds)
        known.push_back(threshold.key);
    return fail("--set: no rule has a threshold '" + key + "'" +
                (findNearest(key, known).empty()
                     ? " (there are: " + llvm::join(known, ", ") + ")"
                     : suggestNearest(key, known)));
  }
  std::optional<double> number = parseNumber(value);
  if (!number)
    return fail("--set: '" + text + "' is not KEY=NUMBER");
  if (*number < 0)
    return fail("--set: '" + text + "': no threshold is negative");
  if (thresholds.count(key.str()))
    return fail("--set: two values for '" + key + "'");
  thresholds[key.str()] = *number;
  return Error::success();
}

Error mpopt::refuseRule(StringRef option, StringRef word) {
  llvm::SmallVector<StringRef> names;
  for (const RuleInfo &rule : getRules())
    names.push_back(rule.name);
  // Ids are near to each other: the nearest one is no guess at what was meant.
  return fail(option + ": no rule '" + word + "'" +
              (findNearest(word, names).empty()
                   ? " (mpopt --list-rules shows all)"
                   : suggestNearest(word, names)));
}

std::vector<const RuleInfo *> mpopt::matchRules(StringRef word) {
  std::vector<const RuleInfo *> matches;
  bool isPrefix =
      word.size() >= 2 && word.take_front(2).equals_insensitive("MP");
  for (const RuleInfo &rule : getRules())
    if (word == StringRef(rule.name) ||
        (isPrefix && StringRef(rule.id).starts_with_insensitive(word)))
      matches.push_back(&rule);
  return matches;
}

static Expected<std::set<const RuleInfo *>>
matchAll(StringRef option, llvm::ArrayRef<std::string> lists) {
  std::set<const RuleInfo *> rules;
  for (StringRef list : lists) {
    llvm::SmallVector<StringRef> words;
    list.split(words, ',');
    for (StringRef word : words) {
      std::vector<const RuleInfo *> matches = matchRules(word.trim());
      if (matches.empty())
        return refuseRule(option, word.trim());
      rules.insert(matches.begin(), matches.end());
    }
  }
  return rules;
}

Expected<std::vector<const RuleInfo *>>
mpopt::selectRules(llvm::ArrayRef<std::string> select,
                   llvm::ArrayRef<std::string> ignore) {
  Expected<std::set<const RuleInfo *>> wanted = matchAll("--select", select);
  if (!wanted)
    return wanted.takeError();
  Expected<std::set<const RuleInfo *>> unwanted = matchAll("--ignore", ignore);
  if (!unwanted)
    return unwanted.takeError();
  std::vector<const RuleInfo *> rules;
  for (const RuleInfo &rule : getRules())
    if ((select.empty() || wanted->contains(&rule)) &&
        !unwanted->contains(&rule))
      rules.push_back(&rule);
  return rules;
}

llvm::Expected<double> mpopt::parseShare(StringRef option, StringRef text,
                                         double most) {
  double value;
  if (text.getAsDouble(value) || !(value >= 0) || value > most)
    return llvm::createStringError((option + ": '" + text +
                                    "' is no number from 0 to " +
                                    llvm::formatv("{0}", most).str())
                                       .str());
  return value;
}
