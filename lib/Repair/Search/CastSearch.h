//===- CastSearch.h - Few casts that remove findings ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Casts help only together with those of the ops around them: one set is tried
// in a run, and grows where the analysis of the copy that has it still finds
// something. Fixes of findings are such a set; so is the list of --keep-fp32,
// from which nodes are then removed as long as nothing gets worse.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPAIR_SEARCH_CASTSEARCH_H
#define MPOPT_LIB_REPAIR_SEARCH_CASTSEARCH_H

#include "AcceptancePolicy.h"
#include "Nodes.h"
#include "Prices.h"

#include <map>
#include <set>

namespace mpopt {

class CastSearch {
public:
  using Reasons = llvm::SetVector<size_t>;

  CastSearch(mlir::ModuleOp module, llvm::ArrayRef<FindingList::Entry> entries,
             Trials &trials, AcceptancePolicy policy);

  /// Adds the ops of an action for the finding of an index.
  void add(const FixAction &action, size_t entry);
  /// Grows what was added while ops that read what it computes have findings
  /// about their ranges. The last run; nothing if there is none.
  std::optional<TrialResult> growIslands();
  /// The list for outputs' errors and all findings: grown, then shrunk.
  KeepList findList(const Verdict &verdict, const TrialResult &before,
                    const KeepRequest &request);

  /// The default action of a finding, if its rule plans none itself.
  FixAction keepAround(const FindingList::Entry &entry) const {
    return mpopt::keepAround(entry, composites);
  }
  CastPlan getPlan() const { return getPlan(kept); }

private:
  using Kept = llvm::DenseSet<Node>;

  CastPlan getPlan(const Kept &planned) const;
  std::optional<TrialResult> tryNodes(const Kept &nodes);
  void learnFrom(const TrialResult &result);

  bool grow(const TrialResult &result);
  bool growByViolations(const TrialResult &result,
                        llvm::function_ref<bool(const Violation &)> isMeant);
  bool growByOrigins(const TrialResult &result);
  bool growBySums(const TrialResult &result);
  NodeSet around(const Violation &violation, const Reasons &why);
  /// `text` is the reason as a user reads it.
  bool keep(const NodeSet &nodes, const Reasons &why, const llvm::Twine &text);
  std::optional<Node> findKept(mlir::Operation *op) const;
  Reasons findReasons(llvm::function_ref<bool(const FindingList::Entry &)>
                          isMeant = nullptr) const;
  Reasons reasonsFor(const Violation &violation) const;
  Reasons reasonsFor(size_t output) const;
  std::string describe(const Violation &violation) const;
  std::string describeRounding(mlir::Value value,
                               llvm::ArrayRef<double> errors) const;
  std::string nameOf(size_t output) const;

  void growToMargin(const TrialResult &before, const RangeAnalysis &ranges);
  llvm::MapVector<Node, Reasons> findOverflowing(const TrialResult &before);

  void fillIslands(bool wideBorders);
  Reasons reasonsBeside(Node node) const;
  void shrink();
  llvm::SmallVector<llvm::SmallVector<Node>> groupByKind(bool backward) const;
  bool shrinkBy(llvm::ArrayRef<Node> nodes, bool split);
  bool mayGo(const Kept &without);
  void learnNeeded(llvm::ArrayRef<Node> gone, const TrialResult &result);
  llvm::SmallVector<Node> findLight(llvm::ArrayRef<Node> gone);

  mlir::ModuleOp module;
  llvm::ArrayRef<FindingList::Entry> entries;
  Trials &trials;
  AcceptancePolicy policy;
  const OutputEffects *effects = nullptr;
  Nodes nodes;
  Prices prices;
  Composites composites;
  unsigned runsLeft;
  /// The result with the nodes that are kept now.
  TrialResult now;
  /// The roundings of each output in results where nothing overflows: Inf hides
  /// how much a rounding after it counts.
  std::vector<OutputState> learned;
  Kept kept;
  /// Nodes that do not go, although the result would allow it.
  Kept pinned;
  /// Nodes without which a finding comes back.
  Kept needed;
  llvm::DenseMap<Node, Reasons> reasons;
  llvm::DenseMap<Node, std::string> texts;
  /// Lists that are too short, sorted.
  std::set<std::vector<Node>> rejected;
};

} // namespace mpopt

#endif // MPOPT_LIB_REPAIR_SEARCH_CASTSEARCH_H
