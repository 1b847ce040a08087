//===- LossTerm.cpp - Losses as text
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Adjoint/Loss.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace mpopt;

/// In the order of LossKind.
static const LossKindInfo kKinds[] = {
    {LossKind::CrossEntropy, "cross-entropy", 1, true, true},
    {LossKind::BceWithLogits, "bce-with-logits", 1, true, false},
    {LossKind::Bce, "bce", 1, true, false},
    {LossKind::Mse, "mse", 1, true, false},
    {LossKind::L1, "l1", 1, true, false},
    {LossKind::SmoothL1, "smooth-l1", 1, true, false},
    {LossKind::Nll, "nll", 1, true, true},
    {LossKind::Kl, "kl", 1, true, false},
    {LossKind::KlNormal, "kl-normal", 2, false, false},
    {LossKind::Contrastive, "contrastive", 1, false, false},
    {LossKind::Hinge, "hinge", 1, true, false, 1.0},
    {LossKind::Triplet, "triplet", 3, false, false, 1.0},
    {LossKind::Focal, "focal", 1, true, false},
    {LossKind::Ctc, "ctc", 1, true, false},
    {LossKind::PolicyGradient, "policy-gradient", 1, true, true},
    {LossKind::Sum, "sum", 1, false, false},
    {LossKind::Mean, "mean", 1, false, false},
    {LossKind::Graph, "graph", 0, false, false},
};

/// Those that have a name of their own.
static ArrayRef<LossKindInfo> getNamedKinds() {
  return ArrayRef(kKinds).drop_back();
}

static const std::pair<LossReduction, StringRef> kReductions[] = {
    {LossReduction::Mean, "mean"},
    {LossReduction::Sum, "sum"},
    {LossReduction::SumThenBatchMean, "sum_then_batch_mean"},
    {LossReduction::None, "none"}};

const LossKindInfo &mpopt::getLossKindInfo(LossKind kind) {
  return kKinds[unsigned(kind)];
}

/// True if the names are the same but for `-` and `_`.
static bool isSpelled(StringRef name, StringRef given) {
  return name.size() == given.size() && all_of(zip(name, given), [](auto pair) {
           auto [have, want] = pair;
           return have == want || (have == '-' && want == '_') ||
                  (have == '_' && want == '-');
         });
}

std::optional<LossKind> mpopt::findLossKind(StringRef name) {
  for (const LossKindInfo &info : getNamedKinds())
    if (isSpelled(info.name, name))
      return info.kind;
  return std::nullopt;
}

std::optional<LossReduction> mpopt::findLossReduction(StringRef name) {
  for (auto [reduction, spelling] : kReductions)
    if (isSpelled(spelling, name))
      return reduction;
  return std::nullopt;
}

StringRef mpopt::getLossReductionName(LossReduction reduction) {
  return kReductions[unsigned(reduction)].second;
}

std::string mpopt::listLossKinds() {
  return join(map_range(getNamedKinds(),
                        [](const LossKindInfo &info) { return info.name; }),
              ", ");
}

/// With as many digits as it takes to read the same number.
static std::string getNumberText(double number) {
  std::string text;
  for (const char *digits : {"%g", "%.15g", "%.17g"}) {
    text.clear();
    raw_string_ostream(text) << format(digits, number);
    double read;
    if (!StringRef(text).getAsDouble(read) && read == number)
      break;
  }
  return text;
}

