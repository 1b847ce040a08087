//===- Scalars.cpp - Python's arithmetic ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers, strings and comparisons of what is known are computed here
// (ScalarFold.h). Integers and booleans that depend on an open dim become
// rank-0 tensors, whose elements the dialect follows.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"
#include "ScalarFold.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

using Kind = Item::Kind;

/// The second input; unknown if there is one only.
static Item getSecond(Evaluation &evaluation) {
  return evaluation.numInputs() > 1 ? evaluation.input(1) : Item();
}

//===----------------------------------------------------------------------===//
// Modes of the interpreter
//===----------------------------------------------------------------------===//

/// Gradients are on unless a program says otherwise.
static LogicalResult isGradEnabled(Evaluation &evaluation) {
  return evaluation.give(Item::boolean(true));
}

static LogicalResult isAutocastEnabled(Evaluation &evaluation) {
  return evaluation.give(Item::boolean(evaluation.isAutocastEnabled()));
}

void aten::registerModeHandlers(HandlerTable &modes) {
  modes.add("is_grad_enabled", isGradEnabled);
  modes.add({"is_autocast_enabled", "is_autocast_cpu_enabled"},
            isAutocastEnabled);
}

//===----------------------------------------------------------------------===//
// Identity, logic and lists of numbers
//===----------------------------------------------------------------------===//

/// `is`, and `is not`.
template <bool kIs>
static LogicalResult compareIdentity(Evaluation &evaluation) {
  const Item &lhs = evaluation.input(0), rhs = getSecond(evaluation);
  if (lhs.kind == Kind::Unknown || rhs.kind == Kind::Unknown)
    return evaluation.giveUnknown();
  bool same =
      lhs.isNone() == rhs.isNone() && (lhs.isNone() || isSame(lhs, rhs));
  return evaluation.give(Item::boolean(same == kIs));
}

/// `any` and `all`: one member that is `kDecides` decides; else all must be
/// known.
template <bool kDecides> static LogicalResult reduce(Evaluation &evaluation) {
  const Item &list = evaluation.input(0);
  if (evaluation.numInputs() != 1 || !list.collection)
    return failure();
  bool decided = list.collection->known;
  for (const Item &member : list.collection->items) {
    if (member.isStatic() && (member.number() != 0) == kDecides)
      return evaluation.give(Item::boolean(kDecides));
    decided &= member.isStatic();
  }
  if (!decided)
    return evaluation.giveUnknown();
  return evaluation.give(Item::boolean(!kDecides));
}

/// `==` and `!=` of lists.
template <bool kEqual>
static LogicalResult compareLists(Evaluation &evaluation) {
  const Item &lhs = evaluation.input(0), rhs = getSecond(evaluation);
  if (!lhs.collection || !rhs.collection)
    return failure();
  std::optional<bool> equal = fold::equalLists(lhs, rhs);
  if (!equal)
    return evaluation.giveUnknown();
  return evaluation.give(Item::boolean(*equal == kEqual));
}

/// `min` and `max` of a list of known numbers.
static LogicalResult foldList(Evaluation &evaluation) {
  const Item &list = evaluation.input(0);
  auto isStatic = [](const Item &member) { return member.isStatic(); };
  if (!list.collection || !list.collection->known ||
      !llvm::all_of(list.collection->items, isStatic))
    return failure();
  std::optional<Item> best;
  for (const Item &member : list.collection->items)
    best = best ? fold::binary(evaluation.name(), *best, member) : member;
  return evaluation.giveIfKnown(best);
}

/// `and` and `or` where one operand is known: `kDecides` is the result
/// whatever the other one is, else the result is the other one.
template <bool kDecides> static LogicalResult decide(Evaluation &evaluation) {
  Item lhs = evaluation.input(0), rhs = getSecond(evaluation);
  if (!lhs.isNumber() || (lhs.isStatic() && rhs.isStatic()) ||
      evaluation.resultType().kind != StaticType::Kind::Bool)
    return failure();
  auto isKnown = [](const Item &item) {
    return item.isStatic() && item.kind == Kind::Bool;
  };
  if (!isKnown(lhs) && !isKnown(rhs))
    return failure();
  const Item &known = isKnown(lhs) ? lhs : rhs;
  const Item &other = isKnown(lhs) ? rhs : lhs;
  return evaluation.give(
      bool(known.integer) == kDecides ? Item::boolean(kDecides) : other);
}

void aten::registerScalarHandlers(HandlerTable &scalars) {
  scalars.add("__is__", compareIdentity<true>);
  scalars.add("__isnot__", compareIdentity<false>);
  scalars.add("any", reduce<true>);
  scalars.add("all", reduce<false>);
  scalars.add("eq", compareLists<true>);
  scalars.add("ne", compareLists<false>);
  scalars.add({"min", "max"}, foldList);
  scalars.add("__and__", decide<false>);
  scalars.add("__or__", decide<true>);
}

//===----------------------------------------------------------------------===//
// Numbers that are computed at run time
//===----------------------------------------------------------------------===//

