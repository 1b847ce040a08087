//===- Confirm.h - Predictions compared with a run --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ledger and records are all it takes; the model is not read. docs/confirm.md
// says what each status means.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_CONFIRM_H
#define MPOPT_INSTRUMENT_CONFIRM_H

#include "mpopt/Instrument/Against.h"
#include "mpopt/Instrument/RecordedRun.h"
#include "mpopt/Report/OutputFormat.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/Support/JSON.h"

#include <map>

namespace mpopt {

enum class Status { Confirmed, Refuted, NotExercised, NotObservable };

llvm::StringRef toString(Status status);

/// The outcome of the test that decided a finding.
struct FindingStatus {
  Status status = Status::NotObservable;
  /// The finding is about the gradient that flowed back to the tensor.
  bool isGradient = false;
  /// The reason for a status other than confirmed or refuted; may be empty.
  std::string why;
  /// The test that decided, by index in Finding::watches, and its probe.
  std::optional<unsigned> watch;
  std::optional<int64_t> probe;
  /// First step at which the test passed, if the record has steps.
  std::optional<uint64_t> firstStep;
};

/// How far NaN or Inf spread from the op that made them.
enum class Reach { Nothing, Op, Output };

llvm::StringRef toString(Reach reach);

/// A probe at which NaN or Inf was seen first.
struct FirstBad {
  int64_t probe = 0;
  uint64_t step = 0;
  /// `step` counts runs of the model; else it counts calls of this probe.
  bool sharesSteps = false;
  /// No other probe can be the first one.
  bool isSure = true;
  Reach reaches = Reach::Nothing;
  /// The nearest probes on which this one's op depends.
  std::vector<int64_t> before;
  std::vector<std::string> chain;
  /// The tensor is an input of the model.
  bool isInput = false;
  std::string why;
};

/// An assumption of the analysis that did not hold in the run.
struct Outside {
  int64_t probe;
  /// `range`, `non-finite`, `dtype` or `dims`.
  std::string kind;
  std::string text;
};

/// A bound that was exceeded although every assumption held: a bug in mpopt.
struct Exceeded {
  int64_t probe;
  /// `bound`, `non-finite`, `min_nonzero` or `certain`.
  std::string kind;
  std::string text;
};

/// Answers to "did NaN or Inf begin at this probe?". Maybe: here, or at a probe
/// of the same step.
enum class Begins { No, Maybe, Yes };

/// The infinities and NaN that one probe saw, and their origin.
struct BadValues {
  /// First step with an infinity or NaN that is not the model's own.
  std::optional<uint64_t> step;
  /// The infinities are the model's own, as in a mask.
  bool given = false;
  bool sharesSteps = false;
  Begins begins = Begins::No;
  /// A probe at which these values began; -1 if there are none.
  int64_t origin = -1;
  /// For a gradient: a probe whose forward values were NaN or Inf by then; -1
  /// if there is none.
  int64_t byValue = -1;
};

/// The power of two that fits a tensor to a format with the least loss.
struct BestScale {
  int exponent = 0;
  /// Numbers of values that overflow, round to zero or become subnormal, before
  /// and after scaling.
  uint64_t overflowBefore = 0, flushBefore = 0, flushAfter = 0;
  uint64_t subnormalBefore = 0, subnormalAfter = 0;
};

struct TensorScales {
  int64_t probe;
  BestScale f16, e4m3, e5m2;
};

/// The codes that a run made of a tensor; `expected` is that of its probe.
struct SeenCodes {
  int64_t probe;
  CodeShares expected, seen;

  /// The larger of the differences of both shares, and of the codes in use as a
  /// share of all.
  double difference() const;
};

/// The gradients of a run, where they were recorded.
struct RecordedGradients {
  std::vector<BadValues> bad; ///< by probe
  /// The first NaN and Inf of gradients, in backward order; `before` are the
  /// probes whose gradients were computed earlier, `chain` the ops between.
  std::vector<FirstBad> beginnings;
  /// A loss scale that suits all gradients together. Nothing if every gradient
  /// was zero or not finite.
  std::optional<TensorScales> scales;
  /// Number of non-zero values in all gradients.
  uint64_t nonZero = 0;
};

struct ConfirmOptions {
  /// The selected rules that are judged by the record alone (MP5xx).
  std::vector<const RuleInfo *> rules;
  std::map<std::string, double> thresholds;
  /// Another run on the same batches, to compare with; null if there is none.
  const RecordedRun *against = nullptr;
};

struct Confirmation {
  /// One for each finding of the report, MP5xx included, in its order.
  std::vector<FindingStatus> statuses;
  std::vector<BadValues> bad; ///< by probe
  /// The first NaN and Inf of values, the most harmful first.
  std::vector<FirstBad> beginnings;
  std::vector<Outside> outside;
  /// Number of tensors whose recorded range was compared with its bound: none
  /// if the run computed in another precision or an assumption did not hold.
  unsigned comparable = 0;
  std::vector<Exceeded> exceeded;
  std::vector<TensorScales> scales;
  std::vector<SeenCodes> codes;
  RecordedGradients gradients;
  /// The comparison with another run of the same tensors, if there is one.
  std::optional<RunComparison> against;

  unsigned count(Status status) const;
};

/// Appends what the run alone shows (MP5xx) to the ledger's findings.
Confirmation confirm(Ledger &ledger, const RunRecords &runs,
                     const ConfirmOptions &options);

/// The ops to keep in FP32 on account of confirmed findings.
std::vector<KeptOpRef> keepConfirmed(const Ledger &ledger,
                                     const Confirmation &confirmation);

void writeConfirmJson(llvm::raw_ostream &os, const Ledger &ledger,
                      const RunRecords &runs, const Confirmation &confirmation,
                      const WriteOptions &options);
void writeConfirmHtml(llvm::raw_ostream &os, const Ledger &ledger,
                      const RunRecords &runs, const Confirmation &confirmation,
                      const WriteOptions &options);
void writeConfirmText(llvm::raw_ostream &os, const Ledger &ledger,
                      const RunRecords &runs, const Confirmation &confirmation,
                      const WriteOptions &options);

/// The attributes of the JSON object.
void writeConfirmFields(llvm::json::OStream &json, const Ledger &ledger,
                        const RunRecords &runs,
                        const Confirmation &confirmation,
                        llvm::StringRef version);

/// The attributes of a report of a page (Report/Page.h).
void writeConfirmPage(llvm::json::OStream &json, const Ledger &ledger,
                      const RunRecords &runs, const Confirmation &confirmation,
                      llvm::StringRef version);

/// Writes a confirmation in one form.
using ConfirmWriter = void (*)(llvm::raw_ostream &, const Ledger &,
                               const RunRecords &, const Confirmation &,
                               const WriteOptions &);
/// Null if there is none for the format.
ConfirmWriter getConfirmWriter(const OutputFormat &format);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_CONFIRM_H
