//===- OptionTable.cpp - The records of Options.td ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OptionTable.h"
#include "mpopt/Driver/TrainRequest.h"

#include "Options.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Numerics/Precision.h"
#include "mpopt/Report/OutputFormat.h"
#include "mpopt/Report/TextStyle.h"
#include "mpopt/Support/Spelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Option/Option.h"
#include "llvm/Support/FileSystem.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace opt = llvm::opt;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
// The names that records have for them.
using opt::DefaultVis, opt::HelpHidden;
enum ActionVisibility : unsigned {
  InCheck = 1 << 1,
  InInstrument = 1 << 2,
  InConfirm = 1 << 3,
  InStrip = 1 << 4,
  InEmitMlir = 1 << 5,
  InListRules = 1 << 6,
  InExplain = 1 << 7,
  InDiff = 1 << 8,
  InCompletion = 1 << 9,
  InAdvise = 1 << 10,
  InFix = 1 << 11,
  InConvert = 1 << 12,
};
enum OptionFlag : unsigned { Repeated = 1 << 4, IdleInInstrument = 1 << 5 };

#define OPTTABLE_STR_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_STR_TABLE_CODE
#define OPTTABLE_PREFIXES_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr opt::OptTable::Info kRecords[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

struct Table : opt::GenericOptTable {
  Table() : GenericOptTable(OptionStrTable, OptionPrefixesTable, kRecords) {}
};

struct ActionInfo {
  Action action;
  OptionId option;
  unsigned visibility;
};
} // namespace

// In the order in which --help and errors list them.
static constexpr ActionInfo kActions[] = {
    {Action::Check, OPT_check, InCheck},
    {Action::Advise, OPT_advise, InAdvise},
    {Action::Fix, OPT_fix, InFix},
    {Action::Convert, OPT_convert, InConvert},
    {Action::Instrument, OPT_instrument, InInstrument},
    {Action::Strip, OPT_strip, InStrip},
    {Action::Confirm, OPT_confirm, InConfirm},
    {Action::Diff, OPT_diff, InDiff},
    {Action::EmitMlir, OPT_emit_mlir, InEmitMlir},
    {Action::ListRules, OPT_list_rules, InListRules},
    {Action::Explain, OPT_explain, InExplain},
    {Action::Completion, OPT_completion, InCompletion}};

static const Table &getTable() {
  static const Table table;
  return table;
}

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

/// `a, b or c`.
static std::string listWords(llvm::ArrayRef<StringRef> words,
                             StringRef last = " or ") {
  std::string text = llvm::join(words.drop_back(), ", ");
  return text + (text.empty() ? "" : last.str()) + words.back().str();
}

static const ActionInfo &getInfo(Action action) {
  return *llvm::find_if(
      kActions, [&](const ActionInfo &info) { return info.action == action; });
}

StringRef mpopt::getName(OptionId option) {
  return getTable().getOptionPrefixedName(option);
}

StringRef mpopt::getName(Action action) {
  return getName(getInfo(action).option);
}

//===----------------------------------------------------------------------===//
// Spelling
//===----------------------------------------------------------------------===//

/// The option here for the spelling of other tools; empty if there is none.
static StringRef findForm(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"--half", "--float16"}, "--precision fp16")
      .Case("--bfloat16", "--precision bf16")
      .Case("--learning-rate", "--lr 1e-4")
      .Case("--loss-scale", "--scaler 1024")
      .Case("--json", "--format json")
      .Case("--html", "--format html")
      .Case("--sarif", "--format sarif")
      .Case("--exit-zero", "--fail-on never")
      .Cases({"--dtype", "--mixed-precision"}, "--precision autocast-fp16")
      .Case("--output", "-o FILE")
      .Default("");
}

static Error refuseUnknown(StringRef word) {
  const Table &table = getTable();
  StringRef name = word.split('=').first;
  if (StringRef form = findForm(name); !form.empty())
    return fail("unknown option '" + word + "'; it is written '" + form + "'");
  std::string nearest;
  if (table.findExact(name, nearest))
    return fail(nearest + " takes no value");
  if (table.findNearest(word, nearest) > kMostEdits) {
    auto begun = llvm::find_if(kRecords, [&](const auto &record) {
      return record.getPrefixedName(table.getStrTable()).starts_with(name);
    });
    if (name.size() < 4 || begun == std::end(kRecords))
      return fail("unknown option '" + word + "' (mpopt --help shows all)");
    nearest = begun->getPrefixedName(table.getStrTable()).rtrim('=');
  }
  return fail("unknown option '" + word + "'; did you mean '" + nearest + "'?");
}

