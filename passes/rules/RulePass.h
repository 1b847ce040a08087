//===- RulePass.h - The base class of rules ---------------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule is a pass that derives from the base class of its record, overrides
// `check` and reports. A whole rule:
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
#include "mpopt/Ranges/Analysis/ChangedModule.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"

namespace mpopt {

/// Base class of all rules; TableGen derives from it.
class RulePass : public mlir::OperationPass<mlir::ModuleOp> {
public:
  using OperationPass::OperationPass;

protected:
  virtual void check(mlir::ModuleOp module) = 0;

  /// Calls `function` with every op of the type that it takes; of a changed
  /// copy with those where something may differ, in program order.
  template <mlir::WalkOrder order = mlir::WalkOrder::PreOrder, typename F>
  void walk(F function) {
    using Op = std::decay_t<
        typename llvm::function_traits<std::decay_t<F>>::template arg_t<0>>;
    if (!change || change->wholly) {
      getOperation().template walk<order>(function);
      return;
    }
    for (mlir::Operation *op : change->scope())
      if constexpr (std::is_same_v<Op, mlir::Operation *>)
        function(op);
      else if (auto typed = mlir::dyn_cast<Op>(op))
        function(typed);
  }
  /// Of a changed copy; else null.
  const ChangedModule *changedCopy() const { return change; }

  /// Reports on `value`, an operand or a result of `op`.
  FindingBuilder report(mlir::Operation *op, mlir::Value value);

  /// A number of the rule's record, or what `mp.thresholds` on the module (from
  /// `--set`) says instead.
  double threshold(llvm::StringRef key);

  /// Threads a rule may use (`mp.jobs` on the module, from `--jobs`); 0 for as
  /// many as there are cores.
  unsigned jobs();

private:
  void runOnOperation() final;

  const RuleInfo *info = nullptr;
  FindingList *findings = nullptr;
  const ChangedModule *change = nullptr;
};

/// A rule that judges every op by the ranges, with `judge(op, ranges)`:
/// `struct Rule : RangeRule<Rule, impl::RuleBase>`.
template <typename Rule, template <typename> typename Base>
struct RangeRule : Base<Rule> {
  void check(mlir::ModuleOp module) override {
    const auto &ranges = this->template getAnalysis<RangeAnalysis>();
    this->walk([&](mlir::Operation *op) {
      static_cast<Rule *>(this)->judge(op, ranges);
    });
  }
};

/// Moves the findings out of the pass manager at its end, in the order in which
/// they were reported; with fingerprints and roots, unless they are not wanted.
std::unique_ptr<mlir::Pass>
createCollectFindings(std::vector<FindingList::Entry> &out,
                      bool wantFingerprints = true);

} // namespace mpopt

#endif // MPOPT_PASSES_RULES_RULEPASS_H
