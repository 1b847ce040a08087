//===- Main.cpp - mpopt, the command line
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "EmitMlir.h"
#include "Options.h"
#include "Output.h"

#include "mpopt/Report/Report.h"

using namespace mpopt;

static llvm::Error printRules(const Options &options) {
  return writeOutput(options.output, [&](llvm::raw_ostream &os) {
    TextOptions text{wantsColor(options.output)};
    bool json = options.format == OutputFormat::Json;
    if (options.action == Action::Explain)
      json ? writeRulePageJson(os, *options.explained)
           : writeRulePage(os, *options.explained, text);
    else
      json ? writeRuleListJson(os) : writeRuleList(os, text);
  });
}

static int run(const Options &options) {
  switch (options.action) {
  case Action::Version:
    llvm::outs() << "mpopt " MPOPT_VERSION "\n";
    return kClean;
  case Action::Help:
    printHelp();
    return kClean;
  case Action::Explain:
  case Action::ListRules:
    if (llvm::Error error = printRules(options)) {
      printError(llvm::toString(std::move(error)));
      return kFault;
    }
    return kClean;
  case Action::EmitMlir:
    return emitMlir(options);
  case Action::Check:
    return check(options);
  }
  llvm_unreachable("unknown action");
}

int main(int argc, char **argv) {
  llvm::Expected<Options> options = parseOptions(argc, argv);
  if (!options) {
    printError(llvm::toString(options.takeError()));
    return kFault;
  }
  return run(*options);
}
