//===- Main.cpp - mpopt, the command line
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"
#include "Signals.h"
#include "mpopt/Driver/Actions.h"
#include "mpopt/Driver/Instrument.h"
#include "mpopt/Driver/Output.h"

#include "mpopt/Report/OutputFormat.h"

#include <string_view>

using namespace mpopt;

static llvm::Error printRules(const Options &options) {
  return writeOutput(options.output, [&](llvm::raw_ostream &os) {
    WriteOptions form{.color = wantsColor(options.output, options.color)};
    if (options.explained)
      options.format->writeRule(os, *options.explained, form);
    else
      options.format->writeRules(os, options.rules, form);
  });
}

/// Prints all of a text or, where it fails, nothing.
static llvm::Error
printText(llvm::function_ref<llvm::Error(llvm::raw_ostream &)> print) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::Error error = print(stream))
    return error;
  return writeOutput("-", [&](llvm::raw_ostream &os) { os << text; });
}

static int finish(llvm::Error error) {
  if (!error)
    return kClean;
  printError(llvm::toString(std::move(error)));
  return kFault;
}

static int finish(llvm::LogicalResult result) {
  return failed(result) ? kFault : kClean;
}

static int run(const Options &options) {
  if (options.quiet)
    silenceWarnings();
  switch (options.action) {
  case Action::Version:
    return finish(writeOutput(
        "-", [](llvm::raw_ostream &os) { os << "mpopt " MPOPT_VERSION "\n"; }));
  case Action::Help:
    return finish(printText(
        [&](llvm::raw_ostream &os) { return printHelp(os, options.topic); }));
  case Action::Completion:
    return finish(writeOutput(options.output, [&](llvm::raw_ostream &os) {
      printCompletion(os, options.shell);
    }));
  case Action::Convert:
    return convert(options, MPOPT_VERSION);
  case Action::Diff:
    return diff(options, MPOPT_VERSION);
  case Action::Explain:
  case Action::ListRules:
    return finish(printRules(options));
  case Action::EmitMlir:
    return emitMlir(options);
  case Action::Check:
    return check(options, MPOPT_VERSION);
  case Action::Advise:
    return advise(options, MPOPT_VERSION);
  case Action::Fix:
    return fix(options);
  case Action::Instrument:
    return finish(instrument(options, MPOPT_VERSION));
  case Action::Confirm:
    return confirm(options, MPOPT_VERSION);
  case Action::Strip:
    return finish(strip(options));
  }
  llvm_unreachable("unknown action");
}

int main(int argc, char **argv) {
  // Words behind it are options of another program.
  if (argc > 1)
    if (std::optional<int> status =
            runPythonCommand(argv[1], argc - 2, argv + 2))
      return *status;
  installSignalHandlers();
  int status = kFault;
  if (llvm::Expected<Options> options = parseOptions(argc, argv))
    status = run(*options);
  else
    printError(llvm::toString(options.takeError()));
  // A full standard error cannot be reported; the status is enough.
  llvm::errs().clear_error();
  return status;
}
