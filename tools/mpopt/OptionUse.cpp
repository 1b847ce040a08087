//===- OptionUse.cpp - Which options go with which action
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptionUse.h"

#include "mpopt/Driver/Output.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpopt;
using llvm::Error;
using llvm::StringRef;
namespace cl = llvm::cl;

StringRef mpopt::getActionName(Action action) {
  switch (action) {
  case Action::Instrument:
    return "--instrument";
  case Action::Confirm:
    return "--confirm";
  case Action::Strip:
    return "--strip";
  case Action::EmitMlir:
    return "--emit-mlir";
  case Action::ListRules:
    return "--list-rules";
  case Action::Explain:
    return "--explain";
  case Action::Check:
  case Action::Version:
  case Action::Help:
    break;
  }
  return "--check";
}

namespace {
struct OptionUse {
  StringRef name;
  llvm::SmallVector<Action> actions;
  /// Scripts hand the options of --check to --instrument as they are.
  bool isIdleInInstrument = false;
};
} // namespace

static llvm::ArrayRef<OptionUse> getUses() {
  using enum Action;
  static const llvm::SmallVector<Action> judging{Check, Instrument};
  static const llvm::SmallVector<Action> importing{Check, Instrument, EmitMlir};
  static const llvm::SmallVector<Action> listing{Check, Instrument, Confirm};
  static const OptionUse uses[] = {
      {"precision", judging},
      {"policy", judging},
      {"target", judging},
      {"input", judging},
      {"assume", judging},
      {"dim", importing},
      {"input-shape", importing},
      {"method", importing},
      {"select", listing},
      {"ignore", listing},
      {"set", listing},
      {"min-certainty", listing, true},
      {"fail-on", listing, true},
      {"format", {Check, Instrument, Confirm, ListRules, Explain}, true},
      {"keep-fp32", listing},
      {"dump-ranges", judging},
      {"safe-input", judging},
      {"whole-trials", judging},
      {"jobs", judging},
      {"probe", {Instrument}},
      {"probe-with", {Instrument}},
      {"ledger", {Confirm}},
  };
  return uses;
}

// `--check, --instrument and --confirm`.
static std::string listActions(llvm::ArrayRef<Action> actions) {
  std::string text;
  for (size_t index = 0; index < actions.size(); ++index) {
    if (index)
      text += index + 1 == actions.size() ? " and " : ", ";
    text += getActionName(actions[index]);
  }
  return text;
}

Error mpopt::checkOptionUse(Action action) {
  auto &known = cl::getRegisteredOptions();
  for (const OptionUse &use : getUses()) {
    auto found = known.find(use.name);
    assert(found != known.end() && "an option that is not there");
    if (!found->second->getNumOccurrences())
      continue;
    if (!llvm::is_contained(use.actions, action))
      return llvm::createStringError("--" + use.name.str() + " goes with " +
                                     listActions(use.actions) + ", not with " +
                                     getActionName(action));
    if (action == Action::Instrument && use.isIdleInInstrument)
      printWarning("--" + use.name + " has no effect on --instrument");
  }
  return Error::success();
}
