//===- LayerProducts.cpp - The three products of a layer
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Effects/LayerProducts.h"

#include "DeadGroups.h"
#include "SampledLayers.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/ModuleNames.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Effects/ProductEffects.h"
#include "mpopt/Gradients/BackwardSpreadContext.h"
#include "mpopt/Gradients/GradientAnalysis.h"
#include "mpopt/Hazards/FlushedShare.h"
#include "mpopt/Hazards/Zeros.h"
#include "mpopt/Propagate/AddedTerms.h"
#include "mpopt/Propagate/ErrorMoments.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Support/TargetFile.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

bool Layer::fits(int64_t multiple) const {
  return llvm::all_of(ArrayRef{m, k, n}, [&](int64_t size) {
    return size < 0 || size % multiple == 0;
  });
}

ScaledLayers::ScaledLayers(ModuleOp module, AnalysisManager analyses)
    : module(module), ranges(analyses.getAnalysis<RangeAnalysis>()),
      step(analyses.getAnalysis<TrainingEstimate>()),
      gradients(step.gradients()),
      shares(analyses.getAnalysis<FlushedShares>()),
      isFnuz(findFloats(ranges.target().name(), "f8E4M3FN") == "f8E4M3FNUZ") {
  findLayers();
}

ScaledLayers::~ScaledLayers() = default;

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// The product of the sizes of axes with that part; -1 if one is not known.
static int64_t sizeOf(Value value, const OperandLayout &layout,
                      llvm::function_ref<bool(AxisPart)> counts) {
  MaybeShape shape = getShape(value);
  if (!shape)
    return -1;
  int64_t size = 1;
  for (auto [dim, part] : llvm::zip(*shape, layout.axes)) {
    if (!counts(part))
      continue;
    if (dim < 0)
      return -1;
    size *= dim;
  }
  return size;
}

static int64_t positionsOf(Value value) {
  OperandLayout layout;
  layout.axes.assign(getShape(value)->size(), AxisPart::Row);
  layout.axes[1] = AxisPart::Contracted;
  return sizeOf(value, layout,
                [](AxisPart part) { return part == AxisPart::Row; });
}

/// Rows of an image are positions, and a filter's taps belong to its channels.
static bool setSizesOfImage(Layer &layer) {
  if (auto conv = dyn_cast<mp::ConvOp>(layer.op)) {
    layer.m = positionsOf(conv.getResult());
    layer.k = countProducts(conv).value_or(-1);
    layer.n = (*getShape(conv.getFilter()))[0] / int64_t(conv.getGroup());
    return true;
  }
  auto conv = dyn_cast<mp::ConvTransposeOp>(layer.op);
  if (!conv)
    return false;
  layer.m = positionsOf(conv.getInput());
  OperandLayout filter;
  filter.axes.assign(getShape(conv.getFilter())->size(), AxisPart::Row);
  filter.axes[0] = AxisPart::Contracted;
  layer.n = sizeOf(conv.getFilter(), filter,
                   [](AxisPart part) { return part == AxisPart::Row; });
  layer.k = (*getShape(conv.getFilter()))[0] / int64_t(conv.getGroup());
  return true;
}

static void setSizes(Layer &layer) {
  if (setSizesOfImage(layer))
    return;
  const LayerProduct &product = layer.products.front();
  const OperandLayout &input = product.layouts[0], &weight = product.layouts[1];
  bool isBatched = llvm::is_contained(weight.axes, AxisPart::Batch);
  auto isRow = [&](AxisPart part) {
    return part == AxisPart::Row || (part == AxisPart::Batch && !isBatched);
  };
  layer.m = sizeOf(product.operands[0], input, isRow);
  layer.k = sizeOf(product.operands[0], input,
                   [](AxisPart part) { return part == AxisPart::Contracted; });
  layer.n = sizeOf(product.operands[1], weight,
                   [](AxisPart part) { return part == AxisPart::Row; });
}

static Value findParameter(Value value) {
  Value source = peel(value, Peel::CastsAndViews);
  MaybeShape shape = getShape(source);
  return isConstant(source) && shape && shape->size() > 1 ? source : Value();
}

static void setOperand(LayerProduct &product, unsigned side, Value value,
                       const OperandLayout &layout) {
  product.operands[side] = value;
  product.layouts[side] = layout;
}