/// Makes the op on rank-0 tensors; null if an operand is no number.
using Computation = Value (*)(Evaluation &);

template <typename OpT> static Value computeBinary(Evaluation &evaluation) {
  Item rhs = getSecond(evaluation);
  if (!rhs.isNumber())
    return {};
  Value left = evaluation.valueOf(evaluation.input(0));
  Value right = evaluation.valueOf(rhs);
  return evaluation.make<OpT>(left, right);
}

template <typename OpT> static Value computeUnary(Evaluation &evaluation) {
  return evaluation.make<OpT>(evaluation.valueOf(evaluation.input(0)));
}

static Value castTo(Evaluation &evaluation, mlir::Type element) {
  Value number = evaluation.valueOf(evaluation.input(0));
  return evaluation
      .makeTyped<mp::CastOp>({RankedTensorType::get({}, element)}, number,
                             mp::CastOrigin::Model, false, StringAttr())
      .getResult();
}

static Value castToInt(Evaluation &evaluation) {
  return castTo(evaluation, evaluation.builder().getI64Type());
}

static Value castToFloat(Evaluation &evaluation) {
  return castTo(evaluation, evaluation.builder().getF64Type());
}

static Value castToBool(Evaluation &evaluation) {
  return castTo(evaluation, evaluation.builder().getI1Type());
}

/// The number in its own dtype.
static Value castToScalar(Evaluation &evaluation) {
  Value number = evaluation.valueOf(evaluation.input(0));
  return castTo(evaluation, getElementType(number));
}

/// Null if no op of mp computes it.
static Computation findComputation(StringRef name) {
  static const llvm::StringMap<Computation> computations = {
      {"Int", castToInt},
      {"Float", castToFloat},
      {"Bool", castToBool},
      {"ScalarImplicit", castToScalar},
      {"neg", computeUnary<mp::NegOp>},
      {"__not__", computeUnary<mp::LogicalNotOp>},
      {"add", computeBinary<mp::AddOp>},
      {"sub", computeBinary<mp::SubOp>},
      {"mul", computeBinary<mp::MulOp>},
      {"floordiv", computeBinary<mp::FloorDivOp>},
      {"eq", computeBinary<mp::EqualOp>},
      {"ne", computeBinary<mp::NotEqualOp>},
      {"lt", computeBinary<mp::LessOp>},
      {"le", computeBinary<mp::LessEqualOp>},
      {"gt", computeBinary<mp::GreaterOp>},
      {"ge", computeBinary<mp::GreaterEqualOp>},
  };
  return computations.lookup(name);
}

static LogicalResult compute(Evaluation &evaluation) {
  Computation computation = findComputation(evaluation.name());
  Value result = computation ? computation(evaluation) : Value();
  if (!result)
    return evaluation.giveUnknown();
  StaticType::Kind type = evaluation.resultType().kind;
  Item item = Item::computed(type == StaticType::Kind::Bool    ? Kind::Bool
                             : type == StaticType::Kind::Float ? Kind::Float
                                                               : Kind::Int,
                             result);
  // Known after all: a product with 0, or an element that inference followed.
  if (item.kind != Kind::Float)
    if (auto known = evaluation.facts().constants(result);
        known && known->size() == 1) {
      item.dynamic = {};
      item.integer = known->front();
    }
  return evaluation.give(item);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

/// True if an operand or the result holds a tensor: then a lowering is asked,
/// except for the ops that only look at the item.
static bool concernsTensors(Evaluation &evaluation) {
  static const llvm::StringSet<> questions = {"__is__", "__isnot__",
                                              "isinstance"};
  if (!questions.contains(evaluation.name()))
    for (unsigned index = 0; index < evaluation.numInputs(); ++index)
      if (evaluation.input(index).isTensor())
        return true;
  const StaticType &type = evaluation.resultType();
  return type.kind == StaticType::Kind::Tensor ||
         (type.kind == StaticType::Kind::List &&
          type.elements.front().kind == StaticType::Kind::Tensor);
}

static bool isText(const Item &item) {
  return item.kind == Kind::String || item.kind == Kind::Device;
}

LogicalResult aten::evaluateScalar(Evaluation &evaluation,
                                   const HandlerTable &handlers) {
  if (evaluation.numInputs() == 0 || concernsTensors(evaluation))
    return failure();
  if (succeeded(handlers.run(evaluation)))
    return success();
  StringRef name = evaluation.name();
  const Item &lhs = evaluation.input(0), rhs = getSecond(evaluation);
  if (lhs.isStatic() && evaluation.numInputs() == 1)
    return evaluation.giveIfKnown(fold::unary(name, lhs));
  if (lhs.isStatic() && rhs.isStatic() && evaluation.numInputs() == 2)
    return evaluation.giveIfKnown(fold::binary(name, lhs, rhs));
  if (isText(lhs) && lhs.kind == rhs.kind)
    return evaluation.giveIfKnown(fold::strings(name, lhs, rhs));
  return lhs.isNumber() ? compute(evaluation) : evaluation.giveUnknown();
}