Expected<opt::InputArgList>
mpopt::parseArguments(llvm::ArrayRef<const char *> words) {
  const Table &table = getTable();
  opt::InputArgList args(words.begin(), words.end());
  // By hand, since OptTable::ParseArgs passes over empty words: the name of a
  // model that a script has lost would be lost here, too.
  for (unsigned index = 0; index < words.size();) {
    const char *word = words[index];
    if (word == StringRef("--")) {
      while (++index < words.size())
        args.append(new opt::Arg(table.getOption(OPT_INPUT), words[index],
                                 index, words[index]));
      break;
    }
    std::unique_ptr<opt::Arg> arg = table.ParseOneArg(args, index);
    if (!arg)
      return fail(Twine(word) + " needs a value");
    opt::Option option = arg->getOption();
    if (option.matches(OPT_UNKNOWN))
      return refuseUnknown(word);
    if (!option.matches(OPT_INPUT) && !option.hasFlag(Repeated) &&
        args.hasArg(option.getID()))
      return fail(option.getPrefixedName() + " is given twice");
    args.append(arg.release());
  }
  return args;
}

//===----------------------------------------------------------------------===//
// Actions and values
//===----------------------------------------------------------------------===//

// Options that answer without an action.
static constexpr OptionId kAnswers[] = {OPT_help, OPT_version};

/// The options that a word in front of a command line may stand for.
static llvm::SmallVector<OptionId> listNamed() {
  auto named = llvm::to_vector(kAnswers);
  for (const ActionInfo &info : kActions)
    named.push_back(info.option);
  return llvm::SmallVector<OptionId>(named.begin(), named.end());
}

std::vector<StringRef> mpopt::listCommands() {
  std::vector<StringRef> names = {"lint", "run", "view"};
  for (OptionId option : listNamed())
    names.push_back(getName(option).ltrim('-'));
  return names;
}

Expected<std::vector<const char *>>
mpopt::spellAction(llvm::ArrayRef<const char *> words) {
  std::vector<const char *> spelled(words.begin(), words.end());
  if (words.empty() || StringRef(words[0]).starts_with("-"))
    return spelled;
  StringRef word = words[0];
  for (OptionId option : listNamed())
    if (getName(option).ltrim('-') == word) {
      spelled[0] = getName(option).data();
      return spelled;
    }
  // Those of the package are here where they are not right.
  std::vector<StringRef> names = listCommands();
  if (findNearest(word, names).empty() || llvm::sys::fs::exists(word))
    return spelled;
  return fail("unknown command '" + word + "'" + suggestNearest(word, names));
}

Expected<Action> mpopt::parseAction(const opt::InputArgList &args) {
  llvm::SmallVector<Action> given;
  for (const ActionInfo &info : kActions)
    if (args.hasArg(info.option))
      given.push_back(info.action);
  if (given.empty() && args.hasArg(OPT_INPUT))
    return Action::Check;
  if (given.empty())
    return fail("nothing to do: try 'mpopt check MODEL' or 'mpopt --help'");
  if (given.size() > 1)
    return fail(getName(given[0]) + " and " + getName(given[1]) +
                " do not go together");
  return given.front();
}

/// The actions that look at the option.
static llvm::SmallVector<StringRef> listActions(const opt::Option &option) {
  llvm::SmallVector<StringRef> names;
  for (const ActionInfo &info : kActions)
    if (option.hasVisibilityFlag(info.visibility))
      names.push_back(getName(info.option));
  return names;
}

Error mpopt::checkUse(const opt::InputArgList &args, Action action) {
  for (const opt::Arg *arg : args) {
    opt::Option option = arg->getOption();
    if (!option.hasVisibilityFlag(getInfo(action).visibility | DefaultVis))
      return fail(option.getPrefixedName() + " goes with " +
                  listWords(listActions(option), " and ") + ", not with " +
                  getName(action));
    if (action == Action::Instrument && option.hasFlag(IdleInInstrument))
      printWarning(option.getPrefixedName() + " has no effect on --instrument");
  }
  return Error::success();
}

/// The words that the option takes; none if it takes any.
static llvm::SmallVector<StringRef> listValues(const opt::Option &option) {
  llvm::SmallVector<StringRef> words;
  if (option.matches(OPT_format)) {
    for (const OutputFormat &format : getOutputFormats())
      if (format.isWritten())
        words.push_back(format.name);
  } else if (const char *values = kRecords[option.getID() - 1].Values) {
    StringRef(values).split(words, ',');
  }
  return words;
}

