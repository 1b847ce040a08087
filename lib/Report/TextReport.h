//===- TextReport.h - What writes reports for people ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   warning[MP103]: silent-upcast: a 32-bit operand among 16-bit ones widens
//   ...
//     --> /layers.0/Add (Add, f32)  x 12 layers
//         mixes f16 and f32 operands, so f32 spreads from here
//         - /layers.0/scale: brings f32
//     = safe: cast the f16 operand explicitly in front of the op
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPORT_TEXTREPORT_H
#define MPOPT_LIB_REPORT_TEXTREPORT_H

#include "mpopt/Report/Fold.h"
#include "mpopt/Report/Report.h"
#include "mpopt/Report/TextStyle.h"

namespace mpopt {

class TextReport {
public:
  TextReport(llvm::raw_ostream &os, const WriteOptions &options)
      : os(os), style(os, options) {}

  void write(const ModelReport &report);
  void writeEffects(const ModelReport &report);
  void writeTraining(const TrainingReport &training);
  void writeLossScale(const TrainingReport &training);
  void writeTotal(llvm::ArrayRef<ModelReport> reports);

private:
  void writeHead(const ModelReport &report);

  // TextFindings.cpp
  void writeGroup(const FindingGroup &group);
  void writeKinds(const FindingGroup &group);
  void writePlace(const FoldedFinding &fold, bool withMessage, bool withFixes);
  void writeOp(const FoldedFinding &fold);
  void writeCauses(llvm::ArrayRef<Cause> causes);
  void writeWitness(const FoldedFinding &fold);
  void writeFixes(const Finding &finding, unsigned indent);

  // TextTraining.cpp
  void writeScale(const ScaleReport &scale);
  void writeGradients(const TrainingReport &training);

  // TextMemory.cpp
  void writeMemory(const MemoryReport &memory);
  void writeSaved(llvm::ArrayRef<SavedReport> tensors);

  // TextSummary.cpp
  void writeSafeInputs(const ModelReport &report);
  void writeSummary(const ModelReport &report);
  void writeCoverage(const ModelReport &report);
  void writeBaseline(const ModelReport &report);
  void writeAssumptions(const ModelReport &report);
  void writeCounts(SeverityCounts counts);

  llvm::raw_ostream &os;
  TextStyle style;
};

// Limits of long lists; JSON has everything.
inline constexpr size_t kMaxPlaces = 8, kMaxNames = 3;

/// What other forms quote of the text, a sentence in each line: the effects on
/// outputs, and of a training step all, or the window of loss scales alone.
std::vector<std::string> quoteEffects(const ModelReport &report);
std::vector<std::string> quoteTraining(const ModelReport &report);
std::vector<std::string> quoteLossScale(const ModelReport &report);

/// `fine`, `probably too much`, `Inf or NaN`, `not known` and others, as the
/// package's `Report.verdict` has it.
llvm::StringRef getVerdictWord(const ModelReport &report);

std::string getNumber(double value);
std::string getInterval(const Interval &interval);

} // namespace mpopt

#endif // MPOPT_LIB_REPORT_TEXTREPORT_H
