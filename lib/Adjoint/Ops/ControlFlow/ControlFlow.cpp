//===- ControlFlow.cpp - Gradients of branches
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "Bodies.h"
#include "lib/Adjoint/Reverse.h"
#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeInference.h"

using namespace mlir;
using namespace mpopt;

void mpopt::recompute(Block &from, OpBuilder &builder, IRMapping &map) {
  for (Operation &op : from.without_terminator()) {
    Operation *copy = builder.clone(op, map);
    copy->walk([](Operation *inner) {
      inner->setLoc(withValues(inner->getLoc(), {}));
    });
  }
}

SmallVector<Value> mpopt::wantedOutside(GradientContext &ctx) {
  SetVector<Value> captured = findCaptured(ctx.op());
  return llvm::to_vector(llvm::make_filter_range(captured, [&](Value value) {
    return ctx.wants(value) && isDifferentiable(value.getType());
  }));
}

Value mpopt::zerosAt(OpBuilder &builder, GradientContext &ctx, Value like) {
  GradientContext inner(builder, ctx.facts(), ctx.op(), {}, {}, {});
  return inner.zeros(like);
}

/// The branch that runs is computed again, with its own gradient behind it.
static void buildIf(mp::IfOp op, GradientContext &ctx) {
  SmallVector<Value> wanted = wantedOutside(ctx);
  if (wanted.empty())
    return;
  auto made =
      mp::IfOp::create(ctx.builder(), ctx.loc(), ValueRange(wanted).getTypes(),
                       op.getCondition());
  for (auto [region, target] :
       llvm::zip(op->getRegions(), made->getRegions())) {
    Block &body = region.front(), &block = target.emplaceBlock();
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    IRMapping map;
    recompute(body, builder, map);
    Operation *last = block.empty() ? nullptr : &block.back();
    Reverse inner(builder, ctx.facts(), ctx.reverse->lacking);
    inner.active.insert(wanted.begin(), wanted.end());
    for (Operation &op : block)
      inner.activate(&op);
    for (auto [index, value] :
         llvm::enumerate(body.getTerminator()->getOperands()))
      if (Value copy = map.lookupOrDefault(value);
          ctx.gradient(index) && inner.isActive(copy))
        inner.add(copy, ctx.gradient(index), ctx.loc());
    if (failed(inner.run(last)))
      return ctx.fail();
    ctx.reverse->bodies.push_back(std::move(inner.reads));
    SmallVector<Value> yielded;
    for (Value value : wanted) {
      Value gradient = inner.sums.lookup(value);
      yielded.push_back(gradient ? gradient : zerosAt(builder, ctx, value));
    }
    mp::YieldOp::create(builder, ctx.loc(), yielded);
  }
  if (failed(inferTypes(made, ctx.facts())))
    return ctx.fail();
  for (auto [value, gradient] : llvm::zip(wanted, made.getOutputs()))
    ctx.give(value, gradient);
}

void mpopt::attachControlFlowGradients(MLIRContext *context) {
  attachGradient<buildIf, mp::IfOp>(context);
  attachNoGradient<mp::YieldOp>(context);
}
