//===- SampledStep.cpp - A training step on drawn inputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SampledStep.h"

#include "RelatedTargets.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/Settings.h"

#include "llvm/Support/Parallel.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// One draw of the inputs, and the exact step on it.
struct SampledStep::Draw {
  std::vector<Array> inputs;
  Evaluation exact;
  LayerMagnitudes magnitudes;
};

/// The cost (Evaluation::cost) of all steps beyond which none is drawn: about
/// four seconds of one core.
static constexpr double kMostCost = 0x1p37;
/// The steps of a report, beside one for each layer: those of the recipe, of
/// others and of lists.
static constexpr double kSteps = 20;
/// That of all draws. On seed 1 of fp8_train under `current` 88 % of the
/// products are within 1 dB, 86 % with a quarter of it, 85 % with one draw.
static constexpr double kBudget = 0x1p32;
static constexpr uint32_t kFirstSeed = 1;
/// More of the same distribution hardly move a largest element.
static constexpr int64_t kMostSteps = 4;

/// The operand that the evaluation of an op takes first.
static Value firstOperand(OpResult which) {
  Operation *op = which.getOwner();
  if (auto conv = dyn_cast<mp::ConvGradOp>(op))
    return which == conv.getFilterGrad() ? conv.getInput() : conv.getGrad();
  return op->getOperand(0);
}

SampledStep::SampledStep(ModuleOp module, ArrayRef<Layer> layers,
                         ArrayRef<ParameterGradient> parameters)
    : function(*module.getOps<func::FuncOp>().begin()), layers(layers),
      parameters(parameters) {
  for (auto [number, layer] : llvm::enumerate(layers))
    for (auto [index, product] : llvm::enumerate(layer.products))
      if (product.isComputed)
        roles[product.result] = {
            number, index,
            unsigned(firstOperand(product.result) != product.operands[0])};
  for (Operation &op : function.getBody().front())
    if (llvm::any_of(op.getResults(),
                     [&](Value result) { return roles.contains(result); }))
      products.push_back(&op);
}

SampledStep::~SampledStep() = default;

//===----------------------------------------------------------------------===//
// Draws
//===----------------------------------------------------------------------===//

/// The row of zeros of a table that `input` picks rows of: the row of padding.
static std::optional<int64_t> findPaddingRow(BlockArgument input,
                                             Evaluation &evaluation) {
  for (Operation *user : input.getUsers()) {
    auto gather = dyn_cast<mp::GatherOp>(user);
    const Array *table = gather && gather.getAxis() == 0
                             ? evaluation.find(gather.getInput())
                             : nullptr;
    if (!table || table->rank() != 2)
      continue;
    size_t width = size_t(table->shape[1]);
    for (int64_t row = 0; row < table->shape[0]; ++row)
      if (llvm::all_of(
              ArrayRef(table->numbers).slice(size_t(row) * width, width),
              [](float number) { return number == 0; }))
        return row;
  }
  return std::nullopt;
}

/// Leaves the declared share of a loss's targets. Where a table has a row for
/// padding, samples end with it; else single targets are ignored.
void SampledStep::ignoreTargets(Operation *loss, double counted,
                                RandomNumbers &random, Draw &draw) const {
  auto ignored = loss->getAttrOfType<IntegerAttr>("ignore_index");
  auto target =
      dyn_cast<BlockArgument>(peel(loss->getOperand(1), Peel::CastsAndViews));
  if (!ignored || !target)
    return;
  Array &targets = draw.inputs[target.getArgNumber()];
  SmallVector<std::pair<Array *, int64_t>> padded;
  for (BlockArgument argument : function.getArguments())
    if (std::optional<int64_t> row = findPaddingRow(argument, draw.exact);
        row && draw.inputs[argument.getArgNumber()].shape == targets.shape)
      padded.push_back({&draw.inputs[argument.getArgNumber()], *row});
  int64_t length = targets.rank() ? targets.shape.back() : 1, left = 0;
  for (size_t at = 0; at < targets.numbers.size(); ++at) {
    int64_t place = int64_t(at) % length;
    if (place == 0) {
      left = 0;
      for (int64_t i = 0; i < length; ++i)
        left += random.uniform() < counted;
      left = std::max<int64_t>(left, 1);
    }
    bool isIgnored =
        padded.empty() ? random.uniform() >= counted : place >= left;
    if (!isIgnored)
      continue;
    targets.numbers[at] = float(ignored.getInt());
    for (auto [input, row] : padded)
      input->numbers[at] = float(row);
  }
}

