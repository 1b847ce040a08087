//===- Confirm.h - Predictions against what was seen ------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ledger and records are all it takes; the model is not read. docs/confirm.md
// says what each status means.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_CONFIRM_H
#define MPOPT_INSTRUMENT_CONFIRM_H

#include "mpopt/Instrument/Ledger.h"
#include "mpopt/Instrument/RunRecords.h"
#include "mpopt/Report/RuleTable.h"

#include <map>

namespace mpopt {

enum class Status { Confirmed, Refuted, NotExercised, NotObservable };

llvm::StringRef toString(Status status);

/// What was seen where a finding was decided.
struct FindingStatus {
  Status status = Status::NotObservable;
  /// The finding is about the gradient that flowed back to the tensor.
  bool isGradient = false;
  /// Why it is not simply seen or not seen; may be empty.
  std::string why;
  /// The test that decided, by index in Finding::watches, and its probe.
  std::optional<unsigned> watch;
  std::optional<int64_t> probe;
  /// When the test was first passed, where the record tells.
  std::optional<uint64_t> firstStep;
};

/// How far the bad values of a beginning came.
enum class Reach { Nothing, Op, Output };

llvm::StringRef toString(Reach reach);

/// Where NaN or Inf began.
struct FirstBad {
  int64_t probe = 0;
  uint64_t step = 0;
  /// The step is that of a run, not the number of the probe's own calls.
  bool sharesSteps = false;
  /// It began at no other probe.
  bool isSure = true;
  Reach reaches = Reach::Nothing;
  /// The probes it depends on.
  std::vector<int64_t> before;
  std::vector<std::string> chain;
  /// An input of the model had it already.
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

/// A promise of the analysis that was broken although every assumption held.
struct Exceeded {
  int64_t probe;
  /// `bound`, `non-finite`, `min_nonzero` or `certain`.
  std::string kind;
  std::string text;
};

/// Whether NaN or Inf began at a probe. Maybe: it, or another one beside it.
enum class Begins { No, Maybe, Yes };

/// Infinities and NaN of one probe, told apart by where they come from.
struct BadValues {
  /// First step of one that counts.
  std::optional<uint64_t> step;
  /// Its infinities are the model's own (a mask).
  bool given = false;
  bool sharesSteps = false;
  Begins begins = Begins::No;
  /// One of the probes at which its bad values began; -1: it has none.
  int64_t origin = -1;
  /// Of a gradient with a beginning: a probe whose values were bad by then; -1:
  /// none.
  int64_t byValue = -1;
};

/// The power of two by which a tensor fits a format best.
struct BestScale {
  int exponent = 0;
  /// Values that round to zero, or keep fewer digits, without it and with it.
  uint64_t overflowBefore = 0, flushBefore = 0, flushAfter = 0;
  uint64_t subnormalBefore = 0, subnormalAfter = 0;
};

struct TensorScales {
  int64_t probe;
  BestScale f16, e4m3, e5m2;
};

/// What the gradients of a run show.
struct Gradients {
  std::vector<BadValues> bad; ///< by probe
  /// Where NaN and Inf of gradients began, on their way back through the model;
  /// `before` are the probes whose gradients came first, `chain` the ops
  /// between in that order.
  std::vector<FirstBad> beginnings;
  /// Of all of them together: what to multiply the loss by. Nothing if none was
  /// a float that is not 0.
  std::optional<TensorScales> scales;
  /// Non-zero values, of all gradients.
  uint64_t nonZero = 0;
};

struct ConfirmOptions {
  /// Of the rules that are judged by the record alone.
  std::vector<const RuleInfo *> rules;
  std::map<std::string, double> thresholds;
};

struct Confirmation {
  /// One for each finding of the report, those of the run included.
  std::vector<FindingStatus> statuses;
  std::vector<BadValues> bad; ///< by probe
  /// Where NaN and Inf began, the one that did most harm first.
  std::vector<FirstBad> beginnings;
  std::vector<Outside> outside;
  /// Nothing of the run can be held against the bounds: it computed in another
  /// precision than was judged, or assumptions did not hold.
  unsigned comparable = 0;
  std::vector<Exceeded> exceeded;
  std::vector<TensorScales> scales;
  Gradients gradients;

  unsigned count(Status status) const;
};

/// Appends what the run alone shows (MP5xx) to the ledger's findings.
Confirmation confirm(Ledger &ledger, const RunRecords &runs,
                     const ConfirmOptions &options);

/// What the confirmed findings ask for.
std::vector<KeptOpRef> keepConfirmed(const Ledger &ledger,
                                     const Confirmation &confirmation);

void writeConfirmJson(llvm::raw_ostream &os, const Ledger &ledger,
                      const RunRecords &runs, const Confirmation &confirmation,
                      llvm::StringRef version);
void writeConfirmText(llvm::raw_ostream &os, const Ledger &ledger,
                      const RunRecords &runs, const Confirmation &confirmation,
                      const TextOptions &options);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_CONFIRM_H
