//===- Options.cpp - What the user asked for
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"

#include "OptionTable.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Driver/Diff.h"
#include "mpopt/Driver/ModelPaths.h"
#include "mpopt/Driver/OptionValues.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/OutputConflicts.h"
#include "mpopt/Driver/ProjectSettings.h"
#include "mpopt/Driver/TrainRequest.h"
#include "mpopt/Import/InputShape.h"
#include "mpopt/Instrument/Confirm.h"
#include "mpopt/Numerics/Precision.h"
#include "mpopt/Policy/Policy.h"
#include "mpopt/Report/OutputFormat.h"
#include "mpopt/Support/TargetFile.h"
#include "mpopt/Train/MemoryFit.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/StringSaver.h"

#include <set>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

namespace {
// Checks one command line and fills in Options.
class Validator {
public:
  Validator(const llvm::opt::InputArgList &args, const ModelPaths &models)
      : args(args), models(models) {}
  Expected<Options> run();

private:
  Error refuseLaterReleases();
  Error checkAction();
  Error checkModels();
  Error checkJudging();
  Error checkInputs();
  Error checkRules();
  Error checkScales();
  Error checkReporting();
  TrainTexts readTrainTexts();
  Error checkTraining();
  Error checkFormat();
  Error checkReportFiles();
  Error checkFixing();
  Error checkProbing();
  Error checkConfirming();
  Error checkConverting();
  Error checkVerifying();
  Error checkStates();

  bool has(OptionId option) const { return args.hasArg(option); }
  /// Empty if the option is not given.
  StringRef text(OptionId option) const { return args.getLastArgValue(option); }
  std::vector<std::string> texts(OptionId option) const {
    return args.getAllArgValues(option);
  }

  const llvm::opt::InputArgList &args;
  const ModelPaths &models;
  Options options;
};
} // namespace

Error Validator::refuseLaterReleases() {
  const OutputFormat *format = findOutputFormat(text(OPT_format));
  if (format && !format->isWritten())
    return fail("--format " + format->name + " comes in a later release");
  return Error::success();
}

Error Validator::checkAction() {
  Expected<Action> action = parseAction(args);
  if (!action)
    return action.takeError();
  options.action = *action;
  if (Error error = checkUse(args, options.action))
    return error;
  if (Error error = checkValues(args))
    return error;
  if (options.action != Action::Explain)
    return Error::success();
  options.explained = findRule(text(OPT_explain));
  if (!options.explained && matchRules(text(OPT_explain)).empty())
    return refuseRule("--explain", text(OPT_explain));
  return Error::success();
}

Error Validator::checkModels() {
  options.models = texts(OPT_confirm);
  llvm::append_range(options.models, models.paths);
  options.isExpanded = models.isExpanded;
  if (llvm::is_contained(
          {Action::Explain, Action::ListRules, Action::Completion},
          options.action)) {
    if (!options.models.empty())
      return fail("'" + options.models.front() +
                  "': " + getName(options.action) + " takes no model");
    return Error::success();
  }
  if (options.action == Action::Diff && !has(OPT_against) &&
      options.models.size() != 2)
    return fail("--diff takes two models, reports or records (of several "
                "ranks, a folder, or --diff A... --against B...)");
  if (options.models.empty())
    return fail("no model given: mpopt --check MODEL");
  if (llvm::count(options.models, "-") > 1)
    return fail("standard input can be read only once");
  bool isOne = options.models.size() == 1 && !options.isExpanded;
  if (isOne || options.action == Action::Confirm ||
      options.action == Action::Diff)
    return Error::success();
  if (options.action != Action::Check)
    return fail(getName(options.action) + " takes one model");
  for (OptionId option : {OPT_dump_ranges, OPT_keep_fp32, OPT_scales,
                          OPT_dump_gradients, OPT_witness})
    if (has(option))
      return fail(getName(option) + " takes one model");
  return Error::success();
}

/// Reads the target, and looks for the ops that it names.
static Error checkTarget(StringRef name) {
  auto target = findTarget(name);
  if (!target)
    return target.takeError();
  std::vector<std::string> ops = (*target)->namedOps();
  if (ops.empty() || llvm::is_contained(getTargetNames(), name.str()))
    return Error::success();
  mlir::MLIRContext context;
  context.loadDialect<mpopt::mp::MPDialect>();
  for (const std::string &op : ops)
    if (!mlir::RegisteredOperationName::lookup("mp." + op, &context))
      return llvm::createStringError(
          "target '" + name + "': \"kernels\": there is no op '" + op + "'");
  return Error::success();
}

