//===- Advice.h - A model in each precision on a device ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_ADVISE_ADVICE_H
#define MPOPT_LIB_DRIVER_ADVISE_ADVICE_H

#include "lib/Driver/Advise/Roofline.h"

#include "mpopt/Report/Report.h"

namespace mpopt {

/// A precision on the device.
struct AdviceRow {
  std::string label;     ///< `BF16`; of a quantised file, the target.
  std::string precision; ///< As `--precision` spells it.
  /// The format of products where it is not that of operands; may be empty.
  std::string products;
  /// Targets that compute alike with the codes of a quantised file.
  std::vector<std::string> targets = {};
  Workload work;
  /// The duration of a run or of a training step.
  double seconds = 0;
  /// Bytes that the device holds: weights and live tensors, or all of a
  /// training step.
  double bytes = 0;
  /// The changes that make a step fit that does not (Train/MemoryFit.h); may be
  /// empty.
  std::string changes;
  /// Largest expected error of an output; NaN if one is not known.
  double error = 0;
  unsigned errors = 0, warnings = 0; ///< Findings that count.
  /// The first of them: its rule and place; may be empty.
  std::string finding;
  bool unknown = false;
  /// The number of ops that, kept in FP32, leave no finding; 0 if none do.
  unsigned kept = 0;
  std::optional<ScaleReport> scale; ///< Under `--train`.
  /// Parameters, and those of which the first step changes fewer than half of
  /// the elements.
  unsigned updates = 0, lostUpdates = 0;

  bool fits(const DeviceProfile &device) const {
    return bytes <= device.memory;
  }
  bool fails() const { return (errors || warnings) && !kept; }
  /// Nothing fails, the device computes in it and holds it.
  bool isFine(const DeviceProfile &device) const {
    return !fails() && !unknown && work.lacking.empty() && fits(device);
  }
};

struct Advice {
  std::string path;
  DeviceProfile device;
  bool train = false;
  bool quantized = false;      ///< Rows are of targets, not of precisions.
  std::vector<AdviceRow> rows; ///< That of the file's own types is the first.
  /// Rule and place of the findings that row has.
  std::vector<std::pair<std::string, std::string>> common;
  /// The row to choose; nothing if none is fine.
  std::optional<size_t> chosen;
  /// A clause that ends a sentence.
  std::string reason;
  std::vector<std::string> warnings;
};

/// Chooses the row and says why.
void recommend(Advice &advice);

void writeAdvice(llvm::raw_ostream &os, const Advice &advice,
                 const WriteOptions &options);
void writeAdviceJson(llvm::raw_ostream &os, const Advice &advice,
                     const WriteOptions &options);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_ADVISE_ADVICE_H
