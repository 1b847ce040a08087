//===- IndexingOps.cpp - Gather, scatter and other indexing ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/IndexingOps.h"

#include "mpopt/Dialect/InferenceSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/IndexingOps.cpp.inc"

void MPDialect::registerIndexingOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/IndexingOps.cpp.inc"
      >();
}

/// `shape` without dim `axis`, and `replacement` in its place.
static Shape replaceDim(Shape shape, int64_t axis,
                        ArrayRef<int64_t> replacement) {
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, replacement.begin(), replacement.end());
  return shape;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  MaybeShape input = getShape(getInput()), indices = getShape(getIndices());
  MaybeShape result;
  if (input) {
    FailureOr<int64_t> axis = checkAxis(*this, getAxis(), input->size());
    if (failed(axis))
      return failure();
    if (indices)
      result = replaceDim(*input, *axis, *indices);
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

/// Along any axis: element (o, i, n) of the result is (o, index, n) of the
/// input, with o before the axis and n after it.
Elements GatherOp::inferElements(const ShapeFacts &facts) {
  MaybeShape shape = getShape(getInput());
  if (!shape)
    return std::nullopt;
  Elements indices = facts.elements(getIndices());
  Elements input = indices ? facts.elements(getInput()) : Elements();
  std::optional<int64_t> axis = normalizeAxis(getAxis(), shape->size());
  std::optional<int64_t> count = getNumElements(getShape(getResult()));
  if (!input || !indices || !axis || !count ||
      *count > ShapeFacts::kMaxElements)
    return std::nullopt;
  // Small, since the input has at most kMaxElements, unless it has none.
  if (*count == 0)
    return Elements(std::in_place);
  ArrayRef<int64_t> dims(*shape);
  int64_t outer = multiplyDims(dims.take_front(*axis)), size = dims[*axis];
  int64_t inner = multiplyDims(dims.drop_front(*axis + 1));
  Elements result(std::in_place);
  for (int64_t o = 0; o < outer; ++o)
    for (std::optional<int64_t> index : *indices)
      for (int64_t n = 0; n < inner; ++n) {
        int64_t place = index.value_or(size);
        if (place < 0)
          place += size;
        result->push_back(place >= 0 && place < size
                              ? (*input)[(o * size + place) * inner + n]
                              : std::nullopt);
      }
  return result;
}

LogicalResult EmbeddingOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "table", getTable(), {2})))
    return failure();
  MaybeShape table = getShape(getTable()), result = getShape(getIndices());
  if (result)
    result->push_back(table ? table->back() : kDynamic);
  types.push_back(getTensorType(result, getElementType(getTable())));
  return success();
}

