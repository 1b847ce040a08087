//===- Scale.cpp - A power of two through a part of the graph
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What loss scaling is for gradients: a value that leaves its dtype is computed
// 2^e times as large, and what reads it takes that into account, up to where
// the factor can be taken back. A product adds the exponents of its factors, a
// square doubles one, a sum needs the same for all its terms, a normalisation
// by the own row does away with it. Multiplying by a power of two rounds
// nothing as long as nothing flushes or overflows.
//
//===----------------------------------------------------------------------===//

#include "Actions.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Builders.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::fixes;

/// Ops that take a factor along.
static constexpr size_t kMostOps = 256;

namespace {
/// What an op makes of the exponents of its operands.
struct Factors {
  /// What the operands have to have.
  SmallVector<int> operands;
  int result = 0;
  /// The power of the factor by which its `epsilon` grows.
  int epsilon = 0;
};
using Exponents = llvm::DenseMap<Value, int>;
} // namespace

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

/// f(2^e x) = 2^e f(x), of operand 0.
static bool isHomogeneous(Operation *op) {
  return isNamed(
             op,
             {"neg",       "abs",     "relu",    "leaky_relu",      "prelu",
              "identity",  "reshape", "flatten", "transpose",       "squeeze",
              "unsqueeze", "expand",  "tile",    "slice",           "split",
              "reverse",   "roll",    "gather",  "gather_elements", "gather_nd",
              "trilu"}) ||
         isNamed(op,
                 {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min",
                  "reduce_l1", "reduce_l2", "norm", "std", "median", "cum_sum",
                  "average_pool", "max_pool", "lp_pool", "global_average_pool",
                  "global_max_pool", "global_lp_pool", "adaptive_avg_pool"});
}

/// Nothing if the op cannot pass a factor on.
static std::optional<Factors> passOn(Operation *op, ArrayRef<int> have) {
  Factors factors;
  factors.operands.assign(have.begin(), have.end());
  auto none = std::optional<Factors>();
  auto alike = [&](unsigned first) {
    int target = 0;
    for (int exponent : have.drop_front(first))
      if (std::abs(exponent) > std::abs(target))
        target = exponent;
    for (int &exponent : MutableArrayRef(factors.operands).drop_front(first))
      exponent = target;
    factors.result = target;
    return factors;
  };
  // Only operand 0 is scaled.
  auto power = [&](double by) -> std::optional<Factors> {
    for (int &exponent : MutableArrayRef(factors.operands).drop_front())
      exponent = 0;
    int &own = factors.operands[0];
    if (by == std::floor(by)) {
      factors.result = int(by) * own;
    } else if (2 * by == std::floor(2 * by)) {
      own -= own & 1;
      factors.result = int(2 * by) * (own / 2);
    } else {
      return std::nullopt;
    }
    return factors;
  };
  if (auto cast = dyn_cast<mp::CastOp>(op))
    return isFloat(cast.getResult()) && isFloat(cast.getInput()) ? power(1)
                                                                 : none;
  if (isHomogeneous(op))
    return power(1);
  if (isNamed(op, {"square", "reduce_sum_square", "variance"}))
    return power(2);
  if (isNamed(op, {"sqrt"}))
    return power(0.5);
  if (isNamed(op, {"rsqrt"}))
    return power(-0.5);
  if (isNamed(op, {"reciprocal"}))
    return power(-1);
  if (isNamed(op, {"pow"})) {
    std::optional<double> exponent = getSplatConstant(op->getOperand(1));
    return exponent && std::fabs(*exponent) <= 4 ? power(*exponent) : none;
  }
  if (isNamed(op, {"sign"}))
    return power(0);
  if (isNamed(op, {"mul", "matmul"})) {
    factors.result = have[0] + have[1];
    return factors;
  }
  if (isNamed(op, {"div"})) {
    factors.result = have[0] - have[1];
    return factors;
  }
  if (isNamed(op, {"gemm", "linear", "conv", "conv_transpose"})) {
    factors.result = have[0] + have[1];
    if (have.size() > 2)
      factors.operands[2] = factors.result;
    return factors;
  }
  if (isNamed(op, {"add", "sub", "add_n", "mean_n", "max", "min", "concat",
                   "clip"}))
    return alike(0);
  if (isNamed(op, {"where"}))
    return alike(1);
  bool isNorm = isNamed(op, {"layer_norm", "rms_norm", "group_norm",
                             "instance_norm", "lp_normalize"});
  // Mean and deviation, as further results, would have factors of their own.
  if (isNorm && llvm::all_of(op->getResults().drop_front(),
                             [](Value extra) { return extra.use_empty(); })) {
    std::optional<Factors> invariant = power(0);
    invariant->epsilon = isNamed(op, {"lp_normalize"}) ? 1 : 2;
    return invariant;
  }
  return none;
}

