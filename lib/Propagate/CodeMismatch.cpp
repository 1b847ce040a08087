//===- CodeMismatch.cpp - Codes read otherwise than written
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/CodeMismatch.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Propagate/QuantizationErrors.h"
#include "mpopt/Ranges/Weights/Dequantized.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Scales that are a product in one order and dtype or another.
static constexpr double kSame = 1e-3;

std::optional<std::vector<double>>
mpopt::readElements(Value value, const RangeAnalysis &ranges) {
  if (!value)
    return std::vector<double>{0};
  if (auto product = getMaker<mp::MulOp>(value)) {
    auto lhs = readElements(product.getLhs(), ranges),
         rhs = readElements(product.getRhs(), ranges);
    if (!lhs || !rhs || (lhs->size() != 1 && rhs->size() != 1))
      return std::nullopt;
    if (lhs->size() == 1)
      std::swap(lhs, rhs);
    for (double &element : *lhs)
      element *= rhs->front();
    return lhs;
  }
  std::optional<WeightView> view = ranges.context().weights(value);
  if (!view || view->size() == 0 || view->size() > kMostElements)
    return std::nullopt;
  return readAll(*view);
}

mp::QuantizeOp mpopt::findWriter(mp::DequantizeOp op) {
  return getMaker<mp::QuantizeOp>(op.getInput(),
                                  Peel::Identities | Peel::Views);
}

/// Nothing where lists of unlike lengths are no lists of the same channels.
static std::optional<Mismatch> findDifference(Value written, Value read,
                                              const RangeAnalysis &ranges) {
  if (written == read)
    return std::nullopt;
  auto lhs = readElements(written, ranges), rhs = readElements(read, ranges);
  if (!lhs || !rhs)
    return std::nullopt;
  size_t size = std::max(lhs->size(), rhs->size());
  if (size % lhs->size() != 0 || size % rhs->size() != 0)
    return std::nullopt;
  for (size_t index = 0; index < size; ++index)
    if (double is = (*lhs)[index % lhs->size()],
        its = (*rhs)[index % rhs->size()];
        is != its)
      return Mismatch{is, its};
  return std::nullopt;
}

PairMismatches mpopt::findMismatch(mp::DequantizeOp op, mp::QuantizeOp from,
                                   const RangeAnalysis &ranges) {
  return {findDifference(from.getScale(), op.getScale(), ranges),
          findDifference(from.getZeroPoint(), op.getZeroPoint(), ranges)};
}

Operation *mpopt::findBiasedSum(mp::DequantizeOp bias) {
  for (OpOperand &use : bias.getResult().getUses())
    if (hasRole(use.getOwner(), Role::Contraction) &&
        use.getOperandNumber() == 2)
      return use.getOwner();
  return nullptr;
}

std::optional<BiasMismatch>
mpopt::findBiasMismatch(mp::DequantizeOp bias, const RangeAnalysis &ranges) {
  if (!getElementType(bias.getInput()).isInteger(32) ||
      !isConstant(bias.getInput()))
    return std::nullopt;
  Operation *sum = findBiasedSum(bias);
  auto codes = readElements(bias.getInput(), ranges),
       own = readElements(bias.getScale(), ranges),
       zeros = readElements(bias.getZeroPoint(), ranges);
  if (!sum || !codes || !own || !zeros || codes->size() % own->size() != 0)
    return std::nullopt;
  BiasMismatch result;
  result.hasZeroPoint =
      llvm::any_of(*zeros, [](double zero) { return zero != 0; });
  auto x = getMaker<mp::DequantizeOp>(sum->getOperand(0)),
       w = getMaker<mp::DequantizeOp>(sum->getOperand(1));
  auto ofX = x ? readElements(x.getScale(), ranges) : std::nullopt,
       ofW = w ? readElements(w.getScale(), ranges) : std::nullopt;
  if (ofX && ofW && ofX->size() == 1 && codes->size() % ofW->size() == 0) {
    for (double scale : *ofW)
      result.unit.push_back(ofX->front() * scale);
    for (size_t index = 0; index < codes->size() && !result.scale; ++index) {
      double scale = (*own)[index % own->size()],
             unit = result.unit[index % ofW->size()];
      if (unit > 0 && scale > 0 && std::fabs(scale - unit) > kSame * unit)
        result.scale = {scale, unit};
    }
  }
  return result.scale || result.hasZeroPoint ? std::optional(std::move(result))
                                             : std::nullopt;
}

/// Elements that are told apart; a bound on time alone.
static constexpr size_t kMostBiases = 1 << 14;

std::vector<double> mpopt::findExactBias(mp::DequantizeOp numbers,
                                         const RangeAnalysis &ranges) {
  Operation *sum = findBiasedSum(numbers);
  auto codes = readElements(numbers.getInput(), ranges),
       scales = readElements(numbers.getScale(), ranges);
  MaybeShape shape = getShape(numbers.getResult());
  if (!sum || !codes || !scales || !shape || shape->size() != 1 ||
      codes->size() % scales->size() != 0 ||
      !getElementType(numbers.getInput()).isInteger(32) ||
      !getElementType(numbers.getResult()).isF32() ||
      codes->size() > kMostBiases)
    return {};
  std::optional<BiasMismatch> mismatch = findBiasMismatch(numbers, ranges);
  auto weight = getMaker<mp::DequantizeOp>(sum->getOperand(1));
  if (mismatch && mismatch->scale &&
      mismatch->scale->first > mismatch->scale->second &&
      !(weight && reachBeforeClipping(weight, ranges) > 0))
    scales = mismatch->unit;
  else if (!(mismatch && mismatch->hasZeroPoint) &&
           llvm::none_of(*codes, isClippedBias))
    return {};
  const AbstractValue &sums = ranges.preRounding(sum->getResult(0));
  double clipped = double(llvm::count_if(*codes, isClippedBias)),
         count = double(codes->size());
  double others = clipped < count && sums.hasLikely()
                      ? std::sqrt(meanSquare(sums) * count / (count - clipped))
                      : 0;
  std::vector<double> exact;
  for (auto [index, code] : llvm::enumerate(*codes)) {
    double number = code * (*scales)[index % scales->size()];
    if (isClippedBias(code) && std::fabs(number) < others)
      number = std::copysign(others, code);
    exact.push_back(number);
  }
  return exact;
}
