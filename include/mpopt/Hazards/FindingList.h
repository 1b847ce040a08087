//===- FindingList.h - The findings of a module as rules report them -----===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_FINDINGLIST_H
#define MPOPT_HAZARDS_FINDINGLIST_H

#include "mpopt/Hazards/FixAction.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Report/Finding.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/AnalysisManager.h"
#include "llvm/ADT/Twine.h"

#include <vector>

namespace mpopt {

struct FloatFormat;
struct RuleInfo;

/// The findings so far: an analysis of the module that rules append to. No rule
/// changes the IR, so it is never out of date.
class FindingList {
public:
  explicit FindingList(mlir::Operation *) {}
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) {
    return false;
  }

  struct Entry {
    Finding finding;
    mlir::Operation *op;
    /// An operand or a result of `op`.
    mlir::Value value;
    /// Where each of the finding's causes is.
    std::vector<mlir::Location> causeLocations;
    /// For each of the finding's fixes, how it can be tried.
    std::vector<FixAction> actions = {};
    /// The value whose MP2 finding this one follows from; null for a root. Its
    /// fingerprint is looked up when all findings are there.
    mlir::Value root = {};
  };
  std::vector<Entry> entries;
};

/// Fills in one finding of a list. The setters may be chained; none is needed
/// but `message`.
class FindingBuilder {
public:
  FindingBuilder(FindingList &list, const RuleInfo &rule, mlir::Operation *op,
                 mlir::Value value);

  /// Default: the rule's severity.
  FindingBuilder &severity(Severity severity);
  /// Default: certain.
  FindingBuilder &certain() { return certainty(Certainty::Certain); }
  FindingBuilder &likely() { return certainty(Certainty::Likely); }
  FindingBuilder &possible() { return certainty(Certainty::Possible); }
  FindingBuilder &certainty(Certainty certainty);

  /// Lower case, no full stop, with the numbers.
  FindingBuilder &message(const llvm::Twine &text);
  /// Where it starts and what makes it grow, in that order. `why` continues
  /// "TENSOR (OP): ".
  FindingBuilder &cause(mlir::Value value, const llvm::Twine &why);
  FindingBuilder &cause(mlir::Operation *op, const llvm::Twine &why);
  /// The best first; kinds are listed in Finding.h. `action` is how it is
  /// tried. Without one, a `keep-fp32` is tried on the finding's own ops; what
  /// else cannot be tried is no fix and is left out: advice has its place in
  /// the rule's `instead`.
  FindingBuilder &fix(llvm::StringRef kind, const llvm::Twine &text,
                      FixAction action = {});

  /// Default: the value's own. What the finding is about where that is neither
  /// operand nor result of the op (a constant behind views of it).
  FindingBuilder &tensor(mlir::Value value);
  /// Default: the value's own element type.
  FindingBuilder &dtype(mlir::Type elementType);
  FindingBuilder &bound(double lo, double hi);
  FindingBuilder &likely(double lo, double hi);
  /// What a run is asked to decide the finding; may be called several times.
  /// Default: the test of the rule's record on the finding's own tensor.
  /// `value` is the result or an operand, as the op reads it; it has to have
  /// elements of a float format. `threshold` as in Decision.h, 0: the record's.
  FindingBuilder &watch(Decision test, mlir::Value value,
                        llvm::StringRef part = "result", double threshold = 0);
  /// As stored in another dtype than its own.
  FindingBuilder &watchAs(mlir::Type elementType, Decision test,
                          mlir::Value value, llvm::StringRef part);
  /// The same of a test on two tensors, and of Decision::Domain.
  FindingBuilder &watch(Decision test, mlir::Value value, mlir::Value against,
                        llvm::StringRef part = "result");
  FindingBuilder &watchDomain(mlir::Value value, double lo, double hi,
                              bool open);
  /// Of Decision::ChannelRatio, on the ranges along an axis.
  FindingBuilder &watchChannels(mlir::Value value, int64_t axis);
  /// Of Decision::SumError: `terms` values like those of `summed` are added in
  /// `format`.
  FindingBuilder &watchSum(mlir::Value summed, const FloatFormat &format,
                           int64_t terms, bool pairwise, bool oneSign);

  /// Default: a root. Where no MP2 rule reports on `root`, it stays one.
  FindingBuilder &follows(mlir::Value root);

private:
  FindingList::Entry &entry() { return list.entries[index]; }

  FindingList &list;
  size_t index;
};

/// An op in the model's words; its mp name where the model has none.
OpRef getOpRef(mlir::Operation *op);

/// File and line of the op in the model's source, if the model has them.
std::optional<SourceLine> getModelLine(mlir::Operation *op);

/// The value of a threshold of Rules.td, or the one that `mp.thresholds` on the
/// module (from `--set`) gives instead.
double getThreshold(mlir::Operation *module, llvm::StringRef key);

/// Moves the findings out of `list`, in the order in which they were reported,
/// and completes them: fingerprints and roots (unless they are not wanted), and
/// the tests by which a run decides them.
std::vector<FindingList::Entry> takeFindings(mlir::ModuleOp module,
                                             FindingList &list,
                                             bool wantFingerprints = true);

} // namespace mpopt

#endif // MPOPT_HAZARDS_FINDINGLIST_H