Error Validator::checkJudging() {
  if (has(OPT_precision) + has(OPT_fp16) + has(OPT_bf16) > 1)
    return fail("--precision, --fp16 and --bf16 do not go together");
  if (has(OPT_fp16) || has(OPT_bf16))
    options.precision = (Twine(has(OPT_train) ? "autocast-" : "") +
                         (has(OPT_fp16) ? "fp16" : "bf16"))
                            .str();
  else if (has(OPT_precision))
    options.precision = spellPrecision(text(OPT_precision));
  options.policy = text(OPT_policy);
  if (has(OPT_policy))
    if (Expected<Policy> policy = Policy::load(options.policy); !policy)
      return fail("--policy: " + llvm::toString(policy.takeError()));
  options.target = text(OPT_target);
  if (has(OPT_target))
    if (Error error = checkTarget(options.target))
      return fail("--target: " + llvm::toString(std::move(error)));
  options.precision = precisionOn(options.target, options.precision);
  if (has(OPT_device))
    options.device = text(OPT_device);
  options.highEffort = text(OPT_effort) == "high";
  return Error::success();
}

Error Validator::checkInputs() {
  options.import.method = text(OPT_method);
  if (has(OPT_assume)) {
    Expected<Interval> assumed = parseInterval("--assume", text(OPT_assume));
    if (!assumed)
      return assumed.takeError();
    options.assumed = *assumed;
  }
  options.calibration = text(OPT_calibration);
  for (StringRef input : texts(OPT_input))
    if (Error error = parseInput(input, options.inputs))
      return error;
  for (StringRef op : texts(OPT_op))
    if (Error error = parseStatedOp(op, options.ops))
      return error;
  for (StringRef dim : texts(OPT_dim))
    if (Error error = parseDim(dim, options.import.dims))
      return error;
  std::set<std::string> shaped;
  for (StringRef text : texts(OPT_input_shape)) {
    Expected<InputShape> shape = parseInputShape(text);
    if (!shape)
      return shape.takeError();
    if (!shaped.insert(shape->input).second)
      return fail("--input-shape: two shapes for '" + shape->input + "'");
    options.import.inputShapes.push_back(std::move(*shape));
  }
  return Error::success();
}

Error Validator::checkRules() {
  Expected<std::vector<const RuleInfo *>> rules =
      selectRules(texts(OPT_select), texts(OPT_ignore));
  if (!rules)
    return rules.takeError();
  options.rules = options.action == Action::Explain
                      ? matchRules(text(OPT_explain))
                      : std::move(*rules);
  for (StringRef text : texts(OPT_set))
    if (Error error = parseThreshold(text, options.thresholds))
      return error;
  options.hasCertainty = has(OPT_min_certainty);
  if (options.hasCertainty)
    options.minCertainty = *parseCertainty(text(OPT_min_certainty));
  else if (options.action == Action::Confirm)
    // Probes decide findings that are only possible.
    options.minCertainty = Certainty::Possible;
  if (has(OPT_fail_on))
    options.failOn = parseSeverity(text(OPT_fail_on)); // nothing for `never`
  options.requireVerdict = has(OPT_require_verdict);
  return Error::success();
}

Error Validator::checkScales() {
  const Precision *precision = Precision::byName(options.precision);
  const OperandRecipe *operands = precision ? precision->operands : nullptr;
  if (has(OPT_scales) && (!operands || !operands->isStatic ||
                          !operands->activations.codes().floats))
    return fail("--scales goes with --precision fp8-e4m3, whose scales are "
                "settled before a model runs");
  for (OptionId option : {OPT_headroom, OPT_powers_of_two})
    if (has(option) && !has(OPT_scales))
      return fail(getName(option) + " goes with --scales");
  if (has(OPT_headroom) &&
      (text(OPT_headroom).getAsInteger(10, options.scales.headroom) ||
       options.scales.headroom < 0 || options.scales.headroom > 8))
    return fail("--headroom: '" + text(OPT_headroom) +
                "' is not a number from 0 to 8");
  if (!has(OPT_max_error) || options.action != Action::Check)
    return Error::success();
  double error;
  if (!operands)
    return fail("--max-error goes with --precision fp8-e4m3, mxfp8, nvfp4 or "
                "int8");
  if (text(OPT_max_error).getAsDouble(error) || !(error > 0 && error < 1))
    return fail("--max-error: '" + text(OPT_max_error) +
                "' is not a number between 0 and 1");
  options.maxError = error;
  return Error::success();
}

