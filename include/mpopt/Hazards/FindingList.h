//===- FindingList.h - The findings of a module as rules report them -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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
struct TrainingFacts;

/// The findings so far: an analysis of the module, to which rules append. No
/// rule changes the IR, so it never becomes invalid.
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
    /// The location of each of the finding's causes.
    std::vector<mlir::Location> causeLocations;
    /// The action by which each of the finding's fixes can be tried.
    std::vector<FixAction> actions = {};
    /// The value whose MP2 finding this one follows from; null for a root. Its
    /// fingerprint is looked up when all findings are there.
    mlir::Value root = {};
    /// The severity by the finding's effect, where that was found out.
    std::optional<Severity> judged = {};
    /// The values whose storage alone the finding is about. Empty: `value`, and
    /// the results of `op`.
    std::vector<mlir::Value> stored = {};
    /// It is about a case that estimates do not expect: its severity is not
    /// that of its effect.
    bool unexpected = false;
    /// The part of the squared error of that storage that the finding is about.
    double part = 1;
  };
  static_assert(std::is_nothrow_move_constructible_v<Entry>,
                "a list that grows would copy its entries");
  std::vector<Entry> entries;

  /// Findings of this certainty or more are described. The others, which nobody
  /// reads, have a rule, a place, a severity, a certainty and a root: no names,
  /// texts, ranges, fixes or tests. Nothing: none is described.
  std::optional<Certainty> described = Certainty::Possible;
};

/// Fills in one finding of a list. The setters may be chained; none is needed
/// but `message`.
class FindingBuilder {
public:
  FindingBuilder(FindingList &list, const RuleInfo &rule, mlir::Operation *op,
                 mlir::Value value, Certainty certainty = Certainty::Certain);

  /// False if the list does not describe findings of its certainty: what only
  /// describes it need not be found out.
  bool isDescribed() const {
    const Finding &finding = list.entries[index].finding;
    return list.described &&
           (finding.certainty >= *list.described || finding.byTraining);
  }

  /// Sets the severity. Default: the rule's.
  FindingBuilder &severity(Severity severity);
  /// Sets the certainty. Default: certain.
  FindingBuilder &certain() { return certainty(Certainty::Certain); }
  FindingBuilder &likely() { return certainty(Certainty::Likely); }
  FindingBuilder &possible() { return certainty(Certainty::Possible); }
  FindingBuilder &certainty(Certainty certainty);

  /// Says that what is only possible is a state that training moves to, if the
  /// finding is no more than possible: it is described and listed all the same.
  FindingBuilder &reachedByTraining();

  /// The text: lower case, no full stop, with the numbers.
  FindingBuilder &message(const llvm::Twine &text);
  /// Adds a cause: first the one where the trouble begins, then those that make
  /// it grow. `why` continues "TENSOR (OP): ".
  FindingBuilder &cause(mlir::Value value, const llvm::Twine &why);
  FindingBuilder &cause(mlir::Operation *op, const llvm::Twine &why);
  /// Adds a fix, the best first; kinds are listed in Finding.h. `action` is the
  /// change by which it is tried. Without one, a `keep-fp32` is tried on the
  /// finding's own ops, and a fix of another kind is left out: advice has its
  /// place in the rule's `instead`.
  FindingBuilder &fix(llvm::StringRef kind, const llvm::Twine &text,
                      FixAction action = {});
  /// Adds a fix by which the training step is as `facts` say; none if it is so
  /// already.
  FindingBuilder &fixByStep(llvm::StringRef kind, const llvm::Twine &text,
                            const TrainingFacts &facts);

  /// The tensor that the finding names, where it is neither operand nor result
  /// of the op (a constant behind views of it). Default: the value.
  FindingBuilder &tensor(mlir::Value value);
  /// Sets the dtype that the finding names. Default: the value's element type.
  FindingBuilder &dtype(mlir::Type elementType);
  FindingBuilder &bound(double lo, double hi);
  FindingBuilder &likely(double lo, double hi);
  /// Adds a test by which a run decides the finding; may be called several
  /// times. Default: the test of the rule's record on the finding's own tensor.
  /// `value` is the result or an operand, as the op reads it; its elements must
  /// be floats. `threshold` is as in Decision.h; 0 takes that of the rule's
  /// record.
  FindingBuilder &watch(Decision test, mlir::Value value,
                        llvm::StringRef part = "result", double threshold = 0);
  /// Adds a test on `value` as stored in another dtype than its own.
  FindingBuilder &watchAs(mlir::Type elementType, Decision test,
                          mlir::Value value, llvm::StringRef part);
  /// Adds a test on two tensors; `watchDomain`: Decision::Domain, that the
  /// values lie in [lo, hi], or between them if `open`.
  FindingBuilder &watch(Decision test, mlir::Value value, mlir::Value against,
                        llvm::StringRef part = "result");
  FindingBuilder &watchDomain(mlir::Value value, double lo, double hi,
                              bool open);
  /// Adds Decision::ChannelRatio, on the ranges along an axis.
  FindingBuilder &watchChannels(mlir::Value value, int64_t axis);
  /// Adds a test on the gradient of `value` (looksAtGradient), judged as
  /// `elementType` with the loss multiplied by `scale` (0: as in the run).
  /// `against`: a tensor of whose gradient it is made, or with whose it is
  /// compared; `factor`: by whose values that is multiplied. Null: none.
  FindingBuilder &watchGradient(Decision test, mlir::Value value,
                                mlir::Type elementType, double scale = 0,
                                mlir::Value against = {},
                                mlir::Value factor = {});
  /// Adds Decision::GradientRatio; inside are ratios of `lo` to `hi`. Without
  /// `against` it is the norm of all parameters' gradients that is compared.
  FindingBuilder &watchGradientRatio(mlir::Value value, mlir::Value against,
                                     double lo, double hi);
  /// Adds Decision::GradientZero for units, the indices of an axis: `share` of
  /// them are never positive.
  FindingBuilder &watchUnits(mlir::Value value, int64_t axis, double share);
  /// Adds Decision::SumError: `terms` values like those of `summed` are added
  /// in `format`.
  FindingBuilder &watchSum(mlir::Value summed, const FloatFormat &format,
                           int64_t terms, bool pairwise, bool oneSign);

  /// Says whose storage the finding is about, where it is not that of the op's
  /// results: operands of the op.
  FindingBuilder &about(llvm::ArrayRef<mlir::Value> values) {
    entry().stored.assign(values.begin(), values.end());
    return *this;
  }
  /// Says that the finding is about that part of the squared error of what is
  /// stored.
  FindingBuilder &partOfError(double part) {
    entry().part = part;
    return *this;
  }
  /// Says that the finding is about a case that estimates do not expect.
  FindingBuilder &unexpected() {
    entry().unexpected = true;
    return *this;
  }
  /// Makes the finding a consequence of that on `root`. Default: a root, which
  /// it stays where no MP2 rule reports on `root`.
  FindingBuilder &follows(mlir::Value root);

private:
  FindingList::Entry &entry() { return list.entries[index]; }
  /// Fills in names and place.
  void describe();

  FindingList &list;
  size_t index;
};

/// An op by its name in the model; by its mp name where the model has none.
OpRef getOpRef(mlir::Operation *op);

/// File and line of the op in the model's source; nothing if the model has
/// none.
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
