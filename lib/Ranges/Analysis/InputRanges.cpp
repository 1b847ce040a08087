//===- InputRanges.cpp - What is taken for granted about inputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Analysis/InputRanges.h"

#include "mpopt/Dialect/CountUse.h"
#include "mpopt/Dialect/IndexSpace.h"
#include "mpopt/Dialect/MaskUse.h"
#include "mpopt/Dialect/Names.h"

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace mpopt;

DictionaryAttr mpopt::getAssumption(Value input) {
  auto argument = dyn_cast_if_present<BlockArgument>(input);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  return function ? function.getArgAttrOfType<DictionaryAttr>(
                        argument.getArgNumber(), "mp.assume")
                  : DictionaryAttr();
}

IntegerInput mpopt::describeInteger(BlockArgument input) {
  if (std::optional<IndexSpace> space = findIndexSpace(input))
    return {space->allowed, Interval{0, double(space->size - 1)},
            std::move(space->what)};
  if (std::optional<MaskInput> use = findMaskUse(input))
    return {{0, 1},
            Interval::point(use->kept),
            std::move(use->why),
            /*isMask=*/true};
  auto type = cast<IntegerType>(getElementType(input));
  AbstractValue all = TransferContext::anything(input);
  Interval range = {all.cell(0).lo, all.cell(0).hi};
  std::string why = "all of " + getDtypeName(type);
  // A byte is a pixel; a wide integer may count anything.
  if (type.getWidth() <= 8)
    return {range, range, why};
  if (std::optional<CountUse> use = findCountUse(input))
    return {range, use->usual, std::move(use->what)};
  return {range, std::nullopt, why};
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
  // The extremes include those of a few evaluations: sqrt(3) deviations contain
  // a uniform value.
  reach = std::max(reach, deviation * std::sqrt(3.0));
  Cell cell{lo, hi, mean, deviation * deviation, mean - reach, mean + reach};
  AbstractValue value(AbstractValue::Dims(shape ? shape->size() : 0, 1), cell);
  value.source = source;
  return value;
}

/// 0 and 1. Inputs are masked seldom or not at all, so that the moments are
/// those of the element that masks nothing, and so are the extremes where
/// nothing is declared.
static AbstractValue makeMask(BlockArgument input, double kept,
                              LikelySource source) {
  AbstractValue value(AbstractValue::Dims(TransferContext::rankOf(input), 1),
                      source == LikelySource::Declared
                          ? Cell{0, 1, kept, 0, 0, 1}
                          : Cell{0, 1, kept, 0, kept, kept});
  value.source = source;
  value.claimIntegral();
  return value;
}

/// The value in the groups of `dims`, which count from the last axis; axes of
/// open size keep none.
static AbstractValue inGroups(ArrayRef<int64_t> dims,
                              const std::vector<Cell> &cells,
                              const Shape &shape) {
  AbstractValue value(AbstractValue::Dims(dims.begin(), dims.end()), cells);
  value = value.withRank(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] < 0)
      value = value.merging(axis);
  return value;
}

/// Bounds and moments of channels: `lo`, `hi`, mean and deviation.
static std::optional<AbstractValue>
channelRanges(BlockArgument input, std::array<DenseFPElementsAttr, 4> facts,
              LikelySource source) {
  MaybeShape shape = getShape(input);
  auto number = [&](size_t fact, int64_t at) {
    return facts[fact].getValues<double>()[at];
  };
  int64_t groups = facts[0].getNumElements();
  double count = double(getNumElements(shape).value_or(groups)) /
                 double(std::max<int64_t>(groups, 1));
  // As for the whole input.
  double reach = std::sqrt(std::max(2 * std::log(std::max(count, 2.0)), 3.0));
  std::vector<Cell> cells;
  for (int64_t at = 0; at < groups; ++at) {
    double lo = number(0, at), hi = number(1, at), mean = number(2, at),
           deviation = number(3, at);
    cells.push_back(Cell{lo, hi, mean, deviation * deviation,
                         std::max(lo, mean - reach * deviation),
                         std::min(hi, mean + reach * deviation)});
  }
  AbstractValue value = inGroups(facts[0].getType().getShape(), cells, *shape);
  value.source = source;
  return value;
}