Error Validator::checkReporting() {
  for (OptionId option :
       {OPT_output, OPT_dump_ranges, OPT_keep_fp32, OPT_scales,
        OPT_train_config, OPT_dump_gradients, OPT_baseline, OPT_write_baseline,
        OPT_config, OPT_witness})
    if (has(option) && llvm::is_contained(texts(option), ""))
      return fail(getName(option) + ": the file name is empty");
  options.rangesFile = text(OPT_dump_ranges);
  options.keepFile = text(OPT_keep_fp32);
  options.scalesFile = text(OPT_scales);
  options.scales.powersOfTwo = has(OPT_powers_of_two);
  if (Error error = checkScales())
    return error;
  options.baselineFile = text(OPT_baseline);
  options.newBaselineFile = text(OPT_write_baseline);
  options.witnesses = text(OPT_witness);
  options.failOnWitness = has(OPT_fail_on_witness);
  if (options.failOnWitness && options.witnesses.empty())
    return fail("--fail-on-witness needs --witness DIR, which has witnesses "
                "sought");
  options.safeInput = has(OPT_safe_input);
  options.wholeTrials = has(OPT_whole_trials);
  return checkFormat();
}

TrainTexts Validator::readTrainTexts() {
  auto optional = [&](OptionId option) {
    return has(option) ? std::optional(text(option).str()) : std::nullopt;
  };
  std::optional<std::string> optimizer = optional(OPT_optimizer);
  if (has(OPT_lr)) {
    std::string name = has(OPT_train_config) ? "" : "adamw";
    name = optimizer.value_or(name);
    optimizer = name + (name.empty() ? "lr=" : ",lr=") + text(OPT_lr).str();
  }
  TrainTexts texts;
  texts.config = options.trainFile = text(OPT_train_config);
  texts.losses = this->texts(OPT_loss);
  texts.lists = {std::move(optimizer), optional(OPT_scaler),
                 optional(OPT_batch),  optional(OPT_reduce),
                 optional(OPT_clip),   optional(OPT_loss_value)};
  return texts;
}

Error Validator::checkTraining() {
  static constexpr OptionId kDetails[] = {OPT_loss,
                                          OPT_loss_value,
                                          OPT_train_config,
                                          OPT_optimizer,
                                          OPT_lr,
                                          OPT_scaler,
                                          OPT_batch,
                                          OPT_reduce,
                                          OPT_clip,
                                          OPT_memory,
                                          OPT_memory_size,
                                          OPT_dump_gradients,
                                          OPT_max_gradient_error};
  if (!has(OPT_train)) {
    for (OptionId option : kDetails)
      if (has(option))
        return fail(getName(option) + " goes with --train");
    return isFp8Training(options.precision)
               ? fail("--precision fp8 goes with --train")
               : Error::success();
  }
  if (has(OPT_witness))
    return fail("--witness is for the model alone, without --train");
  if (const Precision *precision = Precision::byName(options.precision);
      precision && precision->operands)
    return fail("--precision " + text(OPT_precision) +
                " is one of inference, which --train does not take");
  TrainTexts texts = readTrainTexts();
  Expected<TrainConfig> config = makeTrainConfig(texts);
  if (!config)
    return config.takeError();
  if (config->precision && options.precision == "auto" && !has(OPT_precision))
    options.precision =
        *config->precision == "fp32" ? "as-is" : *config->precision;
  if (Error error = setFp8Recipe(options.precision, *config))
    return error;
  if (has(OPT_max_gradient_error)) {
    Expected<double> aim =
        parseShare("--max-gradient-error", text(OPT_max_gradient_error), 1);
    if (!aim)
      return aim.takeError();
    if (!config->fp8.recipe)
      return fail("--max-gradient-error goes with --precision fp8");
    options.gradientAims = {*aim};
  }
  addDeclaredValues(*config, options.inputs);
  options.stepSettings = describeSettings(*config, texts);
  options.train = std::move(*config);
  options.gradientsFile = text(OPT_dump_gradients);
  options.memory = has(OPT_memory) || has(OPT_memory_size);
  if (has(OPT_memory_size)) {
    options.train->rankMemory = parseBytes(text(OPT_memory_size));
    if (!options.train->rankMemory)
      return fail("--memory: '" + text(OPT_memory_size) +
                  "' is no size: 24GiB, 80GB");
  }
  return Error::success();
}

