//===- Completion.cpp - Scripts by which shells complete options ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OptionTable.h"
#include "Options.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpopt;
using llvm::StringRef;

/// The text in single quotes, which no shell looks into.
static std::string quote(StringRef text, StringRef escaped = "") {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += (escaped.contains(c) ? "\\" : "") + std::string(1, c);
  }
  return quoted + "'";
}

static void printBash(llvm::raw_ostream &os) {
  os << "_mpopt() {\n"
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}"
        "\n  COMPREPLY=()\n  case $prev in\n";
  std::string names;
  for (const OptionSpelling &option : listOptions()) {
    names += (names.empty() ? "" : " ") + option.name.str();
    if (!option.takesValue)
      continue;
    os << "  " << option.name << ")\n";
    if (!option.values.empty())
      os << "    COMPREPLY=($(compgen -W "
         << quote(llvm::join(option.values, " ")) << " -- \"$cur\"))\n";
    else if (option.takesFile)
      os << "    compopt -o filenames\n"
            "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n";
    os << "    return ;;\n";
  }
  os << "  esac\n  if [[ $cur == -* ]]; then\n"
        "    COMPREPLY=($(compgen -W "
     << quote(names)
     << " -- \"$cur\"))\n  else\n    compopt -o filenames\n"
        "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
        "    ((COMP_CWORD == 1)) && COMPREPLY+=($(compgen -W "
     << quote(llvm::join(listCommands(), " "))
     << " -- \"$cur\"))\n  fi\n}\n"
        "complete -F _mpopt mpopt\n";
}

static void printZsh(llvm::raw_ostream &os) {
  os << "#compdef mpopt\n_mpopt() {\n  _arguments \\\n";
  for (const OptionSpelling &option : listOptions()) {
    std::string text = ("*" + option.name + "[").str();
    for (char c : option.help)
      text += (StringRef("[]:\\").contains(c) ? "\\" : "") + std::string(1, c);
    text += "]";
    if (option.takesValue) {
      text += ":value:";
      if (!option.values.empty())
        text += "(" + llvm::join(option.values, " ") + ")";
      else if (option.takesFile)
        text += "_files";
    }
    os << "    " << quote(text) << " \\\n";
  }
  os << "    '1:action or model:{compadd -- " << llvm::join(listCommands(), " ")
     << "; _files}' \\\n    '*:model:_files'\n}\n"
        "if [ \"$funcstack[1]\" = _mpopt ]; then _mpopt \"$@\"\n"
        "else compdef _mpopt mpopt; fi\n";
}

static void printFish(llvm::raw_ostream &os) {
  os << "complete -c mpopt -n __fish_use_subcommand -a "
     << quote(llvm::join(listCommands(), " "), "\\") << '\n';
  for (const OptionSpelling &option : listOptions()) {
    StringRef name = option.name;
    os << "complete -c mpopt " << (name.consume_front("--") ? "-l " : "-s ")
       << name.ltrim('-');
    if (!option.values.empty())
      os << " -x -a " << quote(llvm::join(option.values, " "), "\\");
    else if (option.takesValue)
      os << (option.takesFile ? " -r -F" : " -x");
    os << " -d " << quote(option.help, "\\") << '\n';
  }
}

void mpopt::printCompletion(llvm::raw_ostream &os, StringRef shell) {
  if (shell == "bash")
    printBash(os);
  else if (shell == "zsh")
    printZsh(os);
  else
    printFish(os);
}
