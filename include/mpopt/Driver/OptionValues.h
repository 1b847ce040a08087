//===- OptionValues.h - Parsers of option values ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_OPTIONVALUES_H
#define MPOPT_DRIVER_OPTIONVALUES_H

#include "mpopt/Driver/Options.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mpopt {

/// Parses `LO:HI`; the ends may be `inf` and `-inf`. `option` is named in the
/// error.
llvm::Expected<Interval> parseInterval(llvm::StringRef option,
                                       llvm::StringRef text);

/// Parses `NAME=LO:HI`, `NAME=@FILE.npz`, `NAME~MEAN,STD`,
/// `NAME=LO:HI~MEAN,STD` or `NAME=zipf:S` into `inputs`. A bound and
/// distributions of the same input combine.
llvm::Error parseInput(llvm::StringRef text,
                       std::map<std::string, InputRange> &inputs);

/// Parses `NAME=N`, the size of a symbolic dim, into `dims`.
llvm::Error parseDim(llvm::StringRef text,
                     std::map<std::string, int64_t> &dims);

/// Parses `KEY=VALUE`, a rule's threshold, into `thresholds`.
llvm::Error parseThreshold(llvm::StringRef text,
                           std::map<std::string, double> &thresholds);

/// The rules of an id, of a prefix of ids (`MP2`) or of a name.
std::vector<const RuleInfo *> matchRules(llvm::StringRef word);

/// Refuses a word that matches no rule, for `option`.
llvm::Error refuseRule(llvm::StringRef option, llvm::StringRef word);

/// The rules in `select` but not in `ignore`. Each string lists ids, prefixes
/// of ids or names, separated by commas. An empty `select` means all rules. A
/// word that matches no rule is an error.
llvm::Expected<std::vector<const RuleInfo *>>
selectRules(llvm::ArrayRef<std::string> select,
            llvm::ArrayRef<std::string> ignore);

/// Parses `inf`, `-inf` or a finite decimal number; nothing for other text.
std::optional<double> parseNumber(llvm::StringRef text);

} // namespace mpopt

#endif // MPOPT_DRIVER_OPTIONVALUES_H
