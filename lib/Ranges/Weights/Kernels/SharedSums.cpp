//===- SharedSums.cpp - Passes over weights that were made before
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = W x is in C +- R for x in c +- r. A box c' +- r' with |c' - c| + r' <= t
// r for every element lies in c +- t r, whose image is in C +- t R: R has the
// rounding errors of the pass, which do not grow faster. Sums of |w|(|c| + r)
// grow by at most the largest ratio of |c'| + r' to |c| + r.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/Kernels/SharedSums.h"

#include "OperatorNorm.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <optional>

using namespace mpopt;
using llvm::ArrayRef;

/// How much wider than necessary a bound may get: by how much it is widened,
/// and by how much narrower a box may be than that whose bound stands for it.
static constexpr double kMostGrowth = 1.05;

namespace {
/// Inputs and sums of a pass.
struct Pass {
  std::vector<double> centre, radius, mean, variance, halfRange;
  LinearSums sums;

  Pass(const LinearInputs &inputs, const LinearSums &sums)
      : centre(inputs.centre), radius(inputs.radius), mean(inputs.mean),
        variance(inputs.variance), halfRange(inputs.halfRange), sums(sums) {}

  bool isOf(const LinearInputs &inputs) const {
    return ArrayRef(centre) == inputs.centre &&
           ArrayRef(radius) == inputs.radius && ArrayRef(mean) == inputs.mean &&
           ArrayRef(variance) == inputs.variance &&
           ArrayRef(halfRange) == inputs.halfRange;
  }
  std::optional<LinearSums> widenedTo(const LinearInputs &inputs) const;
  size_t bytes() const {
    size_t lists = centre.size() + radius.size() + mean.size() +
                   variance.size() + halfRange.size() + 7 * sums.size();
    return lists * sizeof(double);
  }
};
} // namespace

static double at(ArrayRef<double> list, size_t index) {
  return list.empty() ? 0 : list[list.size() == 1 ? 0 : index];
}

static bool isNear(ArrayRef<double> lhs, ArrayRef<double> rhs) {
  if (lhs.size() != rhs.size())
    return false;
  return llvm::all_of(llvm::zip(lhs, rhs), [](auto pair) {
    auto [a, b] = pair;
    return std::fabs(a - b) <=
               0.02 * std::max(std::fabs(a), std::fabs(b)) + 1e-300 ||
           a == b;
  });
}

std::optional<LinearSums> Pass::widenedTo(const LinearInputs &inputs) const {
  if (inputs.centre.size() != centre.size() ||
      inputs.radius.size() != radius.size() ||
      !isNear(inputs.variance, variance) ||
      !isNear(inputs.halfRange, halfRange) || inputs.mean.size() != mean.size())
    return std::nullopt;
  // A mean moves by little against the spread.
  for (size_t i = 0; i < mean.size(); ++i)
    if (!(std::fabs(mean[i] - inputs.mean[i]) <=
          0.02 * (std::fabs(mean[i]) + std::sqrt(at(variance, i))) + 1e-300))
      return std::nullopt;
  double growth = 1, termGrowth = 1;
  for (size_t i = 0, end = std::max(centre.size(), radius.size()); i < end;
       ++i) {
    double c = at(centre, i), r = at(radius, i);
    double newC = at(inputs.centre, i), newR = at(inputs.radius, i);
    if (std::isinf(r) && std::isinf(newR))
      continue;
    double reach = addUp(std::fabs(newC - c), newR);
    reach = nextUp(reach);
    if (reach * kMostGrowth < r)
      return std::nullopt;
    if (reach > r)
      growth = r > 0 ? std::max(growth, nextUp(reach / r)) : kInfinity;
    double before = addDown(std::fabs(c), r),
           now = addUp(std::fabs(newC), newR);
    if (now > before)
      termGrowth =
          before > 0 ? std::max(termGrowth, nextUp(now / before)) : kInfinity;
    if (!(growth <= kMostGrowth && termGrowth <= kMostGrowth))
      return std::nullopt;
  }
  LinearSums wider = sums;
  for (double &bound : wider.radius)
    bound = mulUp(bound, growth);
  for (double &bound : wider.terms)
    bound = mulUp(bound, termGrowth);
  return wider;
}

static void addFormat(MemoKey &key, const WeightTensor &weights) {
  key.add(weights.bytes.size());
  key.add(weights.format);
  key.add(weights.integerBits);
  key.add(weights.isSigned);
  key.add(weights.storage);
  key.add(weights.limits.least);
  key.add(weights.limits.most);
  key.addAll(weights.zeroPoints);
}

