//===- Softmax.cpp - Decomposed softmax and log-softmax
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   e = exp(z), z = x or x - max(x), also with a largest of at least -Inf
//   softmax:     e / sum(e)  or  e * (1 / sum(e))
//   log_softmax: z - log(sum(e)), also with a fused logsumexp
//
// over one axis. log(softmax(x)) is not a log-softmax: its logarithm sees
// probabilities that have been rounded, and a rule is to say so.
//
//===----------------------------------------------------------------------===//

#include "Idioms.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::idioms;

/// True for an op that gives what is reduced over `axis` of `full` that axis
/// back, of length 1.
static bool restoresAxis(Operation *op, Value full, int64_t axis) {
  if (isa<mp::UnsqueezeOp, mp::ExpandOp>(op))
    return true;
  MaybeShape whole = getShape(full), made;
  if (!isa<mp::ReshapeOp>(op) || !whole ||
      !(made = getShape(op->getResult(0))) || made->size() != whole->size())
    return false;
  (*whole)[axis < 0 ? axis + int64_t(whole->size()) : axis] = 1;
  // With several open lengths one may be another's.
  return *made == *whole &&
         llvm::count_if(*whole, [](int64_t dim) { return dim < 0; }) <= 1;
}

/// z = x - max(x) over `axes`: the members that shift, none if z is not
/// shifted.
static Members matchShift(Value z, ArrayRef<int64_t> axes) {
  auto sub = getMaker<mp::SubOp>(z);
  if (!sub)
    return {};
  Members members = {sub};
  Operation *max = getMaker(sub.getRhs());
  while (max && restoresAxis(max, sub.getLhs(), axes.front())) {
    members.push_back(max);
    max = getMaker(max->getOperand(0));
  }
  // JAX begins its maximum with -Inf, and writes that out.
  if (isa_and_present<mp::MaxOp>(max) && max->getNumOperands() == 2)
    for (unsigned index : {0, 1})
      if (getSplatConstant(max->getOperand(index)) == -kInfinity) {
        members.push_back(max);
        max = getMaker(max->getOperand(1 - index));
        break;
      }
  if (!isa_and_present<mp::ReduceMaxOp>(max) ||
      !isSameBehind(max->getOperand(0), sub.getLhs()))
    return {};
  std::optional<SmallVector<int64_t>> over = getReducedAxes(max, ShapeFacts());
  if (!over || !llvm::equal(*over, axes))
    return {};
  members.push_back(max);
  return members;
}

/// The quotient of `exp` and its sum, if one of the sum's users is that.
static Operation *findQuotient(mp::ExpOp exp, Value sum, int64_t axis,
                               Members &members) {
  for (Operation *user : getUsers(sum)) {
    if (isa<mp::DivOp>(user) &&
        isSameBehind(user->getOperand(0), exp.getResult()) &&
        isSameBehind(user->getOperand(1), sum)) {
      members.push_back(user);
      return user;
    }
    bool inverts = isa<mp::ReciprocalOp>(user) ||
                   (isa<mp::DivOp>(user) && isNumber(user->getOperand(0), 1));
    if (restoresAxis(user, exp.getResult(), axis)) {
      members.push_back(user);
      if (Operation *found =
              findQuotient(exp, user->getResult(0), axis, members))
        return found;
      members.pop_back();
    }
    if (!inverts)
      continue;
    for (Operation *product : getUsers(user->getResult(0)))
      if (isa<mp::MulOp>(product) &&
          otherOperand(product, user->getResult(0)) &&
          isSameBehind(otherOperand(product, user->getResult(0)),
                       exp.getResult())) {
        members.append({user, product});
        return product;
      }
  }
  return nullptr;
}

/// z - log(sum(exp(z))), or with `log` a fused logsumexp of z.
static bool matchLogSoftmax(Operation *log, Value z, ArrayRef<int64_t> axes,
                            Members members, Marker &marker) {
  for (Operation *user : getUsers(log->getResult(0))) {
    if (!isa<mp::SubOp>(user) || !isSameBehind(user->getOperand(0), z) ||
        !isSameBehind(user->getOperand(1), log->getResult(0)))
      continue;
    members.append({log, user});
    members.append(matchShift(z, axes));
    return marker.mark<mp::LogSoftmaxOp>(members, user);
  }
  return false;
}

static bool matchSum(mp::ExpOp exp, mp::ReduceSumOp sum, Marker &marker) {
  std::optional<Axes> axes = getReducedAxes(sum, ShapeFacts());
  if (!axes || axes->size() != 1)
    return false;
  Value z = exp.getInput();
  Members members = {exp, sum};
  if (Operation *quotient =
          findQuotient(exp, sum.getResult(), axes->front(), members)) {
    members.append(matchShift(z, *axes));
    return marker.mark<mp::SoftmaxOp>(members, quotient);
  }
  for (Operation *user : getUsers(sum.getResult()))
    if (isa<mp::LogOp>(user) &&
        matchLogSoftmax(user, z, *axes, {exp, sum}, marker))
      return true;
  return false;
}

bool idioms::matchSoftmax(Operation *anchor, Marker &marker) {
  if (auto fused = dyn_cast<mp::ReduceLogSumExpOp>(anchor)) {
    std::optional<Axes> axes = getReducedAxes(fused, ShapeFacts());
    return axes && axes->size() == 1 &&
           matchLogSoftmax(fused, fused.getInput(), *axes, {}, marker);
  }
  auto exp = dyn_cast<mp::ExpOp>(anchor);
  if (!exp)
    return false;
  for (Operation *user : getUsers(exp.getResult()))
    if (auto sum = dyn_cast<mp::ReduceSumOp>(user);
        sum && matchSum(exp, sum, marker))
      return true;
  return false;
}