/// Each -o has a report of its own: in the form of --format, else in the one
/// that its name ends like.
Error Validator::checkReportFiles() {
  std::vector<std::string> files = texts(OPT_output);
  if (files.size() > 1 && options.action != Action::Check)
    return fail(getName(OPT_output) + " is given twice");
  if (files.empty())
    files.push_back(options.output);
  bool isReport = llvm::is_contained(
      {Action::Check, Action::Confirm, Action::Diff}, options.action);
  const OutputFormat *given =
      has(OPT_format) ? findOutputFormat(text(OPT_format)) : nullptr;
  if (given && files.size() > 1)
    return fail("several -o are written in the forms that their names end "
                "like, without --format");
  for (const std::string &file : files)
    options.otherReports.push_back({file, given      ? given
                                          : isReport ? &getFormatOfFile(file)
                                                     : options.format});
  options.output = options.otherReports.front().path;
  options.format = options.otherReports.front().format;
  options.otherReports.erase(options.otherReports.begin());
  return Error::success();
}

Error Validator::checkFormat() {
  if (Error error = checkReportFiles())
    return error;
  bool isWritten = true;
  if (options.action == Action::Confirm)
    isWritten = getConfirmWriter(*options.format);
  else if (options.action == Action::Diff)
    isWritten = getDiffWriter(*options.format);
  else if (options.action == Action::Advise)
    isWritten = llvm::is_contained({"text", "json"}, options.format->name);
  else if (options.action == Action::ListRules)
    isWritten = options.format->writeRules;
  else if (options.action == Action::Explain)
    isWritten = options.format->writeRule;
  if (!isWritten)
    return fail("--format " + options.format->name + " does not go with " +
                getName(options.action));
  return Error::success();
}

Error Validator::checkFixing() {
  if (options.action != Action::Fix)
    return Error::success();
  options.unsafeFixes = has(OPT_unsafe_fixes);
  options.dryRun = has(OPT_dry_run);
  if (!options.dryRun && isStream(options.output))
    return fail("--fix needs -o OUT, a file to write");
  return checkVerifying();
}

Error Validator::checkProbing() {
  bool instruments = options.action == Action::Instrument;
  if (instruments || options.action == Action::Strip)
    if (options.output == "-")
      return fail(getName(options.action) + " needs -o OUT");
  if (!instruments)
    return Error::success();
  // The ledger goes beside it, and a summary to standard output.
  if (isStream(options.output) || isStream(getLedgerFile(options.output)))
    return fail("--instrument needs a file to write, and '" + options.output +
                "' is a stream");
  if (options.models.front() == "-")
    return fail("--instrument needs a file, not standard input");
  if (has(OPT_probe)) {
    Expected<ProbeSelection> probes = ProbeSelection::parse(text(OPT_probe));
    if (!probes)
      return fail("--probe: " + llvm::toString(probes.takeError()));
    options.probes = std::move(*probes);
  }
  options.probes.train = has(OPT_train);
  if (text(OPT_probe_with) == "outputs")
    options.probeWith = ProbeWith::Outputs;
  return Error::success();
}

Error Validator::checkConfirming() {
  options.against = texts(OPT_against);
  if (options.action == Action::Diff) {
    options.ledger = text(OPT_ledger);
    options.againstLedger = text(OPT_against_ledger);
    options.noise = text(OPT_noise);
    for (OptionId option :
         {OPT_ledger, OPT_against_ledger, OPT_against, OPT_noise})
      for (const std::string &value : texts(option))
        if (value.empty() || value == "-")
          return fail(getName(option) + ": --diff needs a file");
  }
  if (options.action == Action::Check && options.against.size() > 1)
    return fail("--against: --check takes one float model");
  if (options.action != Action::Confirm)
    return Error::success();
  // A value is taken even where another option stands in its place.
  if (StringRef(options.models.front()).starts_with("--"))
    return fail("--confirm needs a record, and '" + options.models.front() +
                "' is none");
  options.ledger = text(OPT_ledger);
  if (options.ledger.empty())
    return fail("--confirm needs --ledger OUT.probes.json, which "
                "--instrument wrote");
  options.againstLedger =
      args.getLastArgValue(OPT_against_ledger, options.ledger);
  if (has(OPT_against_ledger) && options.against.empty())
    return fail("--against-ledger needs --against RUN.mprec");
  auto streams = llvm::count(options.models, "-") + (options.ledger == "-") +
                 llvm::count(options.against, "-") +
                 (has(OPT_against) && options.againstLedger == "-");
  if (streams > 1)
    return fail("standard input can be read only once");
  return Error::success();
}

