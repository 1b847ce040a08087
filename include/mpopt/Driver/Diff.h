//===- Diff.h - What changed from one model to another ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data, field by field the `mpopt-diff/1` of docs/json.md.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_DIFF_H
#define MPOPT_DRIVER_DIFF_H

#include "mpopt/Driver/Options.h"

#include "mpopt/Effects/QuantizedTensors.h"
#include "mpopt/Instrument/Confirm.h"
#include "mpopt/Report/Report.h"

#include "llvm/Support/JSON.h"

namespace mpopt {

enum class DiffKind { Model, Report, Record };

/// `model`, `report`, `record`.
llvm::StringRef toString(DiffKind kind);

/// An op of one side, by its first float result; of a record, a tensor.
struct DiffOp {
  /// Equal for ops of equal structure; those are told apart by their order.
  /// Empty if nothing but the name is known.
  std::string fingerprint;
  std::string name, type;
  /// The op's own name, by which lists of ops to keep name it.
  std::string op;
  /// The dtype in the file of a model, before any precision is applied, or in
  /// the run of a record.
  std::string dtype;
  /// Bounds as computed, or the finite values that a run saw; none for what a
  /// report alone does not say.
  std::optional<Interval> bound;
  bool isGradient = false; ///< The record of a gradient.
  /// The constants among the operands of a model's op, in order, with their
  /// largest magnitudes in the file.
  std::vector<std::pair<std::string, double>> constants = {};
  /// True for a product that reads codes for both of its operands.
  std::optional<bool> readsCodes = {};
};

/// A run, and what became in it of what was predicted.
struct DiffRun {
  RecordedRun run;
  Confirmation confirmation;
};

struct DiffSide {
  DiffKind kind = DiffKind::Model;
  std::string path; ///< The first that was given.
  size_t given = 1; ///< Files or folders of this side on the command line.
  /// The records of a run, one of each rank.
  std::vector<std::string> records;
  /// A record has the findings that it confirms, and those of the record alone.
  ModelReport report;
  /// A report has only ops with findings.
  std::vector<DiffOp> ops;
  unsigned casts = 0; ///< Casts between floats in the file, or recorded ones.
  /// The ops that have to stay in FP32, by name, where they are known for the
  /// precision that the other side is in.
  std::vector<std::string> needed;
  bool knowsNeeded = false;
  /// The reasons why findings of a record's ledger are not confirmed, by
  /// fingerprint.
  std::map<std::string, std::string> unconfirmed;
  std::unique_ptr<DiffRun> run; ///< Null but for a record.
  /// The tensors of a quantised model that is judged as it is.
  std::vector<QuantizedTensor> quantized;
};

struct DiffFinding {
  const Finding *finding;
  /// The status in the other record (`refuted`, `not-exercised` ...); empty if
  /// it has none.
  std::string elsewhere;
};

using DiffPair = std::pair<const DiffOp *, const DiffOp *>;

/// A constant that a converter wrote otherwise, by its number at both ops.
struct DiffConstant {
  DiffPair ops;
  size_t index;
};

/// A tensor whose codes differ; null on the side that leaves it in floats.
struct DiffCodes {
  const QuantizedTensor *a = nullptr, *b = nullptr;

  /// The larger error by it; 0 where it is not known.
  double error() const;
};

/// The comparison of the second of two trainings with the first.
struct DiffVerdict {
  /// `Verdict.as_dict` of mpopt.monitor.
  llvm::json::Object judged;
  std::string unknown; ///< Why nothing was judged; empty if it was.

  /// True for what people do not accept: type 2.
  bool isBad() const { return judged.getInteger("type") == 2; }
};

struct DiffReport {
  DiffSide a, b;
  /// Only of trainings whose course was recorded.
  std::optional<DiffVerdict> verdict;
  /// Findings of `b` that `a` has not, and the reverse.
  std::vector<DiffFinding> came, went;
  unsigned stayed = 0;
  /// Ops of both sides: dtypes that differ, and ranges of which an end moved by
  /// a factor of two or more.
  std::vector<DiffPair> dtypes, ranges;
  /// Ops that only one side has; of reports, nothing is known of that.
  std::vector<const DiffOp *> onlyA, onlyB;
  /// Where `b` was converted to a narrower format: ops that it computes in FP32
  /// and need not, and ops that it narrowed and should not have.
  std::vector<DiffPair> wide, narrowed;
  /// And constants whose largest magnitude it wrote otherwise, by more than it
  /// rounds.
  std::vector<DiffConstant> constants;
  /// Tensors of two quantised models whose codes differ, the worst first, and
  /// products that one side alone leaves in floats.
  std::vector<DiffCodes> codes;
  std::vector<DiffPair> leftOut, takenIn;
  /// The number of ops of `a` that have a partner in `b`.
  unsigned matched = 0;
};

using DiffWriter = void (*)(llvm::raw_ostream &, const DiffReport &,
                            const WriteOptions &);
/// Null if there is none for the format.
DiffWriter getDiffWriter(const OutputFormat &format);

} // namespace mpopt

#endif // MPOPT_DRIVER_DIFF_H
