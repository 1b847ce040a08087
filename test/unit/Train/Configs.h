//===- Configs.h - Reading of configurations in tests -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TEST_UNIT_TRAIN_CONFIGS_H
#define MPOPT_TEST_UNIT_TRAIN_CONFIGS_H

#include "mpopt/Train/TrainConfig.h"

#include "gtest/gtest.h"

namespace mpopt {

/// The configuration of a text that must be one.
inline TrainConfig parsed(llvm::StringRef text) {
  llvm::Expected<TrainConfig> config = parseTrainConfig(text, "FILE");
  if (!config) {
    ADD_FAILURE() << llvm::toString(config.takeError());
    return TrainConfig();
  }
  return std::move(*config);
}

/// The error of a text that must be none.
inline std::string errorOf(llvm::StringRef text) {
  llvm::Expected<TrainConfig> config = parseTrainConfig(text, "FILE");
  if (config)
    return "no error";
  return llvm::toString(config.takeError());
}

using Warnings = std::vector<std::string>;

} // namespace mpopt

#endif // MPOPT_TEST_UNIT_TRAIN_CONFIGS_H