/// The layer that an op is; nothing if it multiplies by no parameter.
static std::optional<Layer> getLayer(Operation *op) {
  std::optional<ProductOperands> product = getProductOperands(op);
  if (!product)
    return std::nullopt;
  for (unsigned weight : {1u, 0u})
    if (Value parameter = findParameter(op->getOperand(weight))) {
      Layer layer{op, parameter, getModuleName(op, parameter)};
      LayerProduct &own = layer.products.emplace_back(
          LayerProduct{LayerPass::Forward, op->getOpResult(0), product->alpha});
      setOperand(own, 0, op->getOperand(1 - weight),
                 product->layouts[1 - weight]);
      setOperand(own, 1, op->getOperand(weight), product->layouts[weight]);
      own.terms = double(countProducts(op).value_or(0)) * shareOfTaps(op);
      setSizes(layer);
      return layer;
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Products of gradients
//===----------------------------------------------------------------------===//

/// [N, C, D1...]
static OperandLayout imageOf(Value value, AxisPart channels, AxisPart others) {
  OperandLayout layout;
  layout.axes.assign(getShape(value)->size(), others);
  layout.axes[1] = channels;
  return layout;
}

/// The op computes both: over the columns of the filter dx = dy w, and over
/// positions dw = dy^T x.
static void addImageGradients(mp::ConvGradOp op, Layer &layer,
                              bool isTransposed) {
  Value x = op.getInput(), dy = op.getGrad(), filter = op.getFilter();
  if (!getShape(x) || !getShape(dy) || !getShape(filter))
    return;
  // A tap beside the image is no product of either.
  double inside = shareOfTaps(layer.op);
  if (!isTransposed) {
    LayerProduct product{LayerPass::InputGradient,
                         cast<OpResult>(op.getInputGrad())};
    product.isComputed = !op.getInputGrad().use_empty();
    OperandLayout weight;
    weight.axes.assign(getShape(filter)->size(), AxisPart::Row);
    weight.axes[0] = AxisPart::Contracted;
    setOperand(product, 0, dy,
               imageOf(dy, AxisPart::Contracted, AxisPart::Row));
    setOperand(product, 1, filter, weight);
    double taps = countElements(filter) / double((*getShape(filter))[0]) /
                  double(std::max<int64_t>((*getShape(filter))[1], 1));
    product.terms = double(layer.n) * taps * inside * double(positionsOf(dy)) /
                    double(std::max<int64_t>(positionsOf(x), 1));
    layer.products.push_back(product);
  }
  LayerProduct product{LayerPass::WeightGradient,
                       cast<OpResult>(op.getFilterGrad())};
  if (isTransposed)
    std::swap(x, dy);
  setOperand(product, 0, x, imageOf(x, AxisPart::Row, AxisPart::Contracted));
  setOperand(product, 1, dy, imageOf(dy, AxisPart::Row, AxisPart::Contracted));
  product.terms = double(positionsOf(op.getGrad())) * inside;
  layer.products.push_back(product);
}

void ScaledLayers::addGradient(Operation *op, Layer &layer) {
  if (auto conv = dyn_cast<mp::ConvGradOp>(op))
    return addImageGradients(conv, layer, isa<mp::ConvTransposeOp>(layer.op));
  std::optional<ProductOperands> product = getProductOperands(op);
  if (!product)
    return;
  unsigned dy = gradients.isGradient(op->getOperand(1));
  Value other = op->getOperand(1 - dy);
  if (!gradients.isGradient(op->getOperand(dy)) || gradients.isGradient(other))
    return;
  bool isWeight = peel(other, Peel::CastsAndViews) == layer.parameter;
  LayerProduct made{isWeight ? LayerPass::InputGradient
                             : LayerPass::WeightGradient,
                    op->getOpResult(0), product->alpha};
  setOperand(made, !isWeight, op->getOperand(dy), product->layouts[dy]);
  setOperand(made, isWeight, other, product->layouts[1 - dy]);
  made.terms = double(countProducts(op).value_or(0)) * shareOfTaps(op);
  layer.products.push_back(made);
}

/// The product that a layer would have if something in front of it learnt: what
/// of the weight's gradient are positions are rows here.
static void addLastGradient(Layer &layer) {
  auto ofPass = [&](LayerPass pass) {
    return llvm::find_if(layer.products, [&](const LayerProduct &product) {
      return product.pass == pass;
    });
  };
  auto weights = ofPass(LayerPass::WeightGradient);
  if (weights == layer.products.end() || layer.n <= 0 ||
      ofPass(LayerPass::InputGradient) != layer.products.end() ||
      !getProductOperands(weights->result.getOwner()))
    return;
  auto swapped = [](OperandLayout layout) {
    for (AxisPart &part : layout.axes)
      part = part == AxisPart::Row          ? AxisPart::Contracted
             : part == AxisPart::Contracted ? AxisPart::Row
                                            : part;
    return layout;
  };
  const LayerProduct &own = layer.products.front();
  LayerProduct product{LayerPass::InputGradient, weights->result, own.alpha};
  setOperand(product, 0, weights->operands[1], swapped(weights->layouts[1]));
  setOperand(product, 1, own.operands[1], swapped(own.layouts[1]));
  product.terms = double(layer.n);
  product.isComputed = false;
  layer.products.push_back(product);
}

/// Ops of the backward graph have the locations of those that they are of.
void ScaledLayers::findLayers() {
  llvm::DenseMap<Location, size_t> known;
  std::vector<Layer> found;
  module.walk([&](Operation *op) {
    if (auto counted = op->getAttrOfType<FloatAttr>(kShareCountedAttr))
      padding = std::clamp(1 - counted.getValueAsDouble(), 0.0, 1.0);
    Location place = withValues(op->getLoc(), {});
    if (!op->hasAttr(kBackwardAttr)) {
      if (std::optional<Layer> layer = getLayer(op)) {
        known[place] = found.size();
        found.push_back(std::move(*layer));
      }
    } else if (auto layer = known.find(place); layer != known.end()) {
      addGradient(op, found[layer->second]);
    }
  });
  llvm::copy_if(found, std::back_inserter(layers), [](const Layer &layer) {
    return llvm::any_of(layer.products, [](const LayerProduct &product) {
      return product.pass == LayerPass::WeightGradient;
    });
  });
  llvm::for_each(layers, addLastGradient);
}

std::vector<std::string> ScaledLayers::modules() const {
  std::vector<std::string> names;
  for (const Layer &layer : layers)
    names.push_back(layer.module);
  return names;
}

void ScaledLayers::keep(const std::vector<bool> &kept) {
  for (auto [layer, its] : llvm::zip_equal(layers, kept))
    layer.kept = its;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

ScaledOperand ScaledLayers::operandOf(const Layer &layer,
                                      const LayerProduct &product,
                                      unsigned side,
                                      const Fp8Recipe &recipe) const {
  LayerRole role = rolesOf(product.pass)[side];
  OperandScaling scaling =
      layer.kept ? kUnscaledBF16 : recipe.of(product.pass, role);
  if (isFnuz && scaling.format == "f8E4M3FN")
    scaling.format = "f8E4M3FNUZ";
  else if (isFnuz && scaling.format == "f8E5M2")
    scaling.format = "f8E5M2FNUZ";
  return {product.operands[side], product.result.getOwner(), side,
          product.layouts[side],  role == LayerRole::Weight, scaling,
          recipe.history > 0};
}

/// Whatever an operand's error depends on: layers share inputs, and recipes the
/// scales of an operand.
static std::vector<uint64_t> keyOf(const ScaledOperand &operand) {
  const OperandScaling &scaling = operand.scaling;
  std::vector<uint64_t> key = {
      uint64_t(uintptr_t(operand.input.getAsOpaquePointer())),
      operand.isWeight,
      uint64_t(llvm::hash_value(scaling.format)),
      uint64_t(scaling.grain),
      uint64_t(scaling.size),
      uint64_t(scaling.rounding),
      llvm::bit_cast<uint64_t>(scaling.least),
      uint64_t(operand.layout.taps)};
  for (AxisPart part : operand.layout.axes)
    key.push_back(uint64_t(part));
  return key;
}

const OperandError &ScaledLayers::errorOf(const ScaledOperand &operand) {
  auto [entry, isNew] = known.try_emplace(keyOf(operand));
  if (isNew)
    entry->second = computeError(operand);
  return entry->second;
}

/// Elements that share a scale are of several positions or samples.
static bool isAlongPositions(const ScaledOperand &operand,
                             const GradientAnalysis &gradients) {
  const Spread &spread = gradients.spread(operand.input);
  std::optional<size_t> axis = operand.layout.firstContracted();
  return axis && (int(*axis) == spread.axes.batch ||
                  spread.axes.isPosition(int64_t(*axis)));
}

OperandError ScaledLayers::computeError(const ScaledOperand &operand) const {
  if (!gradients.isGradient(operand.input))
    return mpopt::errorOf(operand, ranges);
  GradientEstimate known = gradients.estimate(operand.input);
  ExpectedNumbers numbers{gradients.of(operand.input), known.zero,
                          known.absMax};
  const Hits *hits = gradients.hits(operand.input);
  // Bounded are the hits of a cross entropy, not those of a table's rows.
  if (hits && gradients.spread(operand.input).bounded &&
      hits->share.groups() == numbers.value.groups())
    numbers.targets.emplace(TargetElements{
        hits->share, hits->rest, !isAlongPositions(operand, gradients)});
  return mpopt::errorOf(operand, numbers, ranges.context());
}

static double squareOf(const AbstractValue &value) {
  double square = 0;
  for (const Cell &cell : value.cells())
    square += meanSquare(cell) / double(value.groups());
  return value.hasLikely() ? square : NAN;
}

ScaledLayers::Estimate ScaledLayers::estimate(const Layer &layer,
                                              const LayerProduct &product,
                                              const Fp8Recipe &recipe) {
  Estimate result;
  double factor = product.alpha * product.alpha;
  for (unsigned side : {0u, 1u})
    result.operands[side] = &errorOf(operandOf(layer, product, side, recipe));
  if (llvm::any_of(result.operands, [](const OperandError *operand) {
        return !operand->error.hasLikely();
      }))
    return {NAN, NAN, result.operands};
  if (product.pass == LayerPass::Forward) {
    Operation *op = product.result.getOwner();
    result.signal = factor * signalOf(op, *getProductOperands(op), ranges);
  } else if (product.isComputed) {
    result.signal = squareOf(gradients.of(product.result));
  } else {
    OperandError lhs = *result.operands[0], rhs = *result.operands[1];
    for (NumberAndError &number : lhs.along)
      number.error = number.square;
    for (NumberAndError &number : rhs.along)
      number.error = 0;
    // Of independent terms: nothing is known of how they agree.
    result.signal = factor * mpopt::noiseOf(product.terms, lhs, rhs);
  }
  result.noise = factor * mpopt::noiseOf(product.terms, *result.operands[0],
                                         *result.operands[1]);
  return result;
}

AddedErrors ScaledLayers::errorsOf(const Fp8Recipe &recipe) {
  AddedErrors added;
  for (auto [index, layer] : llvm::enumerate(layers))
    for (const LayerProduct &product : layer.products)
      if (product.isComputed)
        added[product.result] = {estimate(layer, product, recipe).noise,
                                 unsigned(index)};
  return added;
}

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

/// The share of groups with one scale all of whose elements are 0. Positions
/// without a gradient, those of padding, lie next to each other.
double ScaledLayers::zeroGroups(const ScaledOperand &operand) {
  using Grain = OperandScaling::Grain;
  const Spread &spread = gradients.spread(operand.input);
  bool isGradient = gradients.isGradient(operand.input);
  double square = squareOf(isGradient ? gradients.of(operand.input)
                                      : ranges.preRounding(operand.input));
  if (square == 0)
    return 1;
  if (operand.scaling.grain == Grain::Tensor)
    return 0;
  bool alongPositions = isAlongPositions(operand, gradients);
  double dead = shareOfDeadGroups(operand, alongPositions, gradients, ranges);
  bool isWhole = alongPositions && operand.scaling.grain == Grain::Row;
  // The weight's gradient reads positions as columns.
  auto transpose = operand.input.getDefiningOp<mp::TransposeOp>();
  Value rows = transpose ? transpose.getInput() : operand.input;
  // The gradients' own share tells of single rows.
  int64_t run = isWhole          ? ZeroRowShare::kWhole
                : alongPositions ? operand.scaling.size
                                 : 1;
  auto seed = [this](Value value) {
    return gradients.isGradient(value) ? gradients.spread(value).zeroRows : 0;
  };
  auto known =
      zeroRows
          .try_emplace(run, ranges, run, padding,
                       run == 1 ? std::function<double(Value)>(seed) : nullptr)
          .first;
  SmallVector<int64_t> summed;
  for (auto [axis, part] : llvm::enumerate(operand.layout.axes))
    if (part == AxisPart::Contracted)
      summed.push_back(int64_t(axis));
  double length = TermCount::along(*getShape(operand.input), summed,
                                   spread.axes, gradients.samples())
                      .positions;
  return std::max({dead,
                   shareOfPaddedRuns(spread.zeroRows, double(run), length),
                   known->second.of(rows)});
}

LayerReport::Operand ScaledLayers::describeOperand(const ScaledOperand &operand,
                                                   const OperandError &error) {
  LayerReport::Operand report;
  report.clipped = error.clipped;
  bool isWide = operand.scaling.format == "bf16";
  if (operand.isWeight && error.flushAt.empty()) {
    report.flushed = error.flushed;
    report.zero = error.zeroGroups;
  } else if (!isWide) {
    if (!gradients.isGradient(operand.input)) {
      report.flushed = shares.below(operand.input, error.flushAt);
    } else if (!error.flushAt.empty()) {
      auto below = gradients.sharesBelow(operand.input);
      for (double edge : error.flushAt)
        report.flushed += below(edge) / double(error.flushAt.size());
    }
    report.zero = zeroGroups(operand);
  }
  return report;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static llvm::StringLiteral nameOf(LayerPass pass) {
  switch (pass) {
  case LayerPass::Forward:
    return "fprop";
  case LayerPass::InputGradient:
    return "dgrad";
  case LayerPass::WeightGradient:
    break;
  }
  return "wgrad";
}

static llvm::StringLiteral nameOf(LayerRole role) {
  return role == LayerRole::Input    ? llvm::StringLiteral("x")
         : role == LayerRole::Weight ? llvm::StringLiteral("w")
                                     : llvm::StringLiteral("dy");
}

std::vector<double> ScaledLayers::errorsIn(const GradientErrors &errors) const {
  std::vector<double> list;
  for (const ParameterGradient &parameter : step.parameters())
    list.push_back(parameter.estimate.known
                       ? errors.of(parameter.gradient).value_or(0)
                       : 0);
  return list;
}

std::vector<std::vector<double>>
ScaledLayers::errorsByLayer(const GradientErrors &errors) const {
  std::vector<std::vector<double>> list(
      layers.size(), std::vector<double>(step.parameters().size(), 0));
  for (auto [at, parameter] : llvm::enumerate(step.parameters()))
    if (parameter.estimate.known)
      for (auto [layer, error] :
           llvm::enumerate(errors.bySource(parameter.gradient)))
        list[layer][at] = error;
  return list;
}

static double largest(ArrayRef<double> list) {
  return list.empty() ? 0 : *llvm::max_element(list);
}

/// Two thirds of the expected errors of gradients are within this factor of the
/// true ones.
static constexpr double kUncertainGradient = 1.65;

/// Layers without which no parameter's error is larger than the aim, by as much
/// as estimates are off at times. `by`: by layer, then parameter.
static std::optional<std::vector<size_t>>
findKeptLayers(ArrayRef<double> all, ArrayRef<std::vector<double>> by,
               double aim) {
  aim /= kUncertainGradient;
  std::vector<double> sums;
  for (double error : all)
    sums.push_back(error * error);
  return findKept(std::move(sums), by.size(), aim * aim,
                  [&](size_t layer, size_t parameter) {
                    return by[layer][parameter] * by[layer][parameter];
                  });
}

/// True if a step with these errors is as far off as one with those: powers of
/// two move no rounding, so that recipes may differ in nothing for a model.
static bool areAlike(const AddedErrors &these, const AddedErrors &those) {
  // Chosen: a percent of a variance is half a percent of an error.
  constexpr double kTolerance = 0.01;
  return llvm::all_of(these, [&](const auto &entry) {
    double other = those.lookup(entry.first).square, own = entry.second.square;
    return own == other || std::fabs(own - other) <= kTolerance * other;
  });
}

void ScaledLayers::choose(Fp8Report &report, double own, GradientErrors &errors,
                          ArrayRef<double> aims) {
  llvm::SmallVector<std::pair<const Fp8Recipe *, double>> known;
  std::vector<std::pair<AddedErrors, double>> walked;
  if (!std::isnan(own))
    walked.push_back({errorsOf(*Fp8Recipe::byName(report.recipe)), own});
  for (const Fp8Recipe &recipe : Fp8Recipe::all()) {
    if (!recipe.onHopper && !recipe.onBlackwell)
      continue;
    AddedErrors added = errorsOf(recipe);
    auto alike = llvm::find_if(walked, [&](const auto &entry) {
      return areAlike(added, entry.first);
    });
    if (alike == walked.end()) {
      errors.walk(added);
      alike = walked.insert(walked.end(),
                            {std::move(added), largest(errorsIn(errors))});
    }
    known.push_back({&recipe, alike->second});
  }
  recommend(report, known, aims);
}

void ScaledLayers::recommend(
    Fp8Report &report, ArrayRef<std::pair<const Fp8Recipe *, double>> known,
    ArrayRef<double> aims) {
  for (double aim : aims)
    for (auto rank : {&Fp8Recipe::onHopper, &Fp8Recipe::onBlackwell}) {
      Fp8Report::Choice &choice = report.recommended.emplace_back();
      choice.aim = aim;
      choice.device = rank == &Fp8Recipe::onHopper ? "hopper" : "blackwell";
      unsigned best = 0;
      for (auto [recipe, error] : known)
        if (recipe->*rank && error <= aim &&
            (best == 0 || recipe->*rank < best)) {
          best = recipe->*rank;
          choice.recipe = recipe->name.str();
        }
    }
}

LayerReport ScaledLayers::describeLayer(const Layer &layer,
                                        const Fp8Recipe &recipe) {
  LayerReport row;
  row.op = getOpRef(layer.op);
  row.output = getTensorPath(layer.op->getResult(0));
  row.weight = getValueName(layer.parameter).str();
  row.weightMax = ranges.magnitudes(layer.parameter).bound;
  row.m = layer.m;
  row.k = layer.k;
  row.n = layer.n;
  row.module = layer.module;
  row.kept = layer.kept;
  row.fits = layer.kept || layer.fits(recipe.multiple);
  for (const LayerProduct &product : layer.products) {
    LayerReport::Product &its = row.products.emplace_back();
    its.name = nameOf(product.pass);
    its.isComputed = product.isComputed;
    if (!sampled) {
      Estimate known = estimate(layer, product, recipe);
      if (known.signal > 0 && known.noise > 0)
        its.decibels = 10 * std::log10(known.signal / known.noise);
      for (unsigned side : {0u, 1u})
        its.operands[side] = describeOperand(
            operandOf(layer, product, side, recipe), *known.operands[side]);
    }
    for (unsigned side : {0u, 1u})
      its.operands[side].role = nameOf(rolesOf(product.pass)[side]);
  }
  return row;
}

Fp8Report ScaledLayers::describe(const Fp8Recipe &recipe,
                                 GradientErrors &errors,
                                 ArrayRef<double> aims) {
  Fp8Report report;
  report.recipe = recipe.name.str();
  report.isSampled = sampled != nullptr;
  for (const Layer &layer : layers)
    report.layers.push_back(describeLayer(layer, recipe));
  std::vector<std::vector<double>> alone =
      sampled ? sampleAlone(recipe) : errorsByLayer(errors);
  for (auto [row, own] : llvm::zip_equal(report.layers, alone))
    row.effect = largest(own);
  if (sampled) {
    describeSampled(report, recipe);
    for (double aim : aims)
      report.keep.push_back({aim, findSampledKept(recipe, alone, aim)});
    chooseSampled(report, recipe, aims);
    return report;
  }
  std::vector<double> all = errorsIn(errors);
  for (double aim : aims)
    report.keep.push_back({aim, findKeptLayers(all, alone, aim)});
  choose(report, recipe.isAsNamed() ? largest(all) : NAN, errors, aims);
  return report;
}
