//===- TrainRequest.h - What mpopt --train is asked -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_TRAINREQUEST_H
#define MPOPT_DRIVER_TRAINREQUEST_H

#include "mpopt/Driver/Options.h"

#include "mpopt/Adjoint/Loss.h"
#include "mpopt/Train/TrainOptions.h"

namespace mpopt {

/// The options of a training step, as they were given.
struct TrainTexts {
  std::string config; ///< A file; empty if none was given.
  std::vector<std::string> losses;
  TrainOptionTexts lists;
};

/// Reads the configuration, and sets in it what the options say. The error is
/// one line.
llvm::Expected<TrainConfig> makeTrainConfig(const TrainTexts &texts);

/// The settings of the step, as a report repeats them, each with the option or
/// the file that it is from.
std::vector<StepSetting> describeSettings(const TrainConfig &config,
                                          const TrainTexts &texts);

/// True of `fp8` and `fp8:RECIPE`.
bool isFp8Training(llvm::StringRef precision);

/// Sets the recipe that such a word names, and makes it the base's precision;
/// other words stay. Without a name the configuration's recipe stays, else it
/// is `current`.
llvm::Error setFp8Recipe(std::string &precision, TrainConfig &config);

/// Parses `--loss`: what `parseLossTerm` reads, or `FILE[:weight=W]`.
llvm::Expected<TrainLossTerm> parseLoss(llvm::StringRef text);

/// True if the term is read from a file, which `kind` names.
bool isLossFile(const TrainLossTerm &term);

/// The term as it is attached; of a file without its graph. The error says
/// which term it is about: `custom` ones are known to the user alone.
llvm::Expected<LossTerm> makeLossTerm(const TrainLossTerm &term);

/// Adds what the configuration says of inputs and targets that are not in
/// `inputs` yet.
void addDeclaredValues(const TrainConfig &config,
                       std::map<std::string, InputRange> &inputs);

} // namespace mpopt

#endif // MPOPT_DRIVER_TRAINREQUEST_H
