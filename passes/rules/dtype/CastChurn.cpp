//===- CastChurn.cpp - MP108: casts that cost more than they save
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Islands are the connected groups of 16-bit ops. A cast moves what it reads
// and writes; an op inside saves, on each float tensor that it reads or writes,
// the difference to 32 bits. Casts of constants cost nothing: they are done
// once, when the model is loaded. Islands with a matrix product or a
// convolution pay off by their arithmetic and are left alone, as are those that
// begin or end at the model's own 16-bit inputs or outputs. A dynamic dim
// counts as 1: it scales both sides alike.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/Arithmetic.h"
#include "mpopt/Hazards/DtypeSupport.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mpopt {
#define GEN_PASS_DEF_CASTCHURN
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Island {
  SmallVector<Operation *> ops;
  llvm::SetVector<mp::CastOp> entries;
  SmallVector<mp::CastOp> exits;
  bool paysOff = false;
};

class CastChurn : public mpopt::impl::CastChurnBase<CastChurn> {
  void check(ModuleOp module) override;
  /// `all` is the module's arithmetic.
  void judge(const Island &island, double all);
};
} // namespace

static bool isArithmeticHeavy(Operation *op) {
  return op->getNumRegions() != 0 ||
         hasRole(op, Role::Contraction | Role::Attention | Role::Recurrent);
}

static int64_t getBytes(Value value, unsigned bytesAnElement) {
  MaybeShape shape = getShape(value);
  if (!shape)
    return 0;
  int64_t bytes = bytesAnElement;
  for (int64_t dim : *shape)
    if (dim > 0 && llvm::MulOverflow(bytes, dim, bytes))
      return 0;
  return bytes;
}

static int64_t getCost(mp::CastOp cast) {
  auto width = [](Value value) {
    return getElementType(value).getIntOrFloatBitWidth() / 8;
  };
  return getBytes(cast.getInput(), width(cast.getInput())) +
         getBytes(cast.getResult(), width(cast.getResult()));
}

static int64_t getSaving(Operation *op) {
  int64_t bytes = 0;
  auto count = [&](Value value) {
    if (is16Bit(getElementType(value)))
      bytes += getBytes(value, 2);
  };
  llvm::for_each(op->getOperands(), count);
  llvm::for_each(op->getResults(), count);
  return bytes;
}

static std::string formatBytes(int64_t bytes) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (bytes >= 10 << 20)
    out << (bytes >> 20) << " MiB";
  else if (bytes >= 10 << 10)
    out << (bytes >> 10) << " KiB";
  else
    out << bytes << " bytes";
  return text;
}

void CastChurn::judge(const Island &island, double all) {
  if (island.paysOff || island.entries.empty() || island.exits.empty())
    return;
  int64_t cost = 0, saving = 0;
  for (mp::CastOp cast : island.entries)
    cost += getCost(cast);
  for (mp::CastOp cast : island.exits)
    cost += getCost(cast);
  for (Operation *op : island.ops)
    saving += getSaving(op);
  if (cost <= saving || cost < threshold("cast-churn-bytes"))
    return;
  mp::CastOp first = island.entries.front();
  std::string dtype = getDtypeName(getElementType(first.getResult()));
  double own = 0;
  for (Operation *op : island.ops)
    own += countArithmetic(op);
  bool counts = own >= threshold("speed-share") * all;
  FindingBuilder finding = report(first, first.getResult());
  finding.severity(counts ? Severity::Warning : Severity::Note)
      .message(Twine(island.entries.size() + island.exits.size()) +
               " casts move " + formatBytes(cost) + " so that " +
               Twine(island.ops.size()) + " op" +
               (island.ops.size() == 1 ? "" : "s") + " in " + dtype + " save " +
               formatBytes(saving) + ": slower than f32, and less accurate")
      .fix("keep-fp32", "leave these ops in f32 and drop the casts",
           FixAction::keep(island.ops));
  for (Operation *op : ArrayRef(island.ops).take_front(3))
    finding.cause(op, "computes in " + dtype);
}

void CastChurn::check(ModuleOp module) {
  llvm::EquivalenceClasses<Operation *> classes;
  SmallVector<Operation *> members;
  auto isMember = [](Operation *op) {
    return op && !isa<mp::CastOp, mp::ConstantOp>(op) &&
           isa_and_present<mp::MPDialect>(op->getDialect()) &&
           llvm::any_of(op->getResults(), [](Value result) {
             return is16Bit(getElementType(result));
           });
  };
  module.walk([&](Operation *op) {
    if (!isMember(op))
      return;
    members.push_back(op);
    classes.insert(op);
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          is16Bit(getElementType(operand)) && isMember(maker))
        classes.unionSets(op, maker);
  });
  llvm::MapVector<Operation *, Island> islands;
  for (Operation *op : members) {
    Island &island = islands[classes.getLeaderValue(op)];
    island.ops.push_back(op);
    island.paysOff |= isArithmeticHeavy(op);
    for (Value operand : op->getOperands()) {
      if (!is16Bit(getElementType(operand)))
        continue;
      auto cast = operand.getDefiningOp<mp::CastOp>();
      bool entry = cast && isWide(getElementType(cast.getInput()));
      if (entry && getMaker<mp::ConstantOp>(cast.getInput(), Peel::Views))
        continue;
      if (entry)
        island.entries.insert(cast);
      // A 16-bit input of the model needs no cast to stay in 16 bits.
      island.paysOff |= isa<BlockArgument>(operand);
    }
    for (Value result : op->getResults())
      for (Operation *user : result.getUsers()) {
        auto cast = dyn_cast<mp::CastOp>(user);
        if (cast && isWide(getElementType(cast.getResult())))
          island.exits.push_back(cast);
        else if (user->hasTrait<OpTrait::IsTerminator>())
          island.paysOff |= is16Bit(getElementType(result));
      }
  }
  double all = countArithmetic(module);
  for (auto &[leader, island] : islands)
    judge(island, all);
}
