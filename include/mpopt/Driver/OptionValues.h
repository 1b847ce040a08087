//===- OptionValues.h - The small languages inside option values
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_OPTIONVALUES_H
#define MPOPT_DRIVER_OPTIONVALUES_H

#include "mpopt/Driver/Options.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mpopt {

/// `LO:HI`; the ends may be `inf` and `-inf`.
llvm::Expected<Interval> parseInterval(llvm::StringRef option,
                                       llvm::StringRef text);

/// `NAME=LO:HI`, `NAME=@FILE.npz` or `NAME~MEAN,STD`, added to `inputs`: a
/// bound and a distribution of the same input go together.
llvm::Error parseInput(llvm::StringRef text,
                       std::map<std::string, InputRange> &inputs);

/// `NAME=N`.
llvm::Error parseDim(llvm::StringRef text,
                     std::map<std::string, int64_t> &dims);

/// `KEY=VALUE` of a rule's threshold.
llvm::Error parseThreshold(llvm::StringRef text,
                           std::map<std::string, double> &thresholds);

/// Rules by id, prefix of ids or name, comma separated, several times. No
/// `select` means all.
llvm::Expected<std::vector<const RuleInfo *>>
selectRules(llvm::ArrayRef<std::string> select,
            llvm::ArrayRef<std::string> ignore);

/// `inf`, `-inf` or a finite decimal number; nothing for anything else.
std::optional<double> parseNumber(llvm::StringRef text);

} // namespace mpopt

#endif // MPOPT_DRIVER_OPTIONVALUES_H