/// Null where an input cannot be drawn or something of the step is not known.
std::unique_ptr<SampledStep::Draw> SampledStep::draw(uint32_t seed) const {
  auto made = std::make_unique<Draw>();
  RandomNumbers random(seed);
  for (BlockArgument argument : function.getArguments()) {
    std::optional<Array> drawn = drawInput(argument, random);
    if (!drawn)
      return nullptr;
    made->inputs.push_back(std::move(*drawn));
  }
  for (Operation &op : function.getBody().front())
    if (auto counted = op.getAttrOfType<FloatAttr>(kShareCountedAttr);
        counted && !op.hasAttr(kBackwardAttr))
      ignoreTargets(&op, counted.getValueAsDouble(), random, *made);
  return run(*made, factor) ? std::move(made) : nullptr;
}

/// Evaluates the exact step. False if some gradient or product of it is not
/// known.
bool SampledStep::run(Draw &draw, double factor) const {
  draw.magnitudes.assign(layers.size(), {});
  std::vector<size_t> seen(layers.size());
  draw.exact.multiplier = [&](OpResult which, Matrices lhs, Matrices rhs) {
    auto found = roles.find(which);
    if (found == roles.end())
      return multiplyMatrices(lhs, rhs);
    const Role &role = found->second;
    ++seen[role.layer];
    auto names = rolesOf(layers[role.layer].products[role.product].pass);
    for (unsigned side : {0u, 1u}) {
      float most = 0;
      for (float number : (role.lhs == side ? lhs : rhs).numbers)
        most = std::max(most, std::fabs(number));
      double &largest = draw.magnitudes[role.layer][size_t(names[side])];
      largest = std::max(largest, double(most));
    }
    return multiplyMatrices(lhs, rhs);
  };
  // Chosen: another sequence than those of inputs.
  constexpr uint32_t kSeed = 99;
  RandomNumbers random(kSeed);
  draw.exact.observeOp = [&](Operation *op) {
    if (factor == 1 || op->hasAttr(kBackwardAttr))
      return;
    if (auto related = relateTargets(op, factor, draw.exact, random))
      draw.exact.set(op->getOperand(1), std::move(*related));
  };
  for (auto [argument, drawn] :
       llvm::zip_equal(function.getArguments(), draw.inputs))
    draw.exact.set(argument, drawn);
  draw.exact.run(function);
  draw.exact.multiplier = nullptr;
  draw.exact.observeOp = nullptr;
  for (auto [layer, count] : llvm::zip_equal(layers, seen))
    if (count != size_t(llvm::count_if(layer.products, [](const auto &product) {
          return product.isComputed;
        })))
      return false;
  return llvm::all_of(parameters, [&](const ParameterGradient &parameter) {
    return !parameter.estimate.known || draw.exact.find(parameter.gradient);
  });
}

std::optional<double> SampledStep::findLoss(Draw &draw) const {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto name =
        function.getResultAttrOfType<StringAttr>(unsigned(index), "mp.name");
    if (name && name.getValue() == "loss")
      return draw.exact.scalar(value);
  }
  return std::nullopt;
}

