//===- OperandScales.cpp - Static scales of operands
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Effects/OperandScales.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Effects/ProductEffects.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Propagate/OperandErrors.h"
#include "mpopt/Ranges/Weights/ScaledWeights.h"
#include "mpopt/Report/Keys.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseSet.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Larger inputs
//===----------------------------------------------------------------------===//

namespace {
/// The ranges of the same model with inputs that are larger than declared, but
/// within their bounds.
class LargerInputs {
public:
  explicit LargerInputs(ModuleOp module);

  const AbstractValue &of(Value value) const {
    return ranges->preRounding(mapping.lookup(value));
  }

private:
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy;
  std::optional<RangeAnalysis> ranges;
};
} // namespace

LargerInputs::LargerInputs(ModuleOp module)
    : copy(cast<ModuleOp>(module->clone(mapping))) {
  // A shift that users meet: twice the contrast, brightness or volume, twice.
  constexpr double kLarger = 4;
  Builder builder(module.getContext());
  for (auto function : copy->getOps<FunctionOpInterface>())
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      auto assumed =
          function.getArgAttrOfType<DictionaryAttr>(index, "mp.assume");
      if (!assumed)
        continue;
      NamedAttrList list(assumed);
      for (StringRef key : {StringRef("mean"), StringRef(keys::kStd)})
        if (auto number = assumed.getAs<FloatAttr>(key))
          list.set(key, builder.getF64FloatAttr(kLarger *
                                                number.getValueAsDouble()));
      function.setArgAttr(index, "mp.assume",
                          list.getDictionary(module.getContext()));
    }
  ranges.emplace(*copy);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// The mean squares that a value's elements meet in a product, along its axes;
/// nothing if all meet numbers of one size. A channel of small numbers may meet
/// large weights.
static std::optional<AbstractValue> findMet(const ScaledOperand &operand,
                                            const AbstractValue &value,
                                            const RangeAnalysis &ranges) {
  mp::CastOp cast = operand.other();
  std::optional<ScaledOperand> other =
      cast ? getScaledOperand(cast.getResult()) : std::nullopt;
  std::optional<size_t> axis = operand.layout.firstContracted();
  if (!other || !axis || value.rank() != operand.layout.axes.size())
    return std::nullopt;
  std::vector<NumberAndError> along = errorOf(*other, ranges).along;
  if (along.size() != size_t(value.dims()[*axis]))
    return std::nullopt;
  AbstractValue::Dims dims(value.rank(), 1);
  dims[*axis] = int64_t(along.size());
  std::vector<Cell> cells;
  for (const NumberAndError &number : along)
    cells.push_back({0, 0, 0, number.square, 0, 0});
  return AbstractValue(dims, cells);
}

/// The error's square of what products read of the elements, of their own
/// square.
static double errorWith(const StorageFormat &format, const AbstractValue &value,
                        const std::optional<AbstractValue> &met) {
  double error = 0, square = 0;
  std::optional<AbstractValue> factors;
  if (met && met->rank() == value.rank())
    factors = met->regrouped(value.dims());
  for (size_t group = 0; group < value.groups(); ++group) {
    Cell cell = value.cell(group);
    double factor = factors ? factors->cell(group).variance : 1;
    double its = scalingSquareOf(cell.mean, cell.variance, format);
    // Tails that moments do not tell of: the largest is clipped.
    double most = std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)),
           past = most - format.ends().maxAbs();
    // The share of numbers in a tail that falls by e each deviation: chosen,
    // about the share of a layer's rows that hold an outlier.
    constexpr double kRare = 1.0 / 256;
    if (past > 0)
      its = std::max(its, past * past * kRare);
    error += factor * its;
    square += factor * meanSquare(cell);
  }
  return square > 0 ? error / square : 0;
}

namespace {
struct Choice {
  double scale = 1;
  bool isProved = false;
};
} // namespace

/// The next FP32 number that is no smaller.
static double toFloat(double scale) {
  float rounded = float(scale);
  return double(rounded) < scale ? std::nextafter(rounded, float(kInfinity))
                                 : rounded;
}

/// Scales are tried in steps of half a binade up to this many times the
/// expected largest magnitude: E4M3 spans 2^15.
static constexpr int kMostSteps = 16;
/// A bound is taken where it adds at most so much to the least error: chosen,
/// a tenth is within what the seeds of a calibration differ by.
static constexpr double kWorthProof = 1.1;

static Choice choose(const OperandScaling &scaling, const AbstractValue &value,
                     const AbstractValue &larger,
                     const std::optional<AbstractValue> &met, double bound) {
  StorageFormat codes = scaling.codes();
  double last = codes.codes.hi, most = value.magnitudes().likely.value_or(0);
  codes.saturates = true;
  Choice choice;
  auto costOf = [&](double scale) {
    StorageFormat format = codes.scaled(scale);
    return errorWith(format, value, met) + errorWith(format, larger, met);
  };
  double least = kInfinity;
  if (most > 0)
    for (int step = 0; step <= kMostSteps; ++step) {
      double scale = most / last * std::exp2(step / 2.0);
      if (double cost = costOf(scale); cost < least * (1 - 1e-3)) {
        least = cost;
        choice.scale = scale;
      }
    }
  if (!std::isfinite(bound) || !(bound > 0))
    return choice;
  double proved = bound / last;
  if (most == 0 || proved <= choice.scale ||
      costOf(proved) <= kWorthProof * least)
    return {proved, true};
  return choice;
}

