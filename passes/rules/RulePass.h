//===- RulePass.h - The base class of rules ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule is a pass that derives from the base class of its record, overrides
// `check` and reports. `mpopt-opt --rule-NAME` runs it as a pass; the driver
// calls it. A whole rule:
//
//   struct SilentUpcast : mpopt::impl::SilentUpcastBase<SilentUpcast> {
//     void check(ModuleOp module) override {
//       module.walk([&](mp::CastOp cast) {
//         if (isPromotion(cast))
//           report(cast, cast.getResult())
//               .message("...")
//               .cause(cast.getInput(), "is f32")
//               .fix("explicit-cast", "...", action);
//       });
//     }
//   };
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_RULES_RULEPASS_H
#define MPOPT_PASSES_RULES_RULEPASS_H

#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "mlir/Pass/Pass.h"

#include <optional>

namespace mpopt {

/// Base class of all rules; TableGen derives from it.
class RulePass : public mlir::OperationPass<mlir::ModuleOp> {
public:
  using OperationPass::OperationPass;

  /// Adds what the rule finds in `module`, whose precision was applied, to the
  /// FindingList of `analyses`, which are the module's.
  void addFindings(mlir::ModuleOp module, mlir::AnalysisManager analyses);

protected:
  virtual void check(mlir::ModuleOp module) = 0;

  /// An analysis of the module: in place of the pass's own, which can only be
  /// had while a pass manager runs.
  template <typename Analysis> Analysis &getAnalysis() {
    return analyses->getAnalysis<Analysis>();
  }

  /// Calls `visit(op)` for each op of the module. References to rounded values
  /// end with each call.
  template <mlir::WalkOrder order = mlir::WalkOrder::PreOrder, typename Visit>
  void forEachOp(Visit &&visit) {
    module->walk<order>([&](mlir::Operation *op) {
      visit(op);
      limitRounded();
    });
  }

  /// Reports on `value`, an operand or a result of `op`.
  FindingBuilder report(mlir::Operation *op, mlir::Value value,
                        Certainty certainty = Certainty::Certain);

  /// A number of the rule's record, or what `mp.thresholds` on the module (from
  /// `--set`) says instead.
  double threshold(llvm::StringRef key);

private:
  void limitRounded() const;
  void runOnOperation() final;

  /// While `check` runs.
  mlir::ModuleOp module;
  std::optional<mlir::AnalysisManager> analyses;
  const RuleInfo *info = nullptr;
  FindingList *findings = nullptr;
};

/// A rule that judges every op by the ranges, with `judge(op, ranges)`:
/// `struct Rule : RangeRule<Rule, impl::RuleBase>`.
template <typename Rule, template <typename> typename Base>
struct RangeRule : Base<Rule> {
  void check(mlir::ModuleOp) override {
    const auto &ranges = this->template getAnalysis<RangeAnalysis>();
    this->forEachOp([&](mlir::Operation *op) {
      static_cast<Rule *>(this)->judge(op, ranges);
    });
  }
};

} // namespace mpopt

#endif // MPOPT_PASSES_RULES_RULEPASS_H
