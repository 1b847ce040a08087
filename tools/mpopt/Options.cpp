//===- Options.cpp - What the user asked for
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "OptionUse.h"
#include "PatternSize.h"
#include "mpopt/Driver/OptionValues.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/OutputConflicts.h"

#include "mpopt/Import/InputShape.h"
#include "mpopt/Instrument/Confirm.h"
#include "mpopt/Report/OutputFormat.h"

#include "mpopt/Policy/Policy.h"
#include "mpopt/Support/TargetFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"

#include <set>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace cl = llvm::cl;

/// Half a MiB of states; a list of ten thousand names has room.
static constexpr uint64_t kMaxPatternSize = 1 << 19;

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

namespace {
// Made in parseOptions, not as globals: the options that LLVM's libraries
// register when they are loaded are taken away first.
struct CommandLine {
  using Text = cl::opt<std::string>;
  using Flag = cl::opt<bool>;
  using Texts = cl::list<std::string>;

  Texts models{cl::Positional};
  Flag help{"help"}, helpShort{"h"}, version{"version"};
  Flag check{"check"}, instrument{"instrument"}, strip{"strip"},
      emitMlir{"emit-mlir"}, listRules{"list-rules"};
  Text explain{"explain"}, ledger{"ledger"};
  Texts confirm{"confirm"};

  Text precision{"precision", cl::init("auto")};
  Text policy{"policy"}, target{"target"}, method{"method"};
  Texts input{"input"}, dim{"dim"}, inputShape{"input-shape"};
  Text assume{"assume"};

  Texts select{"select"}, ignore{"ignore"}, set{"set"};
  Text minCertainty{"min-certainty", cl::init("likely")};
  Text failOn{"fail-on", cl::init("warning")};

  Text format{"format", cl::init("text")};
  Text output{"o", cl::init("-")};
  Text dumpRanges{"dump-ranges"}, keepFp32{"keep-fp32"};
  Flag safeInput{"safe-input"};
  /// For tests: fixes are tried on all of the model, not on what they reach.
  Flag wholeTrials{"whole-trials"};
  Text probe{"probe"}, probeWith{"probe-with"};
  Text jobs{"jobs"};
};

// Checks one command line and fills in Options.
class Validator {
public:
  explicit Validator(const CommandLine &line) : line(line) {}
  Expected<Options> run();

private:
  Error checkAction();
  Error refuseLaterReleases();
  Error checkModels();
  Error checkJudging();
  Error checkRules();
  Error checkReporting();
  Error checkFormat();
  Error checkProbing();
  Error checkConfirming();

  const CommandLine &line;
  Options options;
};
} // namespace

// `a, b or c`.
static std::string listWords(llvm::ArrayRef<StringRef> words) {
  return llvm::join(words.drop_back(), ", ") + " or " + words.back().str();
}

Error Validator::checkAction() {
  llvm::SmallVector<StringRef> given;
  auto take = [&](bool isGiven, StringRef name, Action action) {
    if (!isGiven)
      return;
    given.push_back(name);
    options.action = action;
  };
  take(line.check, "--check", Action::Check);
  take(line.instrument, "--instrument", Action::Instrument);
  take(line.confirm.getNumOccurrences() > 0, "--confirm", Action::Confirm);
  take(line.strip, "--strip", Action::Strip);
  take(line.emitMlir, "--emit-mlir", Action::EmitMlir);
  take(line.listRules, "--list-rules", Action::ListRules);
  take(line.explain.getNumOccurrences() > 0, "--explain", Action::Explain);
  if (given.empty())
    return fail("nothing to do: try 'mpopt --check MODEL' or 'mpopt --help'");
  if (given.size() > 1)
    return fail(given[0] + " and " + given[1] + " do not go together");
  if (Error error = checkOptionUse(options.action))
    return error;
  if (options.action != Action::Explain)
    return Error::success();
  options.explained = findRule(line.explain);
  if (!options.explained)
    return fail("--explain: no rule '" + line.explain +
                "' (mpopt --list-rules shows all)");
  return Error::success();
}

Error Validator::refuseLaterReleases() {
  auto refuse = [](const Twine &what) {
    return fail(what + " comes in a later release");
  };
  if (line.precision == "fp8")
    return refuse("--precision fp8");
  const OutputFormat *format = findOutputFormat(line.format);
  if (format && !format->isWritten())
    return refuse("--format " + format->name);
  return Error::success();
}

Error Validator::checkModels() {
  options.models.assign(line.confirm.begin(), line.confirm.end());
  options.models.insert(options.models.end(), line.models.begin(),
                        line.models.end());
  bool needsModel =
      options.action == Action::Check || options.action == Action::Confirm ||
      options.action == Action::Instrument || options.action == Action::Strip ||
      options.action == Action::EmitMlir;
  if (!needsModel) {
    if (!options.models.empty())
      return fail("'" + options.models.front() +
                  "': --explain and --list-rules take no model");
    return Error::success();
  }
  if (options.models.empty())
    return fail("no model given: mpopt --check MODEL");
  if (llvm::count(options.models, "-") > 1)
    return fail("standard input can be read only once");
  if (options.models.size() == 1 || options.action == Action::Confirm)
    return Error::success();
  if (options.action != Action::Check)
    return fail(getActionName(options.action) + " takes one model");
  if (!line.dumpRanges.empty())
    return fail("--dump-ranges takes one model");
  if (!line.keepFp32.empty())
    return fail("--keep-fp32 takes one model");
  return Error::success();
}

