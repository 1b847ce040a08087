//===- Propagation.h - The engine that carries domains ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a body in program order, branches and loops included, and calls the
// domain for each op. A branch passes what the bodies yield that may run. A
// loop's body is walked again until no carried value changes, or as often as it
// runs.
//
// A domain keeps the states of values itself and has these members:
//   void begin(Value)                  an argument that nothing flows into
//   void transfer(Operation *, OpKind) an op without bodies
//   bool flow(Value from, Value to)    `to` has elements of `from`, among
//                                      others; true if its state changed
//   void skip(Operation *)             a loop that was not followed to its end
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_PROPAGATION_H
#define MPOPT_PROPAGATE_PROPAGATION_H

#include "mpopt/Propagate/Branches.h"
#include "mpopt/Propagate/LoopFlows.h"
#include "mpopt/Propagate/OpKind.h"

#include "llvm/ADT/DenseSet.h"

namespace mpopt {

template <class Domain> class Propagation {
public:
  /// Walks a function's body, from its arguments.
  void run(mlir::Block &body) {
    for (mlir::BlockArgument argument : body.getArguments())
      domain().begin(argument);
    walk(body);
  }

protected:
  explicit Propagation(const RangeAnalysis &ranges) : ranges(ranges) {}
  ~Propagation() = default;

  const RangeAnalysis &ranges;

private:
  /// A loop whose state still changes after so many walks is not followed:
  /// longer ones either settle before or grow in every iteration.
  static constexpr int64_t kMostWalks = 32;

  Domain &domain() { return static_cast<Domain &>(*this); }

  void walk(mlir::Block &body) {
    for (mlir::Operation &op : body.without_terminator()) {
      if (auto branch = llvm::dyn_cast<mp::IfOp>(op))
        follow(branch);
      else if (op.getNumRegions() > 0)
        iterate(&op);
      else
        domain().transfer(&op, getOpKind(&op));
      ranges.limitRounded();
    }
  }

  void follow(mp::IfOp branch) {
    for (mlir::Region *body : findLiveBodies(branch, ranges)) {
      walk(body->front());
      for (auto [yielded, result] :
           llvm::zip(body->front().getTerminator()->getOperands(),
                     branch.getResults()))
        domain().flow(yielded, result);
    }
  }

  void iterate(mlir::Operation *op) {
    std::optional<LoopFlows> flows = getLoopFlows(op);
    if (!flows)
      return domain().skip(op);
    llvm::DenseSet<mlir::Value> entered;
    for (auto [from, to] : flows->entry) {
      domain().flow(from, to);
      entered.insert(to);
    }
    for (mlir::BlockArgument argument : flows->body->getArguments())
      if (!entered.contains(argument))
        domain().begin(argument);
    bool changed = true;
    for (int64_t at = 0; changed && at < flows->count.value_or(INT64_MAX);
         ++at) {
      if (at == kMostWalks)
        return domain().skip(op);
      walk(*flows->body);
      changed = false;
      for (auto [from, to] : flows->back)
        changed |= domain().flow(from, to);
    }
    for (auto [from, to] : flows->exit)
      domain().flow(from, to);
  }
};

} // namespace mpopt

#endif // MPOPT_PROPAGATE_PROPAGATION_H
