//===- ManualHalfCast.cpp - MP105: the model rounds where autocast decides
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Harmless if every user is an op that autocast would have run in 16 bits
// anyway: then a note.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/DtypeSupport.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"

namespace mpopt {
#define GEN_PASS_DEF_MANUALHALFCAST
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct ManualHalfCast : mpopt::impl::ManualHalfCastBase<ManualHalfCast> {
  void check(ModuleOp module) override {
    module.walk([&](mp::CastOp cast) {
      if (isUnderAutocast(cast))
        judge(cast);
    });
  }

private:
  void judge(mp::CastOp cast);
};
} // namespace

static bool isLower(Operation *op) {
  auto category = op->getAttrOfType<StringAttr>("mp.category");
  return category && category.getValue() == "lower";
}

void ManualHalfCast::judge(mp::CastOp cast) {
  Type type = getElementType(cast.getResult());
  if (cast.getOrigin() != mp::CastOrigin::Model || !is16Bit(type) ||
      !isWide(getElementType(cast.getInput())) ||
      cast.getInput().getDefiningOp<mp::ConstantOp>())
    return;
  // The first user that autocast runs in FP32, through the policy's casts.
  Operation *hurt = nullptr;
  bool harmless = !cast.getResult().use_empty();
  for (Operation *user : cast.getResult().getUsers()) {
    harmless &= isLower(user);
    if (isa<mp::CastOp>(user))
      for (Operation *behind : user->getResult(0).getUsers())
        hurt = !hurt && isKeptWide(behind) ? behind : hurt;
  }
  std::string dtype = getDtypeName(type);
  FindingBuilder finding = report(cast, cast.getResult());
  finding.watchAs(type, Decision::LossOfRange, cast.getInput(), "operand");
  finding
      .message("the model casts to " + dtype + " inside autocast" +
               (harmless ? Twine(", which casts there by itself")
                         : Twine(": rounded also for ops that autocast runs "
                                 "in f32")))
      .fix("remove-cast", "leave the cast to autocast",
           {FixAction::Kind::RemoveCast, {cast}});
  if (harmless)
    finding.severity(Severity::Note);
  if (hurt)
    finding.cause(hurt, "runs in f32 on the rounded tensor");
}
