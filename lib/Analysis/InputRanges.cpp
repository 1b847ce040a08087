//===- InputRanges.cpp - What is taken for granted about inputs
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputRanges.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Transfer/TransferContext.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Number of things that `input` counts: rows of the table it picks from, the
/// depth of a one-hot. The smallest where there are several, since all must
/// accept it; nothing if it indexes nothing of a known size.
static std::optional<int64_t> getIndexed(Value input) {
  std::optional<int64_t> least;
  auto take = [&](std::optional<int64_t> size) {
    if (size && *size > 0 && (!least || *size < *least))
      least = size;
  };
  for (OpOperand &use : input.getUses()) {
    Operation *user = use.getOwner();
    unsigned operand = use.getOperandNumber();
    if (auto gather = dyn_cast<mp::GatherOp>(user)) {
      MaybeShape table = getShape(gather.getInput());
      if (operand == 1 && table)
        if (std::optional<int64_t> axis =
                normalizeAxis(gather.getAxis(), table->size()))
          take((*table)[*axis]);
    } else if (auto embedding = dyn_cast<mp::EmbeddingOp>(user)) {
      MaybeShape table = getShape(embedding.getTable());
      if (operand == 1 && table && !table->empty())
        take(table->front());
    } else if (auto oneHot = dyn_cast<mp::OneHotOp>(user)) {
      if (operand == 0)
        if (std::optional<double> depth = getSplatConstant(oneHot.getDepth()))
          take(int64_t(*depth));
    } else if (operand == 0 && (isa<mp::CastOp>(user) || isViewLike(user)) &&
               user->getNumResults() == 1 &&
               isa<IntegerType>(getElementType(user->getResult(0)))) {
      take(getIndexed(user->getResult(0)));
    }
  }
  return least;
}

/// [lo, hi] with the extremes that one expects of that many normal draws.
static AbstractValue makeInput(BlockArgument input, double lo, double hi,
                               double mean, double deviation,
                               LikelySource source) {
  double count = 1;
  MaybeShape shape = getShape(input);
  if (shape)
    for (int64_t dim : *shape)
      count *= dim > 0 ? dim : 1;
  double reach = deviation * std::sqrt(2 * std::log(std::max(count, 2.0)));
  // At least what a few evaluations reach: sqrt(3) holds a uniform one.
  reach = std::max(reach, deviation * std::sqrt(3.0));
  Cell cell{lo, hi, mean, deviation * deviation, mean - reach, mean + reach};
  AbstractValue value(AbstractValue::Dims(shape ? shape->size() : 0, 1), cell);
  value.source = source;
  return value;
}

AbstractValue mpopt::inputRange(BlockArgument input, DictionaryAttr assume) {
  Type element = getElementType(input);
  auto integer = dyn_cast<IntegerType>(element);
  if (assume) {
    auto number = [&](StringRef key, double otherwise) {
      auto value = assume.getAs<FloatAttr>(key);
      return value ? value.getValueAsDouble() : otherwise;
    };
    auto source = assume.getAs<StringAttr>("source");
    AbstractValue value = makeInput(input, number("lo", -10), number("hi", 10),
                                    number("mean", 0), number("std", 1),
                                    source && source.getValue() == "default"
                                        ? LikelySource::Assumption
                                        : LikelySource::Declared);
    const Cell &cell = value.cell(0);
    value.negInf = !integer && cell.lo == -INFINITY;
    value.posInf = !integer && cell.hi == INFINITY;
    return value;
  }
  auto uniform = [&](double lo, double hi) {
    return makeInput(input, lo, hi, lo / 2 + hi / 2,
                     (hi / 2 - lo / 2) / std::sqrt(3.0),
                     LikelySource::Assumption);
  };
  if (isa<FloatType>(element))
    return makeInput(input, -10, 10, 0, 1, LikelySource::Assumption);
  if (!integer)
    return AbstractValue::top(TransferContext::rankOf(input));
  if (std::optional<int64_t> rows = getIndexed(input))
    return uniform(0, double(*rows - 1));
  AbstractValue all = TransferContext::anything(input);
  // A byte is a pixel; of a wide integer nobody knows what it may count.
  if (integer.getWidth() <= 8)
    return uniform(all.cell(0).lo, all.cell(0).hi);
  return all;
}
