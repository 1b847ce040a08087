//===- OptionTable.h - The records of Options.td ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line as the records say it is spelled; Options.cpp knows what it
// means.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_OPTIONTABLE_H
#define MPOPT_TOOLS_MPOPT_OPTIONTABLE_H

#include "mpopt/Driver/Options.h"

#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"

namespace mpopt {

enum OptionId : unsigned {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

/// The words of a command line, spelled right: no option is unknown, lacks its
/// value, has one that it does not take, or is given twice.
llvm::Expected<llvm::opt::InputArgList>
parseArguments(llvm::ArrayRef<const char *> words);

/// The words with the option that an action's name in front stands for: `check
/// MODEL` is `--check MODEL`. A word that is nearly a name and no file is
/// refused.
llvm::Expected<std::vector<const char *>>
spellAction(llvm::ArrayRef<const char *> words);

/// The words that may stand in front, those of the package among them.
std::vector<llvm::StringRef> listCommands();

/// The one action of the command line; of models alone, to check them.
llvm::Expected<Action> parseAction(const llvm::opt::InputArgList &args);

/// Refuses an option that the action does not look at: a verdict in another
/// precision than the one that was asked for would pass for an answer. Warns of
/// those that it takes without an effect.
llvm::Error checkUse(const llvm::opt::InputArgList &args, Action action);

/// The value of --precision that a framework's name of a precision stands for:
/// fp16 of float16, half and 16-true; autocast-fp16 of 16-mixed. Other words in
/// lower case.
std::string spellPrecision(llvm::StringRef word);

/// Refuses a value that is none of those that the option's record lists.
llvm::Error checkValues(const llvm::opt::InputArgList &args);

/// The words of a setting, an option of judging without its dashes. The error
/// is one line.
llvm::Expected<std::string> makeWord(llvm::StringRef option,
                                     const std::optional<std::string> &value);

/// True if the command line has the option, for one that goes by name with that
/// name: `--input x=0:1`.
bool isGiven(const llvm::opt::InputArgList &args, llvm::StringRef option,
             llvm::StringRef name);

/// An option as shells complete it.
struct OptionSpelling {
  llvm::StringRef name; ///< `--precision`.
  llvm::StringRef metaVar, help;
  bool takesValue = false, takesFile = false;
  llvm::SmallVector<llvm::StringRef> values;
};
std::vector<OptionSpelling> listOptions();

/// The option as users type it.
llvm::StringRef getName(OptionId option);
llvm::StringRef getName(Action action);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_OPTIONTABLE_H
