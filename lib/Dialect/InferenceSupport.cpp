//===- InferenceSupport.cpp - Checks and dims of ops that move data -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/InferenceSupport.h"

#include "mpopt/Dialect/CheckedDim.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Support/WeightStore.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;

LogicalResult mpopt::verifyByInference(Operation *op) {
  SmallVector<Type> types;
  ShapeFacts facts;
  if (failed(cast<TypeInferenceOpInterface>(op).inferResultTypes(facts, types)))
    return failure();
  for (auto [inferred, declared] : llvm::zip(types, op->getResultTypes())) {
    // Dims only: a policy may have changed the result's element type.
    MaybeShape shape = getShape(inferred), other = getShape(declared);
    if (shape && other &&
        (shape->size() != other->size() ||
         llvm::any_of(llvm::zip(*shape, *other), [](auto dims) {
           auto [dim, known] = dims;
           return dim != kDynamic && known != kDynamic && dim != known;
         })))
      return op->emitOpError("result has type ")
             << declared << " where its operands give " << inferred;
  }
  return success();
}

int64_t mpopt::addDims(int64_t lhs, int64_t rhs) {
  int64_t sum = (CheckedDim(lhs) + rhs).get();
  return sum < 0 ? kDynamic : sum;
}

int64_t mpopt::multiplyDims(int64_t lhs, int64_t rhs) {
  int64_t product = (CheckedDim(lhs) * rhs).get();
  return product < 0 ? kDynamic : product;
}

int64_t mpopt::multiplyDims(ArrayRef<int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    product = multiplyDims(product, dim);
  return product;
}

FailureOr<int64_t> mpopt::checkAxis(Operation *op, int64_t axis, int64_t rank) {
  if (std::optional<int64_t> normal = normalizeAxis(axis, rank))
    return *normal;
  return op->emitOpError("axis ")
         << axis << " is out of range for rank " << rank;
}

FailureOr<SmallVector<int64_t>>
mpopt::checkAxes(Operation *op, ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> normal;
  for (int64_t axis : axes) {
    FailureOr<int64_t> checked = checkAxis(op, axis, rank);
    if (failed(checked))
      return failure();
    if (llvm::is_contained(normal, *checked))
      return op->emitOpError("axis ") << axis << " is there twice";
    normal.push_back(*checked);
  }
  return normal;
}

LogicalResult mpopt::checkOneOf(Operation *op, StringRef name, StringRef value,
                                ArrayRef<StringRef> allowed) {
  if (llvm::is_contained(allowed, value))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError() << name << " is '" << value
                                                    << "', not one of ";
  llvm::interleaveComma(allowed, diagnostic, [&](StringRef one) {
    diagnostic << '\'' << one << '\'';
  });
  return diagnostic;
}

LogicalResult mpopt::checkRank(Operation *op, StringRef name, Value value,
                               ArrayRef<int64_t> ranks) {
  MaybeShape shape = value ? getShape(value) : std::nullopt;
  if (!shape || llvm::is_contained(ranks, int64_t(shape->size())))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError() << name << " has rank " << shape->size() << ", not ";
  llvm::interleave(
      ranks, [&](int64_t rank) { diagnostic << rank; },
      [&] { diagnostic << " or "; });
  return diagnostic;
}

Elements mpopt::elementsOf(const ShapeFacts &facts, Value value) {
  if (Elements known = facts.elements(value))
    return known;
  std::optional<int64_t> count = getNumElements(getShape(value));
  if (!count || *count > ShapeFacts::kMaxElements)
    return std::nullopt;
  return Elements(std::in_place, *count, std::nullopt);
}

Elements mpopt::parameter(std::optional<ArrayRef<int64_t>> attribute,
                          Value operand, const ShapeFacts &facts) {
  if (attribute)
    return Elements(std::in_place, attribute->begin(), attribute->end());
  return operand ? elementsOf(facts, operand) : Elements();
}

std::optional<SmallVector<int64_t>>
mpopt::constantParameter(std::optional<ArrayRef<int64_t>> attribute,
                         Value operand, const ShapeFacts &facts) {
  if (attribute)
    return SmallVector<int64_t>(*attribute);
  return operand ? facts.constants(operand) : std::nullopt;
}

LogicalResult mpopt::checkParameter(Operation *op, StringRef name,
                                    bool attribute, Value operand,
                                    bool required) {
  if (attribute && operand)
    return op->emitOpError("has ") << name << " as an attribute and an operand";
  if (required && !attribute && !operand)
    return op->emitOpError("has no ") << name;
  return checkRank(op, name, operand, {0, 1});
}

FailureOr<MaybeShape> mpopt::shapeFrom(Operation *op, const ShapeFacts &facts,
                                       Value value) {
  if (failed(checkRank(op, "shape", value, {1})))
    return failure();
  Elements elements = elementsOf(facts, value);
  if (!elements)
    return MaybeShape();
  Shape shape;
  for (std::optional<int64_t> element : *elements) {
    if (element && *element < 0)
      return op->emitOpError("shape has the negative dim ") << *element;
    shape.push_back(element.value_or(kDynamic));
  }
  return MaybeShape(shape);
}

std::optional<SmallVector<double>> mpopt::floatConstants(Value value) {
  auto constant = value.getDefiningOp<mp::ConstantOp>();
  if (!constant)
    return std::nullopt;
  std::optional<int64_t> count = getNumElements(getShape(value));
  auto element = dyn_cast<FloatType>(getElementType(value));
  if (!element || !count || *count > ShapeFacts::kMaxElements)
    return std::nullopt;
  SmallVector<double> result;
  if (auto dense = dyn_cast<DenseFPElementsAttr>(constant.getValue())) {
    for (APFloat number : dense.getValues<APFloat>()) {
      bool lossy;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &lossy);
      result.push_back(number.convertToDouble());
    }
    return result;
  }
  auto weight = dyn_cast<mp::WeightAttr>(constant.getValue());
  unsigned width = element.getWidth();
  if (!weight || width % 8)
    return std::nullopt;
  auto *dialect = cast<mp::MPDialect>(constant->getDialect());
  llvm::Expected<ArrayRef<char>> bytes = dialect->getWeights().bytes(
      weight.getFile().getValue(), weight.getOffset(), weight.getLength());
  if (!bytes) {
    llvm::consumeError(bytes.takeError()); // reported by who needs the weights
    return std::nullopt;
  }
  if (int64_t(bytes->size()) / (width / 8) < *count)
    return std::nullopt;
  for (int64_t index = 0; index < *count; ++index) {
    uint64_t bits = 0;
    for (unsigned byte = 0; byte < width / 8; ++byte)
      bits |= uint64_t(uint8_t((*bytes)[index * (width / 8) + byte]))
              << (8 * byte);
    APFloat number(element.getFloatSemantics(), APInt(width, bits));
    bool lossy;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    result.push_back(number.convertToDouble());
  }
  return result;
}

std::optional<SmallVector<std::optional<double>>>
mpopt::floatElements(const ShapeFacts &facts, Value value) {
  SmallVector<std::optional<double>> result;
  if (auto constants = floatConstants(value)) {
    result.append(constants->begin(), constants->end());
    return result;
  }
  Elements elements = elementsOf(facts, value);
  if (!elements)
    return std::nullopt;
  for (std::optional<int64_t> element : *elements)
    result.push_back(element ? std::optional<double>(double(*element))
                             : std::nullopt);
  return result;
}
