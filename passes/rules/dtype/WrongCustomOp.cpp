//===- WrongCustomOp.cpp - MP110: an op that is stated to be wrong
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/CustomOps.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/StringExtras.h"

namespace mpopt {
#define GEN_PASS_DEF_WRONGCUSTOMOP
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct WrongCustomOp : mpopt::impl::WrongCustomOpBase<WrongCustomOp> {
  void check(ModuleOp module) override {
    module.walk<WalkOrder::PreOrder>([&](mp::CustomOp op) { judge(op); });
  }

private:
  void judge(mp::CustomOp op);
};
} // namespace

/// `f16 and bf16`.
static std::string listDtypes(mp::CustomOp op) {
  std::vector<std::string> names;
  for (auto type : op.getDtypes().getAsRange<TypeAttr>())
    names.push_back(getDtypeName(type.getValue()));
  return llvm::join(names, " and ");
}

void WrongCustomOp::judge(mp::CustomOp op) {
  if (!op.isWrong())
    return;
  std::string dtype = getDtypeName(op.getComputedType());
  std::string right = listDtypes(op);
  FindingBuilder finding = report(op, op.getResult());
  finding.dtype(op.getComputedType())
      .message(op.getName() + " computes in " + dtype +
               ", in which its entry does not state that it is right: " +
               (right.empty() ? "it is right in no dtype"
                              : "it is right in " + right +
                                    ", to which a cast in front of it leads"))
      .cause(op.getInputs()[op.getLike()], "brings " + dtype);
  bool isRightWide =
      llvm::any_of(op.getDtypes().getAsRange<TypeAttr>(),
                   [](TypeAttr type) { return type.getValue().isF32(); });
  if (isRightWide)
    finding.fix("keep-fp32",
                "compute it in f32 and cast the result to " + dtype);
}
