//===- LoopStates.cpp - Numbers that a loop carries on
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Let s <- d s + x be stored each trip with a relative error e_t of mean 0 and
// deviation u / sqrt(3), with a factor d that is stored as d (1 + f): the error
// of the last state is the sum of d^(T-t) e_t s_t, and f times the number of
// factors that each term has gone through. Both last 1 / (1 - d) trips at most.
// With M = min(T, 1 / (1 - d)) trips
//
//     error = sqrt(M) u / sqrt(3) + M f
//
// Not covered: sums that are so large that what a trip adds is lost (MP307).
//
//===----------------------------------------------------------------------===//

#include "mpopt/Propagate/LoopStates.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Propagate/LoopFlows.h"
#include "mpopt/Propagate/OpKind.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The trips of a loop whose number is not known, as open lengths are assumed.
static constexpr double kAssumedTrips = 64;

/// True if a change of an operand changes the result as much, or by a factor.
static bool carriesOn(Operation *op) {
  switch (getOpKind(op)) {
  case OpKind::Copy:
  case OpKind::Select:
  case OpKind::Linear:
  case OpKind::Quotient:
    return true;
  case OpKind::Product:
    return !hasRole(op, Role::Contraction);
  default:
    return false;
  }
}

/// The ops of the body between the two values, in its order.
static SmallVector<Operation *> findBetween(Value from, Value to, Block &body) {
  llvm::DenseSet<Value> reached = {from}, needed = {to};
  auto isOn = [&](Operation &op, ValueRange values,
                  const llvm::DenseSet<Value> &set) {
    return carriesOn(&op) && llvm::any_of(values, [&](Value value) {
             return set.contains(value);
           });
  };
  for (Operation &op : body)
    if (isOn(op, op.getOperands(), reached))
      reached.insert(op.result_begin(), op.result_end());
  SmallVector<Operation *> ops;
  if (!reached.contains(to))
    return ops;
  for (Operation &op : llvm::reverse(body))
    if (isOn(op, op.getOperands(), reached) &&
        isOn(op, op.getResults(), needed)) {
      needed.insert(op.operand_begin(), op.operand_end());
      ops.push_back(&op);
    }
  std::reverse(ops.begin(), ops.end());
  return ops;
}

namespace {
/// A factor of the state: what it is, and its relative error as stored.
struct Factor {
  double value = 1, error = 0;
};
} // namespace

static Factor factorOf(Operation *op) {
  bool divides = getOpKind(op) == OpKind::Quotient;
  if (op->getNumOperands() != 2 ||
      (!divides && getOpKind(op) != OpKind::Product))
    return {};
  auto split = splitNumber(op);
  if (!split)
    return {};
  unsigned index = split->first == op->getOperand(0) ? 1 : 0;
  Value constant = peel(op->getOperand(index), Peel::InsertedCasts);
  const FloatFormat *format =
      getFloatFormat(getElementType(op->getOperand(index)));
  double exact = std::fabs(getSplatConstant(constant).value_or(0));
  if (exact == 0 || !format)
    return {};
  double error = std::fabs(format->round(exact) - exact) / exact;
  return {divides ? 1 / exact : exact, error};
}

/// Sets `growth` of a state that is stored as `result` in each of `count`
/// trips.
static void setGrowth(LoopState &state, Value result,
                      std::optional<int64_t> count) {
  const FloatFormat *format = getFloatFormat(getElementType(result));
  // A state that is FP32 in the file or by a list is stored once, behind the
  // loop.
  bool isWide = llvm::all_of(state.ops, [](Operation *op) {
    return isInserted(op) || op->hasAttr("mp.kept");
  });
  if (!format || state.ops.empty() || isWide ||
      format->digits >= FloatFormat::f32().digits)
    return;
  Factor all;
  for (Operation *op : state.ops) {
    Factor factor = factorOf(op);
    all.value *= factor.value;
    all.error += factor.error;
  }
  // A decay below half a unit in the last place is lost where the state is
  // stored, however exact the factor is.
  double decay = std::fabs(1 - all.value);
  if (decay < format->unitRoundoff())
    all.error = std::max(all.error, decay);
  double trips = count ? double(*count) : kAssumedTrips;
  if (all.value < 1)
    trips = std::min(trips, 1 / (1 - all.value));
  double rounding = format->unitRoundoff() / std::sqrt(3.0);
  state.growth = std::max(1.0, std::sqrt(trips) + trips * all.error / rounding);
}

/// The state of the function on whose way the value lies. Each op of the way
/// rounds it once a call.
static std::optional<LoopState> findCarriedState(OpResult value) {
  auto function =
      dyn_cast<FunctionOpInterface>(value.getOwner()->getParentOp());
  auto carried = function
                     ? function->getAttrOfType<DenseI64ArrayAttr>(kCarriedAttr)
                     : DenseI64ArrayAttr();
  if (!carried)
    return std::nullopt;
  Block &body = function.getFunctionBody().front();
  for (size_t at = 0; at + 3 <= size_t(carried.size()); at += 3) {
    Value argument = body.getArgument(unsigned(carried[at]));
    Value last = body.getTerminator()->getOperand(unsigned(carried[at + 1]));
    LoopState state;
    state.ops = findBetween(argument, last, body);
    if (!llvm::is_contained(state.ops, value.getOwner()))
      continue;
    std::optional<int64_t> calls;
    if (carried[at + 2] > 0)
      calls = carried[at + 2];
    setGrowth(state, value, calls);
    return state;
  }
  return std::nullopt;
}

std::optional<LoopState> mpopt::findLoopState(Value result) {
  auto own = dyn_cast<OpResult>(result);
  if (!own || !isa<FloatType>(getElementType(result)))
    return std::nullopt;
  std::optional<LoopFlows> flows = getLoopFlows(own.getOwner());
  if (!flows)
    return findCarriedState(own);
  if (own.getResultNumber() >= flows->back.size())
    return std::nullopt;
  auto [yielded, argument] = flows->back[own.getResultNumber()];
  LoopState state;
  state.ops = findBetween(argument, yielded, *flows->body);
  setGrowth(state, result, flows->count);
  return state;
}
