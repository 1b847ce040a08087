//===- TooLateUpcast.cpp - MP104: widened after the digits are gone
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cast to FP32 or FP64 whose operand is, through ops that only move elements,
// either a cast down from such a type or the result of an op that the policy
// keeps in FP32 and that computed in 16 bits. Matrix products in 16 bits that
// feed an FP32 op are what autocast is for and are not reported.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/DtypeSupport.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"

namespace mpopt {
#define GEN_PASS_DEF_TOOLATEUPCAST
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct TooLateUpcast : mpopt::impl::TooLateUpcastBase<TooLateUpcast> {
  void check(ModuleOp module) override {
    module.walk([&](mp::CastOp cast) { judge(cast); });
  }

private:
  void judge(mp::CastOp cast);
};
} // namespace

/// From the op that computes through those that move elements to the cast.
static FixAction castFirst(mp::CastOp cast) {
  SmallVector<Operation *> path = {cast};
  Operation *op = cast.getInput().getDefiningOp();
  for (; op && isViewLike(op); op = op->getOperand(0).getDefiningOp())
    path.push_back(op);
  if (!op || op->getBlock() != cast->getBlock())
    return {};
  path.push_back(op);
  std::reverse(path.begin(), path.end());
  return {FixAction::Kind::CastFirst, path};
}

void TooLateUpcast::judge(mp::CastOp cast) {
  Type narrow = getElementType(cast.getInput());
  Type wide = getElementType(cast.getResult());
  // A storage cast is what a whole-model conversion restores for an op that
  // takes FP32 only.
  if (cast.getOrigin() == mp::CastOrigin::Storage || !is16Bit(narrow) ||
      !isWide(wide))
    return;
  // A whole-model conversion gives an optimiser its weights back in FP32: that
  // cast is not in the model.
  if (cast.getOrigin() == mp::CastOrigin::Storage)
    return;
  Value source = peel(cast.getInput(), Peel::Views);
  Operation *maker = source.getDefiningOp();
  if (!maker)
    return;
  std::string from = getDtypeName(narrow), to = getDtypeName(wide);
  if (auto down = dyn_cast<mp::CastOp>(maker)) {
    Value before = peel(down.getInput(), Peel::Views);
    // A constant that was rounded is a matter of what it holds.
    if (!isWide(getElementType(down.getInput())) ||
        before.getDefiningOp<mp::ConstantOp>())
      return;
    report(cast, cast.getResult())
        .message("widened to " + to + " right after it was rounded to " + from +
                 ": the digits are gone")
        .cause(down.getInput(),
               "is " + getDtypeName(getElementType(down.getInput())))
        .cause(down.getOperation(), "rounds it to " + from)
        .fix("remove-cast",
             "use the tensor as it was before the cast to " + from,
             {FixAction::Kind::SkipCast, {cast}});
    return;
  }
  if (!isKeptWide(maker) || !get16BitCompute(maker))
    return;
  report(cast, cast.getResult())
      .message("widened to " + to + " behind " + getKind(maker) + " in " +
               from + ", which " + getPolicyName(cast) +
               " keeps in f32: too late to help")
      .cause(maker, "computes in " + from)
      .fix("change-op",
           "cast to " + to + " in front of the op instead of behind it",
           castFirst(cast));
}