Error Validator::checkStates() {
  ConvertOptions &asked = options.convert;
  if (has(OPT_opset) &&
      (text(OPT_opset).getAsInteger(10, asked.opset) || asked.opset == 0))
    return fail("--opset: '" + text(OPT_opset) + "' is no number from 1 on");
  for (StringRef given : texts(OPT_state)) {
    auto [names, calls] = given.rsplit(':');
    CarriedState state;
    // A name may have a colon.
    if (calls.empty() || calls.getAsInteger(10, state.steps))
      names = given;
    auto [input, output] = names.split('=');
    if (input.empty() || output.empty())
      return fail("--state: '" + given + "' is not IN=OUT[:CALLS]");
    state.input = input.str();
    state.output = output.str();
    asked.states.push_back(std::move(state));
  }
  return Error::success();
}

Error Validator::checkVerifying() {
  options.convert.verify = text(OPT_verify);
  StringRef feeds = options.convert.verify;
  if (has(OPT_max_error)) {
    Expected<double> share = parseShare("--max-error", text(OPT_max_error), 1);
    if (!share)
      return share.takeError();
    options.convert.maxError = *share;
  }
  if (feeds.empty()) {
    if (has(OPT_verify))
      return fail("--verify: the file name is empty");
    if (has(OPT_max_error) && options.action == Action::Fix)
      return fail("--max-error goes with --verify");
    return has(OPT_verify_tensors) ? fail("--verify-tensors goes with --verify")
                                   : Error::success();
  }
  unsigned runs = 0;
  if (feeds.consume_front("random:") &&
      (feeds.getAsInteger(10, runs) || runs == 0))
    return fail("--verify: at least one run, not '" + feeds + "'");
  if (options.convert.verifiesTensors && options.convert.report.empty())
    return fail("--verify-tensors goes with --report, which lists them");
  return Error::success();
}

Error Validator::checkConverting() {
  if (options.action != Action::Convert)
    return Error::success();
  if (options.output == "-" || isStream(options.output))
    return fail("--convert needs a file to write: -o OUT.onnx");
  if (options.models.front() == "-")
    return fail("--convert needs a file, not standard input");
  ConvertOptions &asked = options.convert;
  asked.to = args.getLastArgValue(OPT_to, asked.to);
  asked.keep = texts(OPT_keep);
  asked.never = texts(OPT_never);
  asked.assumed = texts(OPT_assume_fp16);
  asked.keepsAllIo = has(OPT_keep_io_types);
  asked.report = text(OPT_report);
  asked.writesAnyway = has(OPT_write_anyway);
  asked.withFixes = has(OPT_with_fixes);
  asked.verifiesTensors = has(OPT_verify_tensors);
  if (Error error = checkVerifying())
    return error;
  if (Error error = checkStates())
    return error;
  for (StringRef list : texts(OPT_keep_io_names)) {
    llvm::SmallVector<StringRef> names;
    list.split(names, ',', -1, /*KeepEmpty=*/false);
    asked.keepIo.insert(asked.keepIo.end(), names.begin(), names.end());
  }
  Expected<double> low =
      parseShare("--min-low", args.getLastArgValue(OPT_min_low, "0"), 1);
  if (!low)
    return low.takeError();
  asked.minLow = *low;
  return Error::success();
}

