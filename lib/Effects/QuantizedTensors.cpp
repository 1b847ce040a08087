//===- QuantizedTensors.cpp - The codes of a model, by tensor
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Effects/QuantizedTensors.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/QuantizationScale.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpopt;

/// The quantised tensor: an activation that codes are made of, or a constant of
/// which the file has the codes; null for codes that are read again.
static Value findSubject(Operation *op) {
  if (auto quantize = dyn_cast<mp::QuantizeOp>(op))
    return isConstant(quantize.getInput()) ? Value() : quantize.getInput();
  if (auto numbers = dyn_cast<mp::DequantizeOp>(op))
    return isConstant(numbers.getInput()) ? numbers.getInput() : Value();
  if (auto product = dyn_cast<mp::MatMulNBitsOp>(op))
    return isConstant(product.getWeight()) ? product.getWeight() : Value();
  return {};
}

static double errorOf(Value value, const OutputEffects &effects) {
  double most = NAN;
  for (const OutputEffect &output : effects.outputs) {
    double error =
        output.nonFinite
            ? kInfinity
            : effects.errorBy({effects.sourcesOf(value)}, output).value_or(NAN);
    most = std::isnan(most) ? error : std::fmax(most, error);
  }
  return most;
}

std::vector<QuantizedTensor>
mpopt::listQuantized(ModuleOp module, const RangeAnalysis &ranges,
                     const OutputEffects &effects) {
  std::vector<QuantizedTensor> list;
  llvm::StringSet<> seen;
  module.walk([&](Operation *op) {
    Value subject = findSubject(op);
    std::optional<QuantizationScale> scale = findScale(op);
    std::string name = subject ? getTensorName(subject) : std::string();
    if (name.empty() || !scale || !seen.insert(name).second)
      return;
    QuantizedTensor &entry = list.emplace_back();
    entry.tensor = name;
    // A constant is its codes; those of an activation are the op's result.
    entry.codes = getDtypeName(
        getElementType(isConstant(subject) ? subject : op->getResult(0)));
    Cell all = ranges.of(scale->scale).hull();
    entry.scale = {all.lo, all.hi};
    entry.scales = size_t(getNumElements(getShape(scale->scale)).value_or(1));
    if (scale->zeroPoint)
      entry.zeroPoint = ranges.of(scale->zeroPoint).hull().mean;
    entry.error = errorOf(op->getResult(0), effects);
  });
  return list;
}