static LinearSums share(MemoKey key, const LinearInputs &inputs,
                        const SharedSums &shared,
                        llvm::function_ref<LinearSums()> compute) {
  // One pass of each box is kept, and the first one of any.
  MemoKey exact = key;
  for (ArrayRef<double> list : {inputs.centre, inputs.radius, inputs.mean,
                                inputs.variance, inputs.halfRange})
    exact.addAll(list);
  auto first = shared.memo->find<Pass>(key);
  if (first && first->isOf(inputs))
    return first->sums;
  if (auto known = shared.memo->find<Pass>(exact))
    return known->sums;
  if (first && shared.nearly)
    if (std::optional<LinearSums> wider = first->widenedTo(inputs))
      return *wider;
  LinearSums sums = compute();
  auto pass = std::make_shared<const Pass>(inputs, sums);
  shared.memo->keep(first ? exact : key, pass, pass->bytes());
  return sums;
}

static void addShape(MemoKey &key, const LinearRequest &request) {
  for (uint64_t number :
       {request.matrices, request.k, request.n, uint64_t(request.transposed)})
    key.add(number);
}

/// The norms that Gram matrices prove, which no input changes. They cost many
/// passes, so small weights are worth it, too; those need not stay where they
/// are, hence the key is what they hold.
static std::shared_ptr<const std::vector<double>>
gramNorms(const LinearRequest &request, Memo &memo) {
  MemoKey key;
  key.add('G');
  ArrayRef<char> bytes = request.weights.bytes;
  llvm::XXH128_hash_t content = llvm::xxh3_128bits(ArrayRef<uint8_t>(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  key.add(content.high64);
  key.add(content.low64);
  addFormat(key, request.weights);
  addShape(key, request);
  if (auto known = memo.find<std::vector<double>>(key))
    return known;
  auto norms =
      std::make_shared<std::vector<double>>(request.matrices, kInfinity);
  kernels::boundByGram(request, kernels::WeightReader(request.weights), *norms);
  memo.keep<std::vector<double>>(key, norms, norms->size() * sizeof(double));
  return norms;
}

static LinearSums linearSumsWithoutGram(const LinearRequest &request,
                                        const SharedSums &shared) {
  if (request.weights.bytes.size() < Memo::kLeastWeight)
    return linearSums(request);
  MemoKey key;
  key.add('L');
  key.add(request.weights.bytes.data());
  addFormat(key, request.weights);
  addShape(key, request);
  key.add(request.wantNorm);
  return share(key, request.inputs, shared,
               [&] { return linearSums(request); });
}

LinearSums mpopt::linearSums(const LinearRequest &request,
                             const SharedSums &shared) {
  if (!shared.memo)
    return linearSums(request);
  LinearRequest plain = request;
  plain.gramBudget = 0;
  LinearSums sums = linearSumsWithoutGram(plain, shared);
  if (!request.wantNorm || !kernels::isWithinGramBudget(request))
    return sums;
  // The memo need not have kept them.
  std::shared_ptr<const std::vector<double>> norms =
      gramNorms(request, *shared.memo);
  for (auto [norm, bound] : llvm::zip_equal(sums.operatorNorm, *norms))
    norm = std::min(norm, bound);
  return sums;
}

LinearSums mpopt::convolutionSums(const ConvolutionRequest &request,
                                  const SharedSums &shared) {
  if (!shared.memo || request.weights.bytes.size() < Memo::kLeastWeight)
    return convolutionSums(request);
  MemoKey key;
  key.add('C');
  key.add(request.weights.bytes.data());
  addFormat(key, request.weights);
  for (uint64_t number : {request.outputs, request.inputs, request.groups,
                          uint64_t(request.transposed)})
    key.add(number);
  for (const ConvolutionAxis &axis : request.axes)
    for (int64_t number :
         {axis.kernel, axis.stride, axis.dilation, axis.padBegin, axis.padEnd,
          axis.outputPadding, axis.inputSize})
      key.add(number);
  return share(key, request.values, shared,
               [&] { return convolutionSums(request); });
}

static MemoKey lossKey(const SummaryRequest &request) {
  MemoKey key;
  key.add('S');
  key.add(request.weights.bytes.data());
  addFormat(key, request.weights);
  key.add(request.size());
  key.add(request.target);
  key.add(request.channel);
  return key;
}

void mpopt::keepLosses(const SummaryRequest &request, const WeightStats &losses,
                       Memo &memo) {
  if (request.target && request.weights.bytes.size() >= Memo::kLeastWeight)
    memo.keep(lossKey(request), std::make_shared<const WeightStats>(losses),
              sizeof(WeightStats));
}

WeightStats mpopt::weightLosses(const SummaryRequest &request, Memo *memo) {
  if (memo && request.weights.bytes.size() >= Memo::kLeastWeight)
    if (auto known = memo->find<WeightStats>(lossKey(request)))
      return *known;
  WeightStats losses = summarizeWeight(request).losses;
  if (memo)
    keepLosses(request, losses, *memo);
  return losses;
}
