//===- Main.cpp - mpopt, the command line
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Actions.h"
#include "Options.h"
#include "Signals.h"
#include "mpopt/Driver/Instrument.h"
#include "mpopt/Driver/Output.h"

#include "mpopt/Report/OutputFormat.h"

using namespace mpopt;

static llvm::Error printRules(const Options &options) {
  return writeOutput(options.output, [&](llvm::raw_ostream &os) {
    WriteOptions form{.color = wantsColor(options.output)};
    if (options.action == Action::Explain)
      options.format->writeRule(os, *options.explained, form);
    else
      options.format->writeRules(os, form);
  });
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
  switch (options.action) {
  case Action::Version:
    return finish(writeOutput(
        "-", [](llvm::raw_ostream &os) { os << "mpopt " MPOPT_VERSION "\n"; }));
  case Action::Help:
    return finish(writeOutput("-", printHelp));
  case Action::Explain:
  case Action::ListRules:
    return finish(printRules(options));
  case Action::EmitMlir:
    return emitMlir(options);
  case Action::Check:
    return check(options);
  case Action::Instrument:
    return finish(instrument(options, MPOPT_VERSION));
  case Action::Confirm:
    return confirm(options);
  case Action::Strip:
    return finish(strip(options));
  }
  llvm_unreachable("unknown action");
}

int main(int argc, char **argv) {
  installSignalHandlers();
  int status = kFault;
  if (llvm::Expected<Options> options = parseOptions(argc, argv))
    status = run(*options);
  else
    printError(llvm::toString(options.takeError()));
  // Nobody can be told that standard error is full; the status says enough.
  llvm::errs().clear_error();
  return status;
}