/// The factor of the terms of the loss with which it is the declared one. The
/// loss is a sum of terms, some of which have no target: it is taken to be
/// linear in the factor of the others.
double SampledStep::findFactor(Draw &unrelated) const {
  auto declared = function->getAttrOfType<FloatAttr>(kLossValueAttr);
  auto related = function->getAttrOfType<BoolAttr>(kTargetsRelatedAttr);
  std::optional<double> drawn = findLoss(unrelated);
  if (!declared || (related && !related.getValue()) || !drawn || !(*drawn > 0))
    return 1;
  double wanted = declared.getValueAsDouble(), factor = wanted / *drawn;
  // Chosen: targets that a few batches do not tell from unrelated ones stay.
  constexpr double kAlike = 0.1;
  if (!(factor > 0) || std::fabs(factor - 1) < kAlike)
    return 1;
  Draw other{unrelated.inputs, {}, {}};
  std::optional<double> loss =
      run(other, factor) ? findLoss(other) : std::nullopt;
  double slope = loss ? (*loss - *drawn) / (factor - 1) : 0;
  if (slope == 0 || std::fabs(*loss / wanted - 1) < kAlike)
    return factor;
  double better = 1 + (wanted - *drawn) / slope;
  return better > 0 ? better : factor;
}

/// By several threads; those of which something is not known are left out.
void SampledStep::addDraws(size_t count) {
  size_t first = draws.size();
  draws.resize(first + count);
  llvm::parallelFor(first, first + count, [&](size_t at) {
    draws[at] = draw(kFirstSeed + uint32_t(at));
  });
  llvm::erase(draws, nullptr);
}

/// True if the terms of a gradient cancel but for the rounding of FP32: that of
/// a bias in front of a softmax, which does not see it.
static bool cancels(Value gradient, const Evaluation &exact) {
  auto sum = getMaker<mp::ReduceSumOp>(gradient, Peel::CastsAndViews);
  const Array *total = exact.lookUp(gradient),
              *terms = sum ? exact.lookUp(sum.getInput()) : nullptr;
  if (!total || !terms)
    return false;
  auto sizeOf = [](const Array &array) {
    double size = 0;
    for (float number : array.numbers)
      size += std::fabs(number);
    return size;
  };
  // A hundred roundings of FP32: the terms come of products of that length.
  constexpr double kRounded = 100 * 0x1p-24;
  return sizeOf(*total) <= kRounded * sizeOf(*terms);
}