/// An interval per element. An element whose distribution is not declared is
/// uniform on its own interval.
static std::optional<AbstractValue>
elementRanges(BlockArgument input, DictionaryAttr assume, LikelySource source) {
  auto lo = assume.getAs<DenseFPElementsAttr>("lo_elements");
  auto hi = assume.getAs<DenseFPElementsAttr>("hi_elements");
  MaybeShape shape = getShape(input);
  if (!lo || !hi || lo.getType() != hi.getType() || !shape ||
      !lo.getElementType().isF64() ||
      size_t(lo.getType().getRank()) > shape->size())
    return std::nullopt;
  auto declaredMean = assume.getAs<FloatAttr>("mean");
  auto declaredStd = assume.getAs<FloatAttr>("std");
  auto means = assume.getAs<DenseFPElementsAttr>(kMeanElementsKey);
  auto deviations = assume.getAs<DenseFPElementsAttr>(kStdElementsKey);
  if (means && deviations && means.getType() == lo.getType() &&
      deviations.getType() == lo.getType())
    return channelRanges(input, {lo, hi, means, deviations}, source);
  std::vector<Cell> cells;
  bool negInf = false, posInf = false;
  for (auto [low, high] :
       llvm::zip(lo.getValues<double>(), hi.getValues<double>())) {
    bool bounded = std::isfinite(low) && std::isfinite(high);
    double mean = bounded ? low / 2 + high / 2 : 0;
    double reach = bounded ? high / 2 - low / 2 : 1;
    double variance = reach * reach / 3;
    if (declaredMean && declaredStd) {
      mean = declaredMean.getValueAsDouble();
      variance = std::pow(declaredStd.getValueAsDouble(), 2);
      reach = std::sqrt(3 * variance);
    }
    cells.push_back(
        Cell{low, high, mean, variance, mean - reach, mean + reach});
    negInf |= low == -INFINITY;
    posInf |= high == INFINITY;
  }
  AbstractValue value = inGroups(lo.getType().getShape(), cells, *shape);
  value.source = source;
  bool isFloat = isa<FloatType>(getElementType(input));
  value.negInf = isFloat && negInf;
  value.posInf = isFloat && posInf;
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
    auto given = assume.getAs<StringAttr>("source");
    LikelySource source = given && given.getValue() == "default"
                              ? LikelySource::Assumption
                              : LikelySource::Declared;
    if (assume.contains(kMaskKey))
      return makeMask(input, number("mean", 1), source);
    if (auto elements = elementRanges(input, assume, source))
      return *elements;
    AbstractValue value =
        makeInput(input, number("lo", -10), number("hi", 10), number("mean", 0),
                  number("std", 1), source);
    const Cell &cell = value.cell(0);
    value.negInf = !integer && cell.lo == -INFINITY;
    value.posInf = !integer && cell.hi == INFINITY;
    if (assume.contains(kIntegralKey))
      value.claimIntegral();
    return value;
  }
  if (isa<FloatType>(element)) {
    std::optional<MaskInput> mask = findMaskUse(input);
    return mask ? makeMask(input, mask->kept, LikelySource::Assumption)
                : makeInput(input, -10, 10, 0, 1, LikelySource::Assumption);
  }
  if (!integer)
    return AbstractValue::top(TransferContext::rankOf(input));
  IntegerInput described = describeInteger(input);
  if (described.isMask)
    return makeMask(input, described.expected->lo, LikelySource::Assumption);
  auto [lo, hi] = described.bound;
  if (!described.expected)
    return TransferContext::anything(input);
  // Uniform numbers have no tail past their ends.
  auto [least, most] = *described.expected;
  double deviation = (most / 2 - least / 2) / std::sqrt(3.0);
  AbstractValue value(
      AbstractValue::Dims(TransferContext::rankOf(input), 1),
      Cell{lo, hi, least / 2 + most / 2, deviation * deviation, least, most});
  value.source = LikelySource::Assumption;
  value.claimIntegral();
  return value;
}

std::optional<ShapeFacts>
mpopt::findAssumedElements(FunctionOpInterface function) {
  ShapeFacts facts;
  bool any = false;
  for (BlockArgument input : function.getArguments()) {
    DictionaryAttr assume = getAssumption(input);
    auto end = [&](StringRef key) {
      auto number = assume ? assume.getAs<FloatAttr>(key) : FloatAttr();
      return number ? number.getValueAsDouble() : NAN;
    };
    double number = end("lo");
    std::optional<int64_t> count = getNumElements(getShape(input));
    if (!isa<IntegerType>(getElementType(input)) || !count || *count < 1 ||
        *count > ShapeFacts::kMaxElements || number != end("hi") ||
        number != std::trunc(number) || !(std::fabs(number) < 0x1p53))
      continue;
    facts.set(input,
              SmallVector<std::optional<int64_t>, 4>(*count, int64_t(number)));
    any = true;
  }
  return any ? std::optional(std::move(facts)) : std::nullopt;
}