/// Which operands of the first op are scaled so that its result is; `operand`
/// of a product.
static std::optional<Factors> start(Operation *op, int exponent,
                                    unsigned operand) {
  SmallVector<int> wanted(op->getNumOperands(), 0);
  auto passes = [&]() -> std::optional<Factors> {
    std::optional<Factors> factors = passOn(op, wanted);
    if (!factors || factors->result != exponent)
      return std::nullopt;
    return factors;
  };
  if (op->getNumOperands() == 0)
    return std::nullopt;
  bool product = isNamed(op, {"mul", "matmul"});
  if (product && op->getOperand(0) == op->getOperand(1)) {
    wanted = {exponent / 2, exponent / 2};
    return passes();
  }
  if (isNamed(op, {"square", "reduce_sum_square", "variance"})) {
    wanted[0] = exponent / 2;
    return passes();
  }
  if (isNamed(op, {"add", "sub", "add_n", "mean_n", "concat", "max", "min"})) {
    wanted.assign(wanted.size(), exponent);
    return passes();
  }
  if (isNamed(op, {"where"})) {
    wanted[1] = wanted[2] = exponent;
    return passes();
  }
  if (isNamed(op, {"pow"})) {
    std::optional<double> power = getSplatConstant(op->getOperand(1));
    if (!power || *power != 2)
      return std::nullopt;
    wanted[0] = exponent / 2;
    return passes();
  }
  wanted[product ? operand : 0] = exponent;
  return passes();
}

static SmallVector<int> getExponents(Operation *op,
                                     const Exponents &exponents) {
  return llvm::map_to_vector(op->getOperands(), [&](Value operand) {
    return exponents.lookup(operand);
  });
}

/// Of two factors: the larger one is made smaller, the smaller one larger.
static unsigned chooseFactor(Operation *op, int exponent,
                             function_ref<double(Value)> magnitude) {
  if (!isNamed(op, {"mul", "matmul"}))
    return 0;
  bool second = magnitude(op->getOperand(1)) > magnitude(op->getOperand(0));
  return (exponent < 0) == second ? 1 : 0;
}

FixAction mpopt::planScale(Operation *op, int exponent,
                           function_ref<bool(Value)> fits,
                           function_ref<double(Value)> magnitude) {
  bool isConstant = isa<mp::ConstantOp>(op);
  // A square's operand takes half.
  if (!isConstant && passOn(op, SmallVector<int>(op->getNumOperands(), 0)) &&
      (isNamed(op, {"square", "reduce_sum_square", "variance", "pow"}) ||
       (op->getNumOperands() == 2 && op->getOperand(0) == op->getOperand(1))))
    exponent -= exponent & 1;
  unsigned operand = isConstant ? 0 : chooseFactor(op, exponent, magnitude);
  if (exponent == 0 || (!isConstant && !start(op, exponent, operand)))
    return {};
  FixAction action(FixAction::Kind::Scale, {op}, {0});
  action.number = exponent;
  action.upper = operand;

  Exponents exponents;
  auto before = [](Operation *lhs, Operation *rhs) {
    return lhs != rhs && lhs->isBeforeInBlock(rhs);
  };
  std::set<Operation *, decltype(before)> pending(before);
  auto addReaders = [&](Operation *maker, int factor) {
    for (Value result : maker->getResults()) {
      if (!isFloat(result))
        continue;
      exponents[result] = factor;
      for (Operation *user : result.getUsers())
        if (user->getBlock() == op->getBlock() && user->getNumRegions() == 0)
          pending.insert(user);
    }
  };
  addReaders(op, exponent);
  while (!pending.empty() && action.ops.size() < kMostOps) {
    Operation *next = *pending.begin();
    pending.erase(pending.begin());
    std::optional<Factors> factors =
        passOn(next, getExponents(next, exponents));
    if (!factors)
      continue; // it reads what the value was
    bool ends = factors->result == 0 ||
                llvm::all_of(next->getResults(), [&](Value result) {
                  return !isFloat(result) || fits(result);
                });
    action.ops.push_back(next);
    action.operands.push_back(ends);
    if (!ends)
      addReaders(next, factors->result);
  }
  return action;
}

