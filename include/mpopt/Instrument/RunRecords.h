//===- RunRecords.h - What the probes of a run saw --------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_RUNRECORDS_H
#define MPOPT_INSTRUMENT_RUNRECORDS_H

#include "mpopt/Instrument/Plan.h"
#include "mpopt/Kernels/RecordFile.h"
#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace mpopt {

/// One probe's record over all files.
struct ProbeSight {
  mpopt_record record = {};
  /// Empty, or record.channels entries.
  std::vector<mpopt_channel_range> channels;

  bool ran() const { return record.calls > 0; }
  /// Its steps are those of runs, as other probes' are.
  bool sharesSteps() const {
    return (record.flags & MPOPT_STEPS_SHARED) &&
           !(record.flags & MPOPT_STEPS_COUNTED);
  }
  uint64_t finite() const {
    return record.count - record.nan - record.pos_inf - record.neg_inf;
  }
  uint64_t nonZero() const { return finite() - record.zero; }
  uint64_t infinite() const { return record.pos_inf + record.neg_inf; }

  /// The record has sums and a histogram of all values.
  bool hasDistribution() const {
    return !(record.flags & MPOPT_NO_DISTRIBUTION);
  }

  /// `f16`; empty before the first call.
  llvm::StringRef dtype() const;
  /// Null if the values were no floats.
  const FloatFormat *stored() const { return FloatFormat::byName(dtype()); }

  /// Finite values that are Inf in the format, and non-zero ones that are 0.
  /// Formats that the record has no counts of give 1 if there are any.
  uint64_t overflows(const FloatFormat &format) const;
  uint64_t flushes(const FloatFormat &format) const;
  /// Those that are subnormal in it; 0 for formats that are not counted.
  uint64_t subnormals(const FloatFormat &format) const;
  std::optional<uint64_t> overflowStep(const FloatFormat &format) const;
  std::optional<uint64_t> flushStep(const FloatFormat &format) const;

  /// Over the finite values; 0 if there are none. Needs the sums.
  double rootMeanSquare() const;
};

struct RunRecords {
  /// By probe id; those that did not run have no calls.
  std::vector<ProbeSight> probes;
  /// Of the gradients that flowed back to their tensors.
  std::vector<ProbeSight> gradients;
  /// Of the files: who recorded (`onnxruntime 1.31.1`), each once.
  std::vector<std::string> runtimes;
  /// What is wrong with a file and does not keep it from being read.
  std::vector<std::string> warnings;
  size_t files = 0;

  /// How many tensors had a gradient.
  size_t countGradients() const;
};

/// Merges record files. `ledgerHash` is the SHA-256 of the ledger's bytes as 64
/// hex digits: files of another ledger are refused.
llvm::Expected<RunRecords> readRuns(llvm::ArrayRef<std::string> paths,
                                    llvm::StringRef ledger,
                                    llvm::StringRef ledgerHash,
                                    llvm::ArrayRef<Probe> probes);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_RUNRECORDS_H