static TensorScale describeChoice(Choice choice, const OperandScaling &scaling,
                                  const AbstractValue &value,
                                  const std::optional<AbstractValue> &met,
                                  const ScaleRequest &request) {
  TensorScale result;
  double scale = std::ldexp(choice.scale, request.headroom);
  scale = request.powersOfTwo ? std::exp2(std::ceil(std::log2(scale)))
                              : toFloat(scale);
  StorageFormat format = scaling.codes().scaled(scale);
  format.saturates = true;
  result.scales = {scale};
  result.isProved = choice.isProved;
  double most = value.magnitudes().likely.value_or(0);
  result.headroom = most > 0 ? std::log2(format.ends().maxAbs() / most) : 0;
  double error = errorWith(format, value, met);
  result.decibels = error > 0 ? -10 * std::log10(error) : 0;
  return result;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The scales of its columns, where one for all would be worse.
static std::optional<TensorScale> scaleColumns(const ScaledOperand &operand,
                                               TransferContext &ctx) {
  // A tenth more error in decibels is 0.4; scales of columns are more to carry.
  constexpr double kWorse = 1.1;
  OperandScaling byColumn = operand.scaling;
  byColumn.grain = OperandScaling::Grain::Row;
  ScaledOperand other = operand;
  other.scaling = byColumn;
  // Products that read one constant may have other columns of it.
  if (!peel(operand.input, Peel::CastsAndViews).hasOneUse())
    return std::nullopt;
  auto whole = ScaledWeights::of(operand, ctx);
  auto columns = ScaledWeights::of(other, ctx);
  if (!whole || !columns)
    return std::nullopt;
  auto errorOf = [](const ScaledWeights &weights) {
    double error = 0;
    for (auto [index, value] : llvm::enumerate(weights.values()))
      error += std::pow(weights.formatOf(index).round(value) - value, 2);
    return error;
  };
  // Where a column is small, what meets it may be large: each counts alike.
  auto flushes = [](const ScaledWeights &weights) {
    double count = 0;
    for (auto [index, value] : llvm::enumerate(weights.values()))
      count += value != 0 && weights.formatOf(index).round(value) == 0;
    return count;
  };
  if (errorOf(*whole) <= kWorse * errorOf(*columns) &&
      flushes(*whole) <= flushes(*columns))
    return std::nullopt;
  TensorScale result;
  result.tensor = getTensorName(peel(operand.input, Peel::CastsAndViews));
  result.isConstant = result.isProved = true;
  for (double scale : columns->scales())
    result.scales.push_back(toFloat(scale));
  return result;
}

/// The tensor whose elements, all of them, an operand has in another order: a
/// cache stores keys before they are transposed.
static Value findOrdered(Value operand) {
  auto elements = getNumElements(getShape(operand));
  while (Operation *op = operand.getDefiningOp()) {
    if (getOpKind(op) != OpKind::Copy ||
        getNumElements(getShape(op->getOperand(0))) != elements)
      break;
    operand = op->getOperand(0);
  }
  return operand;
}

std::vector<TensorScale> mpopt::chooseScales(ModuleOp module,
                                             const RangeAnalysis &ranges,
                                             const ScaleRequest &request) {
  LargerInputs larger(module);
  std::vector<TensorScale> scales;
  llvm::DenseSet<Value> seen;
  std::vector<std::pair<Value, TensorScale>> sources;
  for (Operation *op : findScaledProducts(module))
    for (unsigned index : {0u, 1u}) {
      ScaledOperand operand = *getScaledOperand(op->getOperand(index));
      Value input = operand.input;
      std::string name = getTensorName(input);
      if (name.empty() || !seen.insert(input).second)
        continue;
      if (operand.isWeight) {
        if (auto its = scaleColumns(operand, ranges.context()))
          scales.push_back(std::move(*its));
        continue;
      }
      const AbstractValue &value = ranges.preRounding(input);
      double bound = ranges.of(input).mayBeNonFinite()
                         ? kInfinity
                         : ranges.magnitudes(input).bound;
      if (!value.hasLikely() && !std::isfinite(bound))
        continue;
      std::optional<AbstractValue> met = findMet(operand, value, ranges);
      Choice choice =
          choose(operand.scaling, value, larger.of(input), met, bound);
      scales.push_back(
          describeChoice(choice, operand.scaling, value, met, request));
      scales.back().tensor = name;
      if (Value made = findOrdered(input); made != input)
        sources.push_back({made, scales.back()});
    }
  // Products that read them as they are come first.
  for (auto &[made, scale] : sources)
    if (scale.tensor = getTensorName(made);
        !scale.tensor.empty() && seen.insert(made).second)
      scales.push_back(std::move(scale));
  return scales;
}