// A dtype is that of the whole model, `mixed` is autocast, and 32 bits change
// nothing.
std::string mpopt::spellPrecision(StringRef word) {
  word.consume_front("torch.");
  std::string name = word.lower();
  llvm::replace(name, '_', '-');
  return llvm::StringSwitch<std::string>(name)
      .Cases({"no", "fp32", "f32", "float", "float32", "32", "32-true"},
             "as-is")
      .Cases({"f16", "half", "float16", "16-true", "fp16-true"}, "fp16")
      .Cases({"bfloat16", "bf16-true"}, "bf16")
      .Cases({"16", "16-mixed", "fp16-mixed", "float16-mixed",
              "autocast-float16", "amp"},
             "autocast-fp16")
      .Cases({"bf16-mixed", "bfloat16-mixed", "autocast-bfloat16"},
             "autocast-bf16")
      .Case("fp8-e4m3:mx-floor", "fp8-e4m3:mx_floor")
      .Default(name);
}

Error mpopt::checkValues(const opt::InputArgList &args) {
  for (const opt::Arg *arg : args) {
    llvm::SmallVector<StringRef> words = listValues(arg->getOption());
    std::string value = arg->getNumValues() ? arg->getValue() : "";
    if (arg->getOption().matches(OPT_precision)) {
      value = isFp8Training(value) ? "auto" : spellPrecision(value);
      // A precision may hold a comma, which separates the words of a list.
      if (Precision::byName(value))
        continue;
    }
    if (words.empty() || llvm::is_contained(words, StringRef(value)))
      continue;
    std::string what = getName(OptionId(arg->getOption().getID())).str();
    what += std::string(": '") + arg->getValue() + "' is not ";
    return fail(findNearest(value, words).empty()
                    ? what + listWords(words)
                    : what + "known" + suggestNearest(value, words));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// --help
//===----------------------------------------------------------------------===//

static constexpr unsigned kHelpColumn = 27, kHelpWidth = 80;

static void printOption(llvm::raw_ostream &os, const opt::Option &option,
                        StringRef indent) {
  std::string head = (indent + option.getPrefixedName()).str();
  if (const char *metaVar = getTable().getOptionMetaVar(option.getID()))
    head += std::string(" ") + metaVar;
  os << head;
  if (head.size() + 2 > kHelpColumn)
    os << '\n' << std::string(kHelpColumn, ' ');
  else
    os.indent(kHelpColumn - head.size());
  std::string text = getTable().getOptionHelpText(option.getID());
  if (llvm::SmallVector<StringRef> words = listValues(option); !words.empty())
    text += ": " + listWords(words);
  WriteOptions style;
  style.width = kHelpWidth;
  TextStyle(os, style).wrap(text, kHelpColumn);
}

static constexpr OptionId kSections[] = {
    OPT_judged,    OPT_assumed, OPT_counted, OPT_written,
    OPT_converted, OPT_trained, OPT_probed,  OPT_general};

static void printSection(llvm::raw_ostream &os, OptionId section,
                         unsigned visibility) {
  bool begun = false;
  for (const opt::OptTable::Info &record : kRecords) {
    if (record.GroupID != section || record.AliasID ||
        !(record.Visibility & visibility))
      continue;
    if (!begun)
      os << '\n' << getTable().getOptionHelpText(section) << ":\n";
    begun = true;
    printOption(os, getTable().getOption(record.ID), "  ");
  }
}

static void printUsage(llvm::raw_ostream &os) {
  os << "mpopt: where a model overflows, underflows or turns NaN in 16-bit "
        "floats\n\nusage:\n";
  for (const ActionInfo &info : kActions)
    printOption(os, getTable().getOption(info.option), "  mpopt ");
  os << "  mpopt lint FILE.py...   what breaks in a training script (mpopt "
        "lint --help)\n"
        "  mpopt run MODEL         what a model with probes does (mpopt run "
        "--help)\n"
        "  mpopt view RUN.mprec    a run or report as a page (mpopt view "
        "--help)\n"
        "\nmpopt check MODEL is mpopt --check MODEL, and so for the others; "
        "mpopt MODEL\nchecks it.\n";
}

static void printExitStatus(llvm::raw_ostream &os) {
  os << "exit status: 0 nothing at or above --fail-on; 1 findings; 2 an "
        "error\n";
}

/// The word by which users name a section: the last one of its title.
static StringRef getTopic(OptionId section) {
  return StringRef(getTable().getOptionHelpText(section)).rsplit(' ').second;
}

/// The topic of a section for a noun of what it is about; other words as they
/// are.
static StringRef findSection(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Case("inputs", "assumed")
      .Cases({"rules", "findings"}, "counted")
      .Cases({"outputs", "formats"}, "written")
      .Cases({"conversion", "converting"}, "converted")
      .Case("training", "trained")
      .Cases({"probes", "probing"}, "probed")
      .Default(word);
}

Error mpopt::printHelp(llvm::raw_ostream &os, StringRef topic) {
  const Table &table = getTable();
  if (topic.empty()) {
    printUsage(os);
    for (OptionId section : kSections)
      printSection(os, section, ~0u);
    printExitStatus(os << '\n');
    return Error::success();
  }
  StringRef word = topic.ltrim('-');
  if (word == "exit") {
    printExitStatus(os);
    return Error::success();
  }
  word = findSection(word);
  for (const ActionInfo &info : kActions)
    if (getName(info.option).ltrim('-') == word) {
      printOption(os, table.getOption(info.option), "  mpopt ");
      for (OptionId section : kSections)
        printSection(os, section, info.visibility | DefaultVis);
      return Error::success();
    }
  for (OptionId section : kSections)
    if (getTopic(section) == word) {
      printSection(os, section, ~0u);
      return Error::success();
    }
  for (const opt::OptTable::Info &record : kRecords)
    if (record.GroupID && !record.AliasID &&
        getName(OptionId(record.ID)).ltrim('-') == word) {
      printOption(os, table.getOption(record.ID), "");
      return Error::success();
    }
  llvm::SmallVector<StringRef> topics;
  for (OptionId section : kSections)
    topics.push_back(getTopic(section));
  std::string sections = llvm::join(topics, ", ");
  for (const opt::OptTable::Info &record : kRecords)
    if (record.GroupID && !record.AliasID)
      topics.push_back(getName(OptionId(record.ID)).ltrim('-'));
  return fail("--help: '" + topic + "' is no section, action or option" +
              (findNearest(word, topics).empty()
                   ? " (sections: " + sections + "; mpopt --help shows all)"
                   : suggestNearest(word, topics)));
}

//===----------------------------------------------------------------------===//
// Settings and completion
//===----------------------------------------------------------------------===//

static const opt::OptTable::Info *findRecord(StringRef word) {
  auto found = llvm::find_if(kRecords, [&](const opt::OptTable::Info &record) {
    return record.GroupID && !record.AliasID &&
           getName(OptionId(record.ID)).ltrim('-') == word;
  });
  return found == std::end(kRecords) ? nullptr : found;
}

Expected<std::string> mpopt::makeWord(StringRef option,
                                      const std::optional<std::string> &value) {
  const opt::OptTable::Info *record = findRecord(option);
  if (!record ||
      !llvm::is_contained({OPT_judged, OPT_assumed, OPT_counted, OPT_trained},
                          OptionId(record->GroupID)) ||
      option == "dump-gradients")
    return fail("there is no setting '" + option + "'");
  bool takesValue = record->Kind != opt::Option::FlagClass;
  if (takesValue != value.has_value())
    return fail("'" + option +
                (takesValue ? "' needs a value" : "' is true or false"));
  return "--" + option.str() + (value ? "=" + *value : "");
}

bool mpopt::isGiven(const opt::InputArgList &args, StringRef option,
                    StringRef name) {
  const opt::OptTable::Info *record = findRecord(option);
  if (!record || name.empty())
    return record && args.hasArg(record->ID);
  return llvm::any_of(args.getAllArgValues(record->ID), [&](StringRef value) {
    return value.take_until([](char c) { return c == '=' || c == '~'; }) ==
           name;
  });
}

std::vector<OptionSpelling> mpopt::listOptions() {
  const Table &table = getTable();
  std::vector<OptionSpelling> spellings;
  for (const opt::OptTable::Info &record : kRecords) {
    if (!record.GroupID || record.AliasID ||
        record.Kind == opt::Option::GroupClass)
      continue;
    OptionSpelling &spelling = spellings.emplace_back();
    spelling.name = getName(OptionId(record.ID));
    if (const char *metaVar = table.getOptionMetaVar(record.ID))
      spelling.metaVar = metaVar;
    spelling.help = table.getOptionHelpText(record.ID);
    spelling.takesValue = record.Kind != opt::Option::FlagClass;
    spelling.takesFile =
        spelling.takesValue &&
        (spelling.metaVar.contains("FILE") || record.ID == OPT_confirm);
    spelling.values = listValues(table.getOption(record.ID));
  }
  return spellings;
}
