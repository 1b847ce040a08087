//===- TrainOptions.h - A training step said by options ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lists that options take, `adamw,lr=3e-4,betas=0.9,0.95`, have the keys of
// mpopt's own configuration, and are read by its reader.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAIN_TRAINOPTIONS_H
#define MPOPT_TRAIN_TRAINOPTIONS_H

#include "mpopt/Train/TrainConfig.h"

namespace mpopt {

/// The values of options, as they were given.
struct TrainOptionTexts {
  /// `NAME[,KEY=VALUE]...`
  std::optional<std::string> optimizer;
  /// `none`, `dynamic` or a number, `[,KEY=VALUE]...`
  std::optional<std::string> scaler;
  /// `MICRO[,accumulate=K][,world=N]`
  std::optional<std::string> batch;
  /// `TYPE[,predivide=F|auto][,after|before]`
  std::optional<std::string> reduce;
  /// A number.
  std::optional<std::string> clip, lossValue;
};

/// The configuration that the options declare; the rest is open. The error is
/// one line that begins with the option.
llvm::Expected<TrainConfig> parseTrainOptions(const TrainOptionTexts &texts);

/// Sets in `config` what `options` says: loss terms, if there is one, in place
/// of all, sizes of a batch with what follows from them, the other fields one
/// by one. An error if the sizes of the batch contradict each other.
llvm::Error overrideTrainConfig(TrainConfig &config, TrainConfig options);

} // namespace mpopt

#endif // MPOPT_TRAIN_TRAINOPTIONS_H
