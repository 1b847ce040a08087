//===- Evaluation.cpp - A function evaluated on arrays
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Evaluation/Evaluation.h"

#include "Ops/Families.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// As their file has them (WeightView), but for bits of attributes.
static std::optional<Array> readConstant(mp::ConstantOp op) {
  MaybeShape shape = getShape(op.getResult());
  Type type = getElementType(op.getResult());
  if (!shape || !type || !type.isIntOrFloat())
    return std::nullopt;
  Array array{*shape, {}};
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (type.isInteger(1) && dense) {
    for (bool bit : dense.getValues<bool>())
      array.numbers.push_back(bit);
    return array;
  }
  std::optional<ConstantBytes> bytes = getConstantBytes(op);
  if (!bytes)
    return std::nullopt;
  WeightView view;
  view.data = bytes->data;
  view.splat = bytes->splat;
  view.elementType = type;
  view.shape = *shape;
  std::vector<double> numbers(size_t(view.size()));
  view.read(0, numbers);
  array.numbers.assign(numbers.begin(), numbers.end());
  return array;
}

const Array *Evaluation::readConstant(Value value) {
  auto op = value.getDefiningOp<mp::ConstantOp>();
  if (!op)
    return nullptr;
  auto [known, isNew] = constants.try_emplace(value);
  MaybeShape shape = getShape(value);
  double size = shape ? double(mpopt::sizeOf(*shape)) : 0;
  if (!isNew || size > leftElements)
    return known->second.get();
  leftElements -= size;
  if (std::optional<Array> array = ::readConstant(op))
    known->second = std::make_unique<Array>(std::move(*array));
  return known->second.get();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void Evaluation::set(Value value, Array array) {
  if (double(array.size()) > leftElements) {
    arrays[value] = nullptr;
    return;
  }
  leftElements -= double(array.size());
  // An element that an op makes takes about 2 ns, a multiplication of a product
  // 0.03 (perf stat of the decoders of fp8_train).
  constexpr double kElement = 64;
  spent += kElement * double(array.size());
  arrays[value] = std::make_unique<Array>(std::move(array));
}

/// Its own arrays, null where one is not known, then those of the base,
/// constants included.
const Array *Evaluation::lookUp(Value value) const {
  if (auto known = arrays.find(value); known != arrays.end())
    return known->second.get();
  if (auto known = constants.find(value); known != constants.end())
    return known->second.get();
  return base ? base->lookUp(value) : nullptr;
}

const Array *Evaluation::find(Value value) {
  if (!value)
    return nullptr;
  const Array *known = lookUp(value);
  return known ? known : readConstant(value);
}

std::optional<SmallVector<int64_t>> Evaluation::integers(Value value) {
  const Array *array = find(value);
  if (!array)
    return std::nullopt;
  // INT64_MAX stands for an open end in slices.
  constexpr float kMost = 0x1p62f;
  SmallVector<int64_t> list;
  for (float number : array->numbers) {
    if (std::isnan(number))
      return std::nullopt;
    list.push_back(int64_t(std::clamp(number, -kMost, kMost)));
  }
  return list;
}

std::optional<double> Evaluation::scalar(Value value) {
  const Array *array = find(value);
  if (!array || array->size() != 1)
    return std::nullopt;
  return array->numbers.front();
}

std::optional<Matrices> Evaluation::multiply(OpResult which, Matrices lhs,
                                             Matrices rhs) {
  double products = double(std::max(lhs.batch, rhs.batch)) * double(lhs.rows) *
                    double(rhs.rows) * double(lhs.depth);
  if (lhs.depth != rhs.depth || products > leftProducts ||
      (lhs.batch != rhs.batch && lhs.batch != 1 && rhs.batch != 1))
    return std::nullopt;
  leftProducts -= products;
  spent += products;
  if (multiplier)
    return multiplier(which, std::move(lhs), std::move(rhs));
  return multiplyMatrices(lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// True if an operand is not that of the base, or a product is another.
bool Evaluation::differs(Operation *op) const {
  return llvm::any_of(
             op->getOperands(),
             [&](Value operand) { return arrays.contains(operand); }) ||
         (isChanged && llvm::any_of(op->getResults(), isChanged));
}

void Evaluation::evaluate(Operation *op) {
  if (isa<mp::ConstantOp>(op) || (base && !differs(op)))
    return;
  if (observeOp)
    observeOp(op);
  for (auto *family :
       {evaluateView, evaluateElementwise, evaluateProduct, evaluateReduction,
        evaluateActivation, evaluateNormalization, evaluateIndexing,
        evaluateConvolution, evaluatePooling, evaluateClassLoss, evaluateLoss})
    if (succeeded(family(op, *this)))
      return;
  // Those of the base are of other operands.
  for (Value result : op->getResults())
    if (base && !arrays.contains(result))
      arrays[result] = nullptr;
}

void Evaluation::run(func::FuncOp function) {
  for (Operation &op : function.getBody().front())
    evaluate(&op);
}

void Evaluation::run(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    evaluate(op);
}

LogicalResult evaluation::setGradients(
    Operation *op, Evaluation &in,
    llvm::function_ref<std::optional<Array>(int64_t)> make) {
  auto wanted = op->getAttrOfType<DenseI64ArrayAttr>("wanted");
  if (!wanted)
    return failure();
  for (auto [result, operand] :
       llvm::zip_equal(op->getResults(), wanted.asArrayRef())) {
    std::optional<Array> gradient = make(operand);
    if (!gradient)
      return failure();
    in.set(result, std::move(*gradient));
  }
  return success();
}