LogicalResult GatherElementsOp::inferResultTypes(const ShapeFacts &,
                                                 SmallVectorImpl<Type> &types) {
  MaybeShape input = getShape(getInput()), result = getShape(getIndices());
  if (input && failed(checkAxis(*this, getAxis(), input->size())))
    return failure();
  if (input && result && input->size() != result->size())
    return emitOpError("input has rank ")
           << input->size() << ", indices " << result->size();
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

LogicalResult GatherNDOp::inferResultTypes(const ShapeFacts &,
                                           SmallVectorImpl<Type> &types) {
  MaybeShape input = getShape(getInput()), indices = getShape(getIndices());
  MaybeShape result;
  int64_t batch = getBatchDims();
  if (batch < 0)
    return emitOpError("has batch_dims ") << batch;
  for (const MaybeShape *shape : {&input, &indices})
    if (*shape && batch >= int64_t((*shape)->size()))
      return emitOpError("has ")
             << batch << " batch dims of an operand of rank "
             << (*shape)->size();
  if (input && indices && indices->back() != kDynamic) {
    int64_t tuple = indices->back(), rank = input->size();
    if (tuple < 1 || tuple > rank - batch)
      return emitOpError("has index tuples of length ")
             << tuple << " for rank " << rank << " after " << batch
             << " batch dims";
    result = Shape(indices->begin(), indices->end() - 1);
    result->append(input->begin() + batch + tuple, input->end());
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static LogicalResult checkReduction(Operation *op, StringRef reduction) {
  return checkWord<ScatterReduction>(op, "reduction", reduction,
                                     getMaxEnumValForScatterReduction());
}

ArrayRef<StringRef> ScatterElementsOp::getFrameworkNames(Framework framework) {
  static const StringRef add[] = {"scatter_add", "scatter.reduce",
                                  "scatter_reduce.two"};
  static const StringRef reduce[] = {"scatter_reduce.two", "scatter.reduce"};
  static const StringRef replace[] = {"scatter.src", "scatter"};
  static const StringRef onnx[] = {"ScatterElements", "Scatter"};
  static const StringRef tensorflow[] = {"TensorScatterUpdate"};
  switch (framework) {
  case Framework::PyTorch:
    if (symbolizeScatterReduction(getReduction()) == ScatterReduction::Add)
      return add;
    return getReduction() == "none" ? ArrayRef<StringRef>(replace) : reduce;
  case Framework::TensorFlow:
    return tensorflow;
  case Framework::Onnx:
    return onnx;
  }
  return {};
}

LogicalResult
ScatterElementsOp::inferResultTypes(const ShapeFacts &,
                                    SmallVectorImpl<Type> &types) {
  if (failed(checkReduction(*this, getReduction())))
    return failure();
  if (MaybeShape input = getShape(getInput())) {
    int64_t rank = input->size();
    if (failed(checkAxis(*this, getAxis(), rank)) ||
        failed(checkRank(*this, "indices", getIndices(), {rank})) ||
        failed(checkRank(*this, "updates", getUpdates(), {rank})))
      return failure();
  }
  types.push_back(getInput().getType());
  return success();
}

LogicalResult ScatterNDOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  if (failed(checkReduction(*this, getReduction())))
    return failure();
  MaybeShape input = getShape(getInput()), indices = getShape(getIndices());
  if (indices && indices->empty())
    return emitOpError("indices need a dim");
  if (input && indices && indices->back() != kDynamic) {
    int64_t tuple = indices->back(), rank = input->size();
    if (tuple < 0 || tuple > rank)
      return emitOpError("has index tuples of length ")
             << tuple << " for rank " << rank;
    int64_t expected = int64_t(indices->size()) - 1 + rank - tuple;
    if (failed(checkRank(*this, "updates", getUpdates(), {expected})))
      return failure();
  }
  types.push_back(getInput().getType());
  return success();
}

LogicalResult MaskedFillOp::inferResultTypes(const ShapeFacts &,
                                             SmallVectorImpl<Type> &types) {
  return inferBroadcast(*this, getOperands(), types,
                        getElementType(getInput()));
}

//===----------------------------------------------------------------------===//
// Results whose length depends on values
//===----------------------------------------------------------------------===//

LogicalResult CompressOp::inferResultTypes(const ShapeFacts &facts,
                                           SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "condition", getCondition(), {1})))
    return failure();
  int64_t count = kDynamic;
  if (auto condition = facts.constants(getCondition()))
    count = llvm::count_if(*condition, [](int64_t set) { return set != 0; });
  MaybeShape input = getShape(getInput()), result;
  if (!getAxis()) {
    result = Shape{count};
  } else if (input) {
    FailureOr<int64_t> axis = checkAxis(*this, *getAxis(), input->size());
    if (failed(axis))
      return failure();
    result = replaceDim(*input, *axis, {count});
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

LogicalResult NonZeroOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  MaybeShape input = getShape(getInput());
  types.push_back(
      getTensorType(Shape{input ? int64_t(input->size()) : kDynamic, kDynamic},
                    Builder(getContext()).getI64Type()));
  return success();
}

LogicalResult UniqueOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  MaybeShape input = getShape(getInput()), values;
  int64_t inverse = kDynamic;
  if (!getAxis()) {
    values = Shape{kDynamic};
    inverse = getNumElements(input).value_or(kDynamic);
  } else if (input) {
    FailureOr<int64_t> axis = checkAxis(*this, *getAxis(), input->size());
    if (failed(axis))
      return failure();
    inverse = (*input)[*axis];
    values = replaceDim(*input, *axis, {kDynamic});
  }
  Type i64 = Builder(getContext()).getI64Type();
  types.push_back(getTensorType(values, getElementType(getInput())));
  types.push_back(getTensorType(Shape{kDynamic}, i64));
  types.push_back(getTensorType(Shape{inverse}, i64));
  types.push_back(getTensorType(Shape{kDynamic}, i64));
  return success();
}

LogicalResult
NonMaxSuppressionOp::inferResultTypes(const ShapeFacts &,
                                      SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "boxes", getBoxes(), {3})) ||
      failed(checkRank(*this, "scores", getScores(), {3})))
    return failure();
  if (MaybeShape boxes = getShape(getBoxes());
      boxes && boxes->back() != kDynamic && boxes->back() != 4)
    return emitOpError("boxes have ") << boxes->back() << " coordinates, not 4";
  types.push_back(
      getTensorType(Shape{kDynamic, 3}, Builder(getContext()).getI64Type()));
  return success();
}