Error Validator::checkJudging() {
  static constexpr StringRef kPrecisions[] = {
      "auto", "as-is", "fp16", "bf16", "autocast-fp16", "autocast-bf16", "fp8"};
  if (!llvm::is_contained(kPrecisions, line.precision))
    return fail("--precision: '" + line.precision + "' is not " +
                listWords(kPrecisions));
  options.precision = line.precision;

  options.policy = line.policy;
  if (line.policy.getNumOccurrences())
    if (Expected<Policy> policy = Policy::load(line.policy); !policy)
      return fail("--policy: " + llvm::toString(policy.takeError()));

  if (line.target.getNumOccurrences())
    if (auto target = findTarget(line.target); !target)
      return fail("--target: " + llvm::toString(target.takeError()));
  options.target = line.target;

  options.import.method = line.method;
  if (line.assume.getNumOccurrences()) {
    Expected<Interval> assumed = parseInterval("--assume", line.assume);
    if (!assumed)
      return assumed.takeError();
    options.assumed = *assumed;
  }
  for (StringRef input : line.input)
    if (Error error = parseInput(input, options.inputs))
      return error;
  for (StringRef dim : line.dim)
    if (Error error = parseDim(dim, options.import.dims))
      return error;
  std::set<std::string> shaped;
  for (StringRef text : line.inputShape) {
    Expected<InputShape> shape = parseInputShape(text);
    if (!shape)
      return shape.takeError();
    if (!shaped.insert(shape->input).second)
      return fail("--input-shape: two shapes for '" + shape->input + "'");
    options.import.inputShapes.push_back(std::move(*shape));
  }
  if (line.jobs.getNumOccurrences() &&
      (StringRef(line.jobs).getAsInteger(10, options.jobs) ||
       options.jobs == 0 || options.jobs > 4096))
    return fail("--jobs: '" + line.jobs + "' is not a number of threads");
  return Error::success();
}

Error Validator::checkRules() {
  Expected<std::vector<const RuleInfo *>> rules =
      selectRules(line.select, line.ignore);
  if (!rules)
    return rules.takeError();
  options.rules = std::move(*rules);
  for (StringRef text : line.set)
    if (Error error = parseThreshold(text, options.thresholds))
      return error;
  std::optional<Certainty> certainty = parseCertainty(line.minCertainty);
  if (!certainty)
    return fail("--min-certainty: '" + line.minCertainty +
                "' is not certain, likely or possible");
  options.minCertainty = *certainty;
  // What is only possible is what probes are for.
  if (options.action == Action::Confirm &&
      !line.minCertainty.getNumOccurrences())
    options.minCertainty = Certainty::Possible;
  options.failOn = parseSeverity(line.failOn);
  if (!options.failOn && line.failOn != "never")
    return fail("--fail-on: '" + line.failOn +
                "' is not error, warning, note or never");
  return Error::success();
}

Error Validator::checkReporting() {
  if (Error error = checkFormat())
    return error;
  if (line.output.empty())
    return fail("-o: the file name is empty");
  options.output = line.output;
  options.rangesFile = line.dumpRanges;
  options.safeInput = line.safeInput;
  options.wholeTrials = line.wholeTrials;
  options.keepFile = line.keepFp32;
  if (line.dumpRanges.getNumOccurrences() && options.rangesFile.empty())
    return fail("--dump-ranges: the file name is empty");
  if (line.keepFp32.getNumOccurrences() && options.keepFile.empty())
    return fail("--keep-fp32: the file name is empty");
  return Error::success();
}

Error Validator::checkFormat() {
  options.format = findOutputFormat(line.format);
  llvm::SmallVector<StringRef> words;
  for (const OutputFormat &format : getOutputFormats())
    if (format.isWritten())
      words.push_back(format.name);
  if (!options.format)
    return fail("--format: '" + line.format + "' is not " + listWords(words));
  bool isWritten = true;
  if (options.action == Action::Confirm)
    isWritten = getConfirmWriter(*options.format);
  else if (options.action == Action::ListRules)
    isWritten = options.format->writeRules;
  else if (options.action == Action::Explain)
    isWritten = options.format->writeRule;
  if (!isWritten)
    return fail("--format " + options.format->name + " does not go with " +
                getActionName(options.action));
  return Error::success();
}