Expected<Options> Validator::run() {
  if (has(OPT_help) || has(OPT_version)) {
    options.action = has(OPT_version) ? Action::Version : Action::Help;
    options.topic = text(OPT_INPUT);
    return options;
  }
  if (has(OPT_color) && text(OPT_color) != "auto")
    options.color =
        text(OPT_color) == "always" ? ColorChoice::Always : ColorChoice::Never;
  options.quiet = has(OPT_quiet);
  options.shell = text(OPT_completion);
  // Options of later releases are reported first, whatever else is wrong.
  for (auto step : {&Validator::refuseLaterReleases, &Validator::checkAction,
                    &Validator::checkModels, &Validator::checkJudging,
                    &Validator::checkInputs, &Validator::checkRules,
                    &Validator::checkReporting, &Validator::checkTraining,
                    &Validator::checkFixing, &Validator::checkProbing,
                    &Validator::checkConfirming, &Validator::checkConverting})
    if (Error error = (this->*step)())
      return error;
  if (Error error = checkOutputs(options))
    return error;
  return std::move(options);
}

/// The options of one model: what its settings say and the command line does
/// not, then the command line.
static Expected<Options> addSettings(const llvm::opt::InputArgList &args,
                                     llvm::ArrayRef<const char *> words,
                                     const ModelPaths &models, StringRef file,
                                     StringRef model) {
  Expected<ProjectSettings> settings = readProjectFile(file, model);
  if (!settings)
    return settings.takeError();
  std::vector<std::string> added;
  for (const Setting &setting : settings->settings) {
    Expected<std::string> word = makeWord(setting.option, setting.value);
    if (!word)
      return fail(setting.place + ": " + llvm::toString(word.takeError()));
    if (!isGiven(args, setting.option, setting.name))
      added.push_back(std::move(*word));
  }
  std::vector<const char *> all;
  for (const std::string &word : added)
    all.push_back(word.c_str());
  llvm::append_range(all, words);
  auto both = parseArguments(all);
  if (!both)
    return fail(file + ": " + llvm::toString(both.takeError()));
  Expected<Options> options = Validator(*both, models).run();
  if (!options)
    return fail(file + ": " + llvm::toString(options.takeError()));
  options->settingsFile = file;
  options->suppressions = std::move(settings->suppressions);
  return options;
}

/// `--memory 24GiB` as one word: the option is one with or without a size.
static void joinSizes(std::vector<const char *> &words,
                      llvm::StringSaver &saver) {
  for (size_t index = 0; index + 1 < words.size(); ++index) {
    StringRef word = words[index], next = words[index + 1];
    if (!llvm::is_contained({"--memory", "-memory"}, word) ||
        !parseBytes(next) || llvm::sys::fs::exists(next))
      continue;
    words[index] = saver.save(word + "=" + next).data();
    words.erase(words.begin() + index + 1);
  }
}

/// The words that are no options; of --check, the models that they stand for.
static Expected<ModelPaths> listModels(const llvm::opt::InputArgList &args) {
  std::vector<std::string> words = args.getAllArgValues(OPT_INPUT);
  Expected<Action> action = parseAction(args);
  if (action && *action == Action::Check && !args.hasArg(OPT_help, OPT_version))
    return expandModels(words);
  if (!action)
    llvm::consumeError(action.takeError()); // The Validator says it.
  return ModelPaths{words};
}

Expected<Options> mpopt::parseOptions(int argc, char **argv) {
  Expected<std::vector<const char *>> words =
      spellAction(llvm::ArrayRef(argv, argc).drop_front());
  if (!words)
    return words.takeError();
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  joinSizes(*words, saver);
  Expected<llvm::opt::InputArgList> args = parseArguments(*words);
  if (!args)
    return args.takeError();
  Expected<ModelPaths> models = listModels(*args);
  if (!models)
    return models.takeError();
  Expected<Options> options = Validator(*args, *models).run();
  StringRef config = args->getLastArgValue(OPT_config);
  if (!options || config == "none" || args->hasArg(OPT_help, OPT_version) ||
      !llvm::is_contained({Action::Check, Action::Instrument}, options->action))
    return options;
  std::vector<Options> byModel;
  bool isSet = false;
  for (const std::string &model : options->models) {
    std::string file = config.empty() ? findProjectFile(model) : config.str();
    Expected<Options> own =
        file.empty() ? Validator(*args, *models).run()
                     : addSettings(*args, *words, *models, file, model);
    if (!own)
      return own.takeError();
    isSet |= !file.empty();
    byModel.push_back(std::move(*own));
  }
  if (!isSet)
    return options;
  // Options of all models are those of the first one's settings.
  Options first = byModel.front();
  first.byModel = std::move(byModel);
  if (Error error = checkOutputs(first))
    return error;
  return first;
}
