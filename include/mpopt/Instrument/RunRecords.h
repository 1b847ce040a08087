//===- RunRecords.h - The records of a run's probes -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_RUNRECORDS_H
#define MPOPT_INSTRUMENT_RUNRECORDS_H

#include "mpopt/Instrument/Plan.h"
#include "mpopt/Kernels/RecordFile.h"
#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <map>

namespace mpopt {

/// One probe's record over all files.
struct ProbeSight {
  mpopt_record record = {};
  /// Ranges by channel: empty, or record.channels entries.
  std::vector<mpopt_channel_range> channels;

  bool ran() const { return record.calls > 0; }
  /// Steps count runs of the model, not calls of this probe.
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

  /// How often each code of 8 bits occurred, the least one first; empty of
  /// other dtypes and where that was not counted.
  llvm::ArrayRef<uint64_t> codeCounts() const;

  /// Name of the dtype, as `f16`; empty before the first call.
  llvm::StringRef dtype() const;
  /// Null if the values were not floats.
  const FloatFormat *stored() const { return FloatFormat::byName(dtype()); }

  /// Numbers of finite values that round to Inf in the format, and of non-zero
  /// ones that round to 0. For a format without counts in the record: 1 if
  /// there are any.
  uint64_t overflows(const FloatFormat &format) const;
  uint64_t flushes(const FloatFormat &format) const;
  /// Number of values that are subnormal in the format; 0 if not counted.
  uint64_t subnormals(const FloatFormat &format) const;
  std::optional<uint64_t> overflowStep(const FloatFormat &format) const;
  std::optional<uint64_t> flushStep(const FloatFormat &format) const;

  /// Root mean square of the finite values; 0 if there are none. Needs the
  /// sums.
  double rootMeanSquare() const;
};

struct RunRecords {
  /// By probe id; a probe that did not run has no calls.
  std::vector<ProbeSight> probes;
  /// Records of the gradients with respect to the probes' tensors.
  std::vector<ProbeSight> gradients;
  /// Records of other kinds (mpopt_kind), by kind and probe.
  std::map<std::pair<uint32_t, int64_t>, ProbeSight> others;
  /// The runtimes that recorded (`onnxruntime 1.31.1`), each once.
  std::vector<std::string> runtimes;
  /// Faults of files that could be read nevertheless, one line each.
  std::vector<std::string> warnings;
  size_t files = 0;
  /// The files, in the order in which they were read.
  std::vector<std::string> paths;

  /// Number of tensors that had a gradient.
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
