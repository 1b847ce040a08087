//===- LoopFlows.cpp - How values enter and leave a body
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/LoopFlows.h"

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/TypeSupport.h"

using namespace mlir;
using namespace mpopt;

/// `first` arguments stand in front of those that operands enter; `skipped`
/// values are yielded in front of the carried ones.
static LoopFlows makeFlows(Operation *op, OperandRange initial,
                           ValueRange slices, unsigned first,
                           unsigned skipped) {
  LoopFlows flows;
  flows.firstInitial =
      initial.empty() ? op->getNumOperands() : initial.getBeginOperandIndex();
  flows.firstYielded = skipped;
  flows.body = &op->getRegion(0).front();
  ValueRange yielded = flows.body->getTerminator()->getOperands();
  yielded = yielded.drop_front(skipped);
  ValueRange arguments = flows.body->getArguments().drop_front(first);
  for (auto [index, value] : llvm::enumerate(initial)) {
    flows.entry.push_back({value, arguments[index]});
    flows.back.push_back({yielded[index], arguments[index]});
  }
  for (auto [value, argument] :
       llvm::zip(slices, arguments.drop_front(initial.size())))
    flows.entry.push_back({value, argument});
  for (auto [value, result] : llvm::zip(yielded, op->getResults()))
    flows.exit.push_back({value, result});
  return flows;
}

std::optional<LoopFlows> mpopt::getLoopFlows(Operation *op) {
  if (auto loop = dyn_cast<mp::LoopOp>(op)) {
    // The iteration number and the condition; the next condition.
    LoopFlows flows = makeFlows(op, loop.getInitial(), {}, 2, 1);
    flows.count = loop.getKnownTripCount(ShapeFacts());
    return flows;
  }
  auto scan = dyn_cast<mp::ScanOp>(op);
  if (!scan)
    return std::nullopt;
  LoopFlows flows = makeFlows(op, scan.getInitial(), scan.getInputs(), 0, 0);
  if (!scan.getInputs().empty() && !scan.getBatched())
    if (MaybeShape shape = getShape(scan.getInputs().front()))
      if (std::optional<int64_t> axis =
              normalizeAxis(scan.getInputAxis(0), shape->size());
          axis && (*shape)[*axis] >= 0)
        flows.count = (*shape)[*axis];
  return flows;
}