/// 2^by of `value`, for `user` to read.
static Value rescale(Value value, int by, Operation *user) {
  OpBuilder builder(user);
  Value factor = makeNumber(builder, value.getLoc(), getElementType(value),
                            std::ldexp(1.0, by));
  return mp::MulOp::create(builder, value.getLoc(), value.getType(), value,
                           factor)
      .getResult();
}

static void rescaleOperands(Operation *op, ArrayRef<int> have,
                            ArrayRef<int> wanted) {
  for (auto [index, before, after] : llvm::enumerate(have, wanted)) {
    if (before == after)
      continue;
    Value operand = op->getOperand(index);
    if (!isFloat(operand))
      continue; // a mask has no size
    op->setOperand(index, rescale(operand, after - before, op));
  }
}

/// Some readers of `value`, which has a factor, read what it was.
static void restore(Value value, int factor,
                    function_ref<bool(Operation *)> reads) {
  auto readsBack = [&](OpOperand &use) { return reads(use.getOwner()); };
  if (llvm::none_of(value.getUses(), readsBack))
    return;
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Value number = makeNumber(builder, value.getLoc(), getElementType(value),
                            std::ldexp(1.0, -factor));
  Operation *back = mp::MulOp::create(builder, value.getLoc(), value.getType(),
                                      value, number);
  value.replaceUsesWithIf(back->getResult(0), [&](OpOperand &use) {
    return use.getOwner() != back && readsBack(use);
  });
}

static void growEpsilon(Operation *op, int exponent) {
  auto epsilon = op->getAttrOfType<FloatAttr>("epsilon");
  if (epsilon && exponent)
    op->setAttr("epsilon", FloatAttr::get(epsilon.getType(),
                                          std::ldexp(epsilon.getValueAsDouble(),
                                                     exponent)));
}

bool fixes::applyScale(Ops ops, ArrayRef<unsigned> takeBack, int exponent,
                       unsigned operand) {
  Operation *first = ops.front();
  if (isa<mp::ConstantOp>(first)) {
    if (!rewriteConstant(
            first, [&](double number) { return std::ldexp(number, exponent); }))
      return false;
  } else {
    std::optional<Factors> factors = start(first, exponent, operand);
    if (!factors)
      return false;
    // A square reads one value twice: both are the scaled one.
    if (first->getNumOperands() == 2 &&
        first->getOperand(0) == first->getOperand(1)) {
      Value scaled = rescale(first->getOperand(0), factors->operands[0], first);
      first->setOperands({scaled, scaled});
    } else {
      rescaleOperands(first, SmallVector<int>(first->getNumOperands(), 0),
                      factors->operands);
    }
  }
  llvm::DenseSet<Operation *> region(ops.begin(), ops.end());
  Exponents exponents;
  for (auto [index, op] : llvm::enumerate(ops)) {
    int factor = exponent;
    if (index > 0) {
      SmallVector<int> have = getExponents(op, exponents);
      std::optional<Factors> factors = passOn(op, have);
      if (!factors)
        return false;
      growEpsilon(op, factors->epsilon * have[0]);
      rescaleOperands(op, have, factors->operands);
      factor = factors->result;
    }
    for (Value result : op->getResults()) {
      if (!isFloat(result) || factor == 0)
        continue;
      if (!takeBack[index])
        exponents[result] = factor;
      restore(result, factor, [&](Operation *user) {
        return takeBack[index] || !region.contains(user);
      });
    }
  }
  return true;
}