Error Validator::checkProbing() {
  bool instruments = options.action == Action::Instrument;
  if (instruments || options.action == Action::Strip)
    if (options.output == "-")
      return fail(getActionName(options.action) + " needs -o OUT");
  if (!instruments)
    return Error::success();
  // The ledger goes beside it, and a summary to standard output.
  if (isStream(options.output) || isStream(getLedgerFile(options.output)))
    return fail("--instrument needs a file to write, and '" + options.output +
                "' is a stream");
  if (options.models.front() == "-")
    return fail("--instrument needs a file, not standard input");
  if (line.probe.getNumOccurrences()) {
    if (estimatePatternSize(line.probe) > kMaxPatternSize)
      return fail("--probe: the regular expression repeats too much: what is "
                  "repeated counts as often");
    Expected<ProbeSelection> probes = ProbeSelection::parse(line.probe);
    if (!probes)
      return fail("--probe: " + llvm::toString(probes.takeError()));
    options.probes = std::move(*probes);
  }
  if (line.probeWith.getNumOccurrences()) {
    if (line.probeWith != "op" && line.probeWith != "outputs")
      return fail("--probe-with: '" + line.probeWith +
                  "' is not op or outputs");
    if (line.probeWith == "outputs")
      options.probeWith = ProbeWith::Outputs;
  }
  return Error::success();
}

Error Validator::checkConfirming() {
  if (options.action != Action::Confirm)
    return Error::success();
  // A value is taken even where another option stands in its place.
  if (StringRef(options.models.front()).starts_with("--"))
    return fail("--confirm needs a record, and '" + options.models.front() +
                "' is none");
  if (line.ledger.empty())
    return fail("--confirm needs --ledger OUT.probes.json, which "
                "--instrument wrote");
  options.ledger = line.ledger;
  if (options.ledger == "-" && llvm::is_contained(options.models, "-"))
    return fail("standard input can be read only once");
  return Error::success();
}

Expected<Options> Validator::run() {
  if (line.help || line.helpShort || line.version) {
    options.action = line.version ? Action::Version : Action::Help;
    return options;
  }
  // What comes later is said first, whatever else is wrong.
  for (auto step : {&Validator::refuseLaterReleases, &Validator::checkAction,
                    &Validator::checkModels, &Validator::checkJudging,
                    &Validator::checkRules, &Validator::checkReporting,
                    &Validator::checkProbing, &Validator::checkConfirming})
    if (Error error = (this->*step)())
      return error;
  if (Error error = checkOutputs(options))
    return error;
  return std::move(options);
}

// The parser's complaint, several lines that start with the program's name, as
// one line.
static std::string tidyComplaint(StringRef text) {
  StringRef line = text.take_until([](char c) { return c == '\n'; });
  line = line.rtrim();
  if (size_t colon = line.find(": "); colon != StringRef::npos)
    line = line.drop_front(colon + 2);
  if (StringRef rest = line;
      rest.consume_front("Unknown command line argument ")) {
    std::string unknown = "unknown option " + rest.split(".  Try").first.str();
    StringRef guess = text.split("Did you mean '").second.split('\'').first;
    if (!guess.empty())
      unknown += "; did you mean '" + guess.str() + "'?";
    return unknown + (guess.empty() ? " (mpopt --help shows all)" : "");
  }
  line.consume_front("for the ");
  return line.rtrim('!').str();
}

// What llvm::cl would say itself, on standard error and in its own words:
// values that are missing or not wanted, and options given twice.
static Error checkSpelling(llvm::ArrayRef<char *> words) {
  auto &known = cl::getRegisteredOptions();
  std::set<cl::Option *> seen;
  for (size_t index = 0; index < words.size(); ++index) {
    StringRef word = words[index];
    if (word == "--")
      break;
    if (word == "-" || !word.consume_front("-"))
      continue;
    word.consume_front("-");
    auto found = known.find(word.split('=').first);
    if (found == known.end())
      continue;
    cl::Option *option = found->second;
    std::string name =
        (option->ArgStr.size() == 1 ? "-" : "--") + option->ArgStr.str();
    bool hasValue = word.contains('=');
    if (option->getValueExpectedFlag() != cl::ValueRequired) {
      if (hasValue)
        return fail(name + " takes no value");
    } else if (!hasValue && ++index == words.size()) {
      return fail(name + " needs a value");
    }
    bool once = option->getNumOccurrencesFlag() == cl::Optional;
    if (once && !seen.insert(option).second)
      return fail(name + " is given twice");
  }
  return Error::success();
}

Expected<Options> mpopt::parseOptions(int argc, char **argv) {
  llvm::SmallVector<cl::Option *> foreign;
  for (auto &entry : cl::getRegisteredOptions())
    foreign.push_back(entry.second);
  for (cl::Option *option : foreign)
    option->removeArgument();

  CommandLine line;
  if (Error error = checkSpelling(llvm::ArrayRef(argv, argc).drop_front()))
    return error;
  std::string complaint;
  llvm::raw_string_ostream errors(complaint);
  if (!cl::ParseCommandLineOptions(argc, argv, "", &errors))
    return fail(tidyComplaint(complaint));
  return Validator(line).run();
}
