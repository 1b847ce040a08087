//===- Judge.h - The state of a checkpoint's check --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CHECKPOINT_JUDGE_H
#define MPOPT_LIB_CHECKPOINT_JUDGE_H

#include "Codes.h"
#include "Quantized.h"

#include "mpopt/Checkpoint/CheckCheckpoint.h"

#include "mpopt/Numerics/FactorSums.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace mpopt::checkpoints {

/// Four digits.
std::string text(double value);
/// `2.5 %`.
std::string percent(double share);

/// A module's scales and codes, once its bytes were read.
struct Reading {
  std::optional<CodeFormat> format;
  std::optional<Grid> grid; ///< nothing where the layout does not fit
  /// The one number of a scale that has one, by role; NaN otherwise.
  std::array<double, kRoles> single;
  /// Elements by rank, where the weight has one scale for all.
  std::vector<float> byRank;
  /// Root mean square of the codes, and of the scales.
  double codes = 0, scales = 0;

  Reading() { single.fill(std::numeric_limits<double>::quiet_NaN()); }
  double of(ScaleRole role) const { return single[size_t(role)]; }
};

/// The scales of a weight, as stored.
struct WeightScales {
  std::vector<char> bytes;
  Numbers numbers;
  int64_t count = 0;
  double second = 1; ///< what the whole weight is multiplied with besides
  double at(int64_t unit) const {
    return numbers.at(bytes.data(), count == 1 ? 0 : unit) * second;
  }
};

class Judge {
public:
  explicit Judge(const CheckpointRequest &request);
  llvm::Expected<CheckpointVerdict> run();

private:
  // Missing.cpp
  void findMissing();
  llvm::Error findRawCodes();
  // Scales.cpp
  llvm::Error readModule(const std::string &name, const Module &module);
  llvm::Error judgeScale(const std::string &name, const Scale &scale,
                         double &single);
  void judgeBlocks();
  std::optional<Grid> fitGrid(const std::string &name, const Module &module);
  // CodeRules.cpp
  void judgeCodes(const std::string &name, const Module &module,
                  const CodeUse &use, const WeightScales *scales);
  void judgeZeroScales(const std::string &name, const Module &module,
                       const CodeUse &use, const WeightScales &scales);
  void judgeEnds(const std::string &name, const Module &module,
                 const CodeUse &use);
  void judgeWaste(const std::string &name, const Module &module,
                  const CodeUse &use);
  void judgeRoundedScales(const std::string &name, const Module &module,
                          const CodeUse &use, const WeightScales &scales);
  // Siblings.cpp
  void judgeMagnitudes();
  void judgeCaches();
  void judgeJoined(llvm::ArrayRef<std::string> group);
  void judgeJoinedScales(llvm::ArrayRef<std::string> group);
  void judgeJoinedInputs(llvm::ArrayRef<std::string> group);
  // Against.cpp
  llvm::Error compare(const std::string &name, const Module &module,
                      const WeightScales &scales);
  const StoredTensor *findFloats(const std::string &name, const Module &module);
  void judgeFactors(const std::string &name, const Module &module,
                    const StoredTensor &floats,
                    llvm::ArrayRef<FactorSums> groups);

  /// A finding of the rule, by its name, about a tensor of a module; one that
  /// is not read if the rule is not selected.
  Finding *report(llvm::StringRef rule, const std::string &module,
                  const StoredTensor &tensor, const std::string &message);

  const CheckpointRequest &request;
  const Checkpoint &checkpoint;
  Modules modules;
  /// Some weight has a scale.
  bool hasScales;
  std::map<std::string, Reading> readings;
  CheckpointVerdict verdict;
  Finding unselected;
  /// Findings by rule, module and tensor.
  llvm::StringMap<unsigned> reported;
};

} // namespace mpopt::checkpoints

#endif // MPOPT_LIB_CHECKPOINT_JUDGE_H
