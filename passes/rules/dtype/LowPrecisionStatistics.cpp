//===- LowPrecisionStatistics.cpp - MP109: mean and variance in 16 bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variances and standard deviations, also written out as a mean of squares;
// statistics over the batch; running statistics of a BatchNorm. A mean over
// features or positions (pooling) is no statistic, and one inside a recognised
// composite belongs to that.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/DtypeSupport.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/KindHazard.h"

namespace mpopt {
#define GEN_PASS_DEF_LOWPRECISIONSTATISTICS
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct LowPrecisionStatistics
    : mpopt::impl::LowPrecisionStatisticsBase<LowPrecisionStatistics> {
  void check(ModuleOp module) override {
    module.walk([&](Operation *op) { judge(op); });
  }

private:
  void judge(Operation *op);
  void judgeRunning(Operation *op);
  void add(ArrayRef<Operation *> members, Role roles, Type type,
           const Twine &what);
};
} // namespace

/// The last member is what computes the statistic.
void LowPrecisionStatistics::add(ArrayRef<Operation *> members, Role roles,
                                 Type type, const Twine &what) {
  Operation *op = members.back();
  FindingBuilder finding = report(op, op->getResult(0));
  watchOps(finding, {op}, type, Decision::Overflow, Decision::LossOfRange);
  finding.dtype(type)
      .message(what + " in " + getDtypeName(type) + ": " +
               (type.isBF16()
                    ? std::string("sums of squares keep 2 decimal digits")
                    : describeKindHazard(roles, members, type,
                                         getAnalysis<RangeAnalysis>())))
      .fix("keep-fp32", "compute it in f32 and cast the result");
}

/// A BatchNorm whose running mean or variance is held in 16 bits.
void LowPrecisionStatistics::judgeRunning(Operation *op) {
  // In the op's own order: input, scale, bias, mean, variance. The last two of
  // at least three are what is kept.
  if (op->getNumOperands() < 3)
    return;
  Value statistic = op->getOperand(op->getNumOperands() - 1);
  Type type = getElementType(statistic);
  if (!is16Bit(type))
    return;
  auto training = op->getAttrOfType<BoolAttr>("training");
  bool updates = training && training.getValue();
  bool past = getAnalysis<RangeAnalysis>().magnitudes(statistic).bound >=
              getFloatFormat(type)->overflowFrom;
  std::string dtype = getDtypeName(type);
  FixAction statistics = FixAction::keep({op});
  statistics.operands = {op->getNumOperands() - 2, op->getNumOperands() - 1};
  FindingBuilder finding = report(op, op->getResult(0));
  for (unsigned index : statistics.operands)
    finding.watchAs(type, Decision::LossOfRange, op->getOperand(index),
                    "statistic");
  finding.dtype(type)
      .about({op->getOperand(statistics.operands[0]),
              op->getOperand(statistics.operands[1])})
      // Rounded once, they do little harm; updated in 16 bits, they freeze.
      .severity(updates ? Severity::Warning : Severity::Note)
      .message("running mean and variance are kept in " + dtype + ": " +
               (updates         ? "small updates no longer change them"
                : type.isBF16() ? "they keep 2 decimal digits"
                : past          ? "they keep 3 decimal digits, and a variance "
                                  "past 65504 is Inf"
                                : "they keep 3 decimal digits"))
      .cause(statistic, "is " + getDtypeName(type))
      .fix("keep-fp32",
           "keep the statistics in f32; kernels take them beside a " +
               getDtypeName(type) + " input",
           statistics);
}

void LowPrecisionStatistics::judge(Operation *op) {
  bool reduces = isa<mp::ReduceMeanOp>(op);
  if ((!hasRole(op, Role::Statistic) && !reduces) || getIdiom(op))
    return;
  if (hasRole(op, Role::BatchNorm))
    return judgeRunning(op);
  Type type = get16BitCompute(op);
  if (!type)
    return;
  if (!reduces)
    return add(op, Role::InnerSquares, type,
               op->getName().stripDialect() + " computed");
  if (Operation *square = getMaker(op->getOperand(0)); getSquared(square))
    return add({square, op}, Role::SumOfSquares, type,
               "mean of squares computed");
  auto axes = op->getAttrOfType<DenseI64ArrayAttr>("axes");
  MaybeShape shape = getShape(op->getOperand(0));
  if (axes && shape && shape->size() > 1 &&
      size_t(axes.size()) < shape->size() &&
      (llvm::is_contained(axes.asArrayRef(), 0) ||
       llvm::is_contained(axes.asArrayRef(), -int64_t(shape->size()))))
    add(op, Role::Sum, type, "mean over the batch computed");
}