std::string LossTerm::str() const {
  std::string text;
  raw_string_ostream os(text);
  os << (kind == LossKind::Graph ? StringRef(file)
                                 : getLossKindInfo(kind).name);
  if (!predictions.empty() || !target.empty())
    os << ':' << join(predictions, ",");
  if (!target.empty())
    os << ',' << target;
  if (weight != 1)
    os << ":weight=" << getNumberText(weight);
  if (reduction)
    os << ":reduction=" << getLossReductionName(*reduction);
  if (ignoreIndex)
    os << ":ignore=" << *ignoreIndex;
  if (classAxis)
    os << ":class_axis=" << *classAxis;
  if (lastPosition)
    os << ":positions=last";
  if (margin)
    os << ":margin=" << getNumberText(*margin);
  for (auto [key, number] : {std::pair("beta", &beta),
                             {"delta", &delta},
                             {"gamma", &gamma},
                             {"alpha", &alpha}})
    if (*number)
      os << ':' << key << '=' << getNumberText(**number);
  if (labelSmoothing != 0)
    os << ":label_smoothing=" << getNumberText(labelSmoothing);
  if (shareCounted)
    os << ":share_counted=" << getNumberText(*shareCounted);
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Sets the integer, or says what is wrong.
static Error readInteger(StringRef key, StringRef value,
                         std::optional<int64_t> &result) {
  int64_t number;
  if (value.getAsInteger(10, number))
    return createStringError(key + " '" + value + "' is not an integer");
  result = number;
  return Error::success();
}

static Expected<double> readNumber(StringRef key, StringRef value) {
  double number;
  if (value.getAsDouble(number) || !std::isfinite(number))
    return createStringError(key + " '" + value + "' is not a number");
  return number;
}

/// A number from 0 to 1.
static Expected<double> readShare(StringRef key, StringRef value) {
  Expected<double> number = readNumber(key, value);
  if (number && !(*number >= 0 && *number <= 1))
    return createStringError(key + " '" + value + "' is not from 0 to 1");
  return number;
}

static Expected<double> readSize(StringRef key, StringRef value) {
  Expected<double> number = readNumber(key, value);
  if (number && *number < 0)
    return createStringError(key + " '" + value + "' is below 0");
  return number;
}

static Error readOption(StringRef key, StringRef value, LossTerm &term) {
  auto set = [](auto &into, Expected<double> number) -> Error {
    if (!number)
      return number.takeError();
    into = *number;
    return Error::success();
  };
  if (key == "weight")
    return set(term.weight, readNumber(key, value));
  if (key == "margin")
    return set(term.margin, readNumber(key, value));
  if (key == "beta")
    return set(term.beta, readSize(key, value));
  if (key == "delta")
    return set(term.delta, readSize(key, value));
  if (key == "gamma")
    return set(term.gamma, readSize(key, value));
  if (key == "alpha")
    return set(term.alpha, readNumber(key, value));
  if (key == "label_smoothing")
    return set(term.labelSmoothing, readShare(key, value));
  if (key == "share_counted")
    return set(term.shareCounted, readShare(key, value));
  if (key == "reduction") {
    term.reduction = findLossReduction(value);
    if (!term.reduction)
      return createStringError(
          "reduction '" + value +
          "' is not mean, sum, sum_then_batch_mean or none");
    return Error::success();
  }
  if (key == "ignore")
    return readInteger(key, value, term.ignoreIndex);
  if (key == "class_axis")
    return readInteger(key, value, term.classAxis);
  if (key == "positions") {
    term.lastPosition = value == "last";
    return value == "last" || value == "all"
               ? Error::success()
               : createStringError("positions '" + value +
                                   "' are neither last nor all");
  }
  return createStringError("no option is called '" + key +
                           "'; there are weight, reduction, ignore, "
                           "class_axis, positions, margin, label_smoothing, "
                           "beta, delta, gamma, alpha and share_counted");
}

/// Splits `PREDICTION,...,TARGET`.
static Error readNames(StringRef text, LossTerm &term) {
  const LossKindInfo &info = getLossKindInfo(term.kind);
  SmallVector<StringRef> names;
  text.split(names, ',');
  if (names.size() > info.predictions + info.takesTarget)
    return createStringError(
        info.name + " takes " + Twine(info.predictions) +
        (info.predictions == 1 ? " prediction" : " predictions") +
        (info.takesTarget ? " and a target" : " and no target") + ", not '" +
        text + "'");
  if (names.size() > info.predictions)
    term.target = names.pop_back_val().trim().str();
  for (StringRef name : names)
    term.predictions.push_back(name.trim().str());
  // An empty place is one that is left to choose.
  if (term.predictions.size() == 1 && term.predictions[0].empty())
    term.predictions.clear();
  if (is_contained(term.predictions, ""))
    return createStringError("a prediction of " + info.name + " has no name");
  if (!term.predictions.empty() && term.predictions.size() != info.predictions)
    return createStringError(info.name + " takes " + Twine(info.predictions) +
                             " predictions, not " +
                             Twine(term.predictions.size()));
  return Error::success();
}

Expected<LossTerm> mpopt::parseLossTerm(StringRef text) {
  auto [name, rest] = text.split(':');
  std::optional<LossKind> kind = findLossKind(name.trim());
  if (!kind)
    return createStringError("no loss is called '" + name +
                             "'; there are: " + listLossKinds());
  LossTerm term;
  term.kind = *kind;
  // Options are at the end; what is before them may have colons of its own.
  StringRef names = rest;
  SmallVector<StringRef> options;
  while (!names.empty()) {
    auto [before, last] = names.rsplit(':');
    bool whole = before.size() == names.size();
    if (!(whole ? names : last).contains('='))
      break;
    options.push_back(whole ? names : last);
    names = whole ? StringRef() : before;
  }
  if (!names.empty())
    if (Error error = readNames(names, term))
      return error;
  for (StringRef option : reverse(options)) {
    auto [key, value] = option.split('=');
    if (Error error = readOption(key.trim(), value.trim(), term))
      return error;
  }
  return term;
}
