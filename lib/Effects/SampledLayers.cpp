//===- SampledLayers.cpp - Layers of a step on drawn inputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SampledLayers.h"

#include "mpopt/Effects/ProductEffects.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/Parallel.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The largest error that is known.
static double largestOf(ArrayRef<double> errors) {
  double largest = 0;
  for (double error : errors)
    largest = std::isnan(error) ? largest : std::max(largest, error);
  return largest;
}

ScalingOf ScaledLayers::scalingsOf(const Fp8Recipe &recipe,
                                   ArrayRef<size_t> kept) const {
  std::vector<bool> isKept(layers.size());
  for (size_t layer : kept)
    isKept[layer] = true;
  return [this, &recipe, isKept](size_t layer, size_t product, unsigned side) {
    const Layer &its = layers[layer];
    return std::optional(
        isKept[layer]
            ? kUnscaledBF16
            : operandOf(its, its.products[product], side, recipe).scaling);
  };
}

bool ScaledLayers::sample(const Fp8Recipe &recipe) {
  sampled = std::make_unique<Sample>(module, layers, step.parameters());
  if (!sampled->step.evaluate()) {
    sampled.reset();
    return false;
  }
  sampled->step.rememberSteps(recipe.history);
  sampled->errors =
      sampled->step.errors(scalingsOf(recipe, {}), recipe.history);
  return true;
}

std::optional<double> ScaledLayers::sampledError(Value gradient) const {
  for (auto [parameter, error] :
       llvm::zip_equal(step.parameters(), sampled->errors))
    if (parameter.gradient == gradient && !std::isnan(error))
      return error;
  return std::nullopt;
}

void ScaledLayers::describeSampled(Fp8Report &report, const Fp8Recipe &recipe) {
  auto products = sampled->step.measure(scalingsOf(recipe, {}), recipe.history);
  for (auto [row, list] : llvm::zip_equal(report.layers, products))
    for (auto [its, sample] : llvm::zip_equal(row.products, list)) {
      its.decibels = 10 * std::log10(sample.ratio);
      for (unsigned side : {0u, 1u}) {
        const StoredShares &shares = sample.operands[side];
        its.operands[side].clipped = shares.clipped;
        its.operands[side].flushed = shares.flushed;
        its.operands[side].zero = shares.zeroGroups;
      }
    }
}

/// By layer, then parameter, with that layer alone in FP8.
std::vector<std::vector<double>>
ScaledLayers::sampleAlone(const Fp8Recipe &recipe) {
  std::vector<std::vector<double>> list(layers.size());
  ScalingOf all = scalingsOf(recipe, {});
  llvm::parallelFor(0, layers.size(), [&](size_t alone) {
    list[alone] = sampled->step.errors(
        [&](size_t layer, size_t product, unsigned side) {
          return layer == alone ? all(layer, product, side)
                                : std::optional<OperandScaling>();
        },
        recipe.history, /*draws=*/1);
  });
  return list;
}

/// The layers that the squares of single errors name, and more of them until
/// the errors of a step without these are small enough.
std::optional<std::vector<size_t>>
ScaledLayers::findSampledKept(const Fp8Recipe &recipe,
                              ArrayRef<std::vector<double>> alone, double aim) {
  auto squareOf = [&](size_t layer, size_t parameter) {
    double error = alone[layer][parameter];
    return std::isnan(error) ? 0 : error * error;
  };
  std::vector<double> squares;
  for (double error : sampled->errors)
    squares.push_back(std::isnan(error) ? 0 : error * error);
  // Chosen: each trial asks for a tenth less; errors add up to less than twice
  // what single ones say.
  constexpr double kLess = 0.9;
  constexpr int kTrials = 8;
  // Chosen: a batch that was not drawn is a little worse than those that were.
  constexpr double kMargin = 0.9;
  double wanted = aim;
  std::optional<std::vector<size_t>> kept;
  for (int trial = 0; trial < kTrials; ++trial, wanted *= kLess) {
    auto next = findKept(squares, layers.size(), wanted * wanted, squareOf);
    // Errors of single layers may add up to less than that of all.
    if (!next)
      next = std::vector<size_t>(llvm::seq<size_t>(layers.size()).begin(),
                                 llvm::seq<size_t>(layers.size()).end());
    if (kept == next)
      continue;
    kept = std::move(next);
    if (kept->empty() ||
        largestOf(sampled->step.errors(scalingsOf(recipe, *kept),
                                       recipe.history)) <= kMargin * aim)
      return kept;
  }
  return kept;
}

void ScaledLayers::chooseSampled(Fp8Report &report, const Fp8Recipe &own,
                                 ArrayRef<double> aims) {
  if (aims.empty())
    return;
  SmallVector<std::pair<const Fp8Recipe *, double>> known;
  double least = *llvm::min_element(aims);
  for (auto rank : {&Fp8Recipe::onHopper, &Fp8Recipe::onBlackwell}) {
    std::vector<const Fp8Recipe *> recipes;
    for (const Fp8Recipe &recipe : Fp8Recipe::all())
      if (recipe.*rank)
        recipes.push_back(&recipe);
    llvm::sort(recipes, [&](const Fp8Recipe *lhs, const Fp8Recipe *rhs) {
      return lhs->*rank < rhs->*rank;
    });
    // The cheapest first: a dearer one is not asked for if it does for all
    // aims.
    for (const Fp8Recipe *recipe : recipes) {
      auto its = llvm::find_if(
          known, [&](const auto &entry) { return entry.first == recipe; });
      if (its == known.end()) {
        sampled->step.rememberSteps(recipe->history);
        bool isOwn = recipe->name == own.name && own.isAsNamed();
        its = known.insert(
            known.end(),
            {recipe, largestOf(isOwn ? sampled->errors
                                     : sampled->step.errors(
                                           scalingsOf(*recipe, {}),
                                           recipe->history, /*draws=*/2))});
      }
      if (its->second <= least)
        break;
    }
  }
  recommend(report, known, aims);
}