bool SampledStep::evaluate() {
  double steps = kSteps + double(layers.size()), products = 0;
  for (const Layer &layer : layers)
    for (const LayerProduct &product : layer.products)
      if (product.isComputed && layer.m > 0 && layer.k > 0 && layer.n > 0)
        products += double(layer.m) * double(layer.k) * double(layer.n);
  // Weights that are not worth a step are not read for one.
  if (steps * products > kMostCost)
    return false;
  std::unique_ptr<Draw> first = draw(kFirstSeed);
  if (!first)
    return false;
  double cost = std::max(first->exact.cost(), 1.0);
  if (steps * cost > kMostCost)
    return false;
  factor = findFactor(*first);
  if (factor == 1)
    draws.push_back(std::move(first));
  // How far terms agree differs from batch to batch; a single direction of a
  // gradient has the spread of a square, a factor of sqrt(2 / draws).
  constexpr size_t kDraws = 16;
  size_t wanted = std::clamp<size_t>(size_t(kBudget / cost), 1, kDraws);
  addDraws(wanted - draws.size());
  return !draws.empty();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static double squareOf(const Matrices &matrices) {
  double square = 0;
  for (float number : matrices.numbers)
    square += double(number) * number;
  return square;
}

static double squaredDifference(const Matrices &lhs, const Matrices &rhs) {
  double square = 0;
  for (auto [a, b] : llvm::zip_equal(lhs.numbers, rhs.numbers))
    square += (double(a) - b) * (double(a) - b);
  return square;
}

/// Stores both operands of a product of the role's layer, in the order of its
/// sides.
std::array<StoredShares, 2> SampledStep::store(
    const Role &role, size_t product, std::array<Matrices *, 2> operands,
    const ScalingOf &scalings, const LayerMagnitudes &largest) const {
  std::array<StoredShares, 2> shares;
  auto names = rolesOf(layers[role.layer].products[product].pass);
  for (unsigned side : {0u, 1u}) {
    auto scaling = scalings(role.layer, product, side);
    double most =
        largest.empty() ? 0 : largest[role.layer][size_t(names[side])];
    if (scaling)
      shares[side] =
          storeOperand(*operands[side], *scaling,
                       most > 0 ? std::optional(most) : std::nullopt);
  }
  return shares;
}

void SampledStep::measureOn(const Draw &draw, const ScalingOf &scalings,
                            const LayerMagnitudes &largest,
                            std::vector<std::vector<Squares>> &list) const {
  std::vector<Matrices> weights(layers.size());
  auto measureOne = [&](const Role &role, size_t product,
                        std::array<Matrices, 2> operands) {
    Matrices exact = multiplyMatrices(operands[0], operands[1]);
    Squares &its = list[role.layer][product];
    its.operands =
        store(role, product, {&operands[0], &operands[1]}, scalings, largest);
    its.signal = squareOf(exact);
    its.noise =
        squaredDifference(multiplyMatrices(operands[0], operands[1]), exact);
  };
  Evaluation again(draw.exact);
  again.isChanged = [&](OpResult which) { return roles.contains(which); };
  again.multiplier = [&](OpResult which, Matrices lhs, Matrices rhs) {
    auto found = roles.find(which);
    Matrices made = multiplyMatrices(lhs, rhs);
    if (found == roles.end())
      return made;
    const Role &role = found->second;
    ArrayRef<LayerProduct> all = layers[role.layer].products;
    if (role.lhs == 1)
      std::swap(lhs, rhs);
    LayerPass pass = all[role.product].pass;
    auto lone = llvm::find_if(
        all, [](const LayerProduct &each) { return !each.isComputed; });
    if (lone != all.end() && pass == LayerPass::Forward)
      weights[role.layer] = rhs.transposed();
    if (lone != all.end() && pass == LayerPass::WeightGradient) {
      Matrices dy = rhs.transposed(), &w = weights[role.layer];
      if (dy.depth == w.depth && (dy.batch == w.batch || w.batch == 1))
        measureOne(role, size_t(lone - all.begin()),
                   {std::move(dy), std::move(w)});
    }
    measureOne(role, role.product, {std::move(lhs), std::move(rhs)});
    return made;
  };
  // They read operands of the exact step: nothing in between changes.
  again.run(products);
}

/// The median over pairs of draws. The signal of a gradient whose terms agree
/// along one direction only has the spread of a square of few numbers, whose
/// mean is far above what most batches have.
static double medianRatio(ArrayRef<double> signals, ArrayRef<double> noises) {
  std::vector<double> ratios;
  for (size_t at = 0; at < signals.size(); at += 2) {
    double signal = 0, noise = 0;
    for (size_t each = at; each < std::min(at + 2, signals.size()); ++each) {
      signal += signals[each];
      noise += noises[each];
    }
    if (signal > 0 && noise > 0)
      ratios.push_back(signal / noise);
  }
  if (ratios.empty())
    return NAN;
  llvm::sort(ratios);
  size_t half = ratios.size() / 2;
  return ratios.size() % 2 ? ratios[half]
                           : std::sqrt(ratios[half - 1] * ratios[half]);
}

std::vector<std::vector<SampledStep::Product>>
SampledStep::measure(const ScalingOf &scalings, int64_t steps) const {
  std::vector<std::vector<std::vector<Squares>>> byDraw(draws.size());
  llvm::parallelFor(0, draws.size(), [&](size_t at) {
    for (const Layer &layer : layers)
      byDraw[at].emplace_back(layer.products.size());
    measureOn(*draws[at], scalings, earlier(at, steps), byDraw[at]);
  });
  std::vector<std::vector<Product>> list;
  for (auto [number, layer] : llvm::enumerate(layers)) {
    std::vector<Product> &products = list.emplace_back();
    for (size_t index = 0; index < layer.products.size(); ++index) {
      Product &product = products.emplace_back();
      std::vector<double> signals, noises;
      for (const std::vector<std::vector<Squares>> &draw : byDraw) {
        const Squares &its = draw[number][index];
        signals.push_back(its.signal);
        noises.push_back(its.noise);
        for (auto [mean, share] :
             llvm::zip_equal(product.operands, its.operands)) {
          mean.clipped += share.clipped / double(draws.size());
          mean.flushed += share.flushed / double(draws.size());
          mean.zeroGroups += share.zeroGroups / double(draws.size());
        }
      }
      product.ratio = medianRatio(signals, noises);
    }
  }
  return list;
}

std::vector<double> SampledStep::errors(const ScalingOf &scalings,
                                        int64_t steps, size_t most) const {
  most = std::min(most, draws.size());
  // By draw, then parameter: squares of gradients and of their errors.
  std::vector<std::vector<std::array<double, 2>>> squares(most);
  llvm::parallelFor(0, most, [&](size_t at) {
    const Draw *draw = draws[at].get();
    LayerMagnitudes largest = earlier(at, steps);
    Evaluation again(draw->exact);
    again.isChanged = [&](OpResult which) {
      auto role = roles.find(which);
      return role != roles.end() &&
             scalings(role->second.layer, role->second.product, 0);
    };
    again.multiplier = [&](OpResult which, Matrices lhs, Matrices rhs) {
      if (auto found = roles.find(which); found != roles.end()) {
        const Role &role = found->second;
        store(role, role.product,
              {role.lhs == 0 ? &lhs : &rhs, role.lhs == 0 ? &rhs : &lhs},
              scalings, largest);
      }
      return multiplyMatrices(lhs, rhs);
    };
    again.run(function);
    for (const ParameterGradient &parameter : parameters) {
      const Array *was = draw->exact.lookUp(parameter.gradient),
                  *is = again.find(parameter.gradient);
      auto &[square, error] = squares[at].emplace_back();
      square = error = 0;
      if (cancels(parameter.gradient, draw->exact))
        continue;
      if (!was || !is || was->size() != is->size()) {
        error = NAN;
        continue;
      }
      for (auto [now, before] : llvm::zip_equal(is->numbers, was->numbers)) {
        square += double(before) * before;
        error += (double(now) - before) * (double(now) - before);
      }
    }
  });
  std::vector<double> list;
  for (size_t parameter = 0; parameter < parameters.size(); ++parameter) {
    double square = 0, error = 0;
    for (const auto &draw : squares) {
      square += draw[parameter][0];
      error += draw[parameter][1];
    }
    list.push_back(square > 0 ? std::sqrt(error / square) : NAN);
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Magnitudes
//===----------------------------------------------------------------------===//

void SampledStep::rememberSteps(int64_t steps) {
  size_t wanted = size_t(std::min(steps, kMostSteps));
  for (size_t known = draws.size() - 1 + others.size(); known < wanted; ++known)
    if (auto other = draw(kFirstSeed + uint32_t(known) + 1))
      others.push_back(std::move(other->magnitudes));
    else
      break;
}

/// The largest over the draws that follow; none for 0 steps.
LayerMagnitudes SampledStep::earlier(size_t draw, int64_t steps) const {
  LayerMagnitudes largest;
  size_t all = draws.size() + others.size();
  steps = std::min({steps, kMostSteps, int64_t(all) - 1});
  for (size_t step = 1; step <= size_t(steps); ++step) {
    size_t at = (draw + step) % all;
    const LayerMagnitudes &its =
        at < draws.size() ? draws[at]->magnitudes : others[at - draws.size()];
    largest.resize(its.size());
    for (auto [most, own] : llvm::zip_equal(largest, its))
      for (size_t role = 0; role < most.size(); ++role)
        most[role] = std::max(most[role], own[role]);
  }
  return largest;
}
