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
  /// Why it is not simply seen or not seen; may be empty.
  std::string why;
  /// The test that decided, by index in Finding::watches, and its probe.
  std::optional<unsigned> watch;
  std::optional<int64_t> probe;
  /// When the test was first passed, where the record tells.
  std::optional<uint64_t> firstStep;
};

/// Where NaN or Inf began.
struct FirstBad {
  int64_t probe;
  uint64_t step;
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

/// Infinities and NaN of one probe, told apart by where they come from.
struct BadValues {
  /// First step of one that counts.
  std::optional<uint64_t> step;
  /// Its infinities are the model's own (a mask).
  bool given = false;
  /// No probe that it depends on was bad by then.
  bool begins = false;
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

struct ConfirmOptions {
  /// Of the rules that are judged by the record alone.
  std::vector<const RuleInfo *> rules;
  std::map<std::string, double> thresholds;
};

struct Confirmation {
  /// One for each finding of the report, those of the run included.
  std::vector<FindingStatus> statuses;
  std::vector<BadValues> bad; ///< by probe
  std::optional<FirstBad> firstBad;
  std::vector<Outside> outside;
  /// Nothing of the run can be held against the bounds: it computed in another
  /// precision than was judged, or assumptions did not hold.
  unsigned comparable = 0;
  std::vector<Exceeded> exceeded;
  std::vector<TensorScales> scales;

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
