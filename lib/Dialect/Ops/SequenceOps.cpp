//===- SequenceOps.cpp - Sequences, optionals and strings -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/SequenceOps.h"

#include "mpopt/Dialect/ElementSupport.h"
#include "mpopt/Dialect/InferenceSupport.h"
#include "mpopt/Dialect/TypeJoin.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/SequenceOps.cpp.inc"

void MPDialect::registerSequenceOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/SequenceOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// The element type of a sequence or optional; an unknown tensor if it is not
/// known.
static Type getHeldType(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return sequence.getElementType();
  if (auto optional = dyn_cast<OptionalType>(type))
    return getHeldType(optional.getElementType());
  return getUnknownTensor(type.getContext());
}

static Type getScalar(Type elementType) {
  return RankedTensorType::get({}, elementType);
}

LogicalResult
SequenceConstructOp::inferResultTypes(const ShapeFacts &,
                                      SmallVectorImpl<Type> &types) {
  if (getElements().empty()) {
    types.push_back(getType());
    return success();
  }
  Type held = getElements().front().getType();
  for (Value element : getElements().drop_front())
    held = joinTypes(held, element.getType());
  types.push_back(SequenceType::get(getContext(), held));
  return success();
}

LogicalResult SequenceEmptyOp::inferResultTypes(const ShapeFacts &,
                                                SmallVectorImpl<Type> &types) {
  types.push_back(getType());
  return success();
}

LogicalResult SequenceInsertOp::inferResultTypes(const ShapeFacts &,
                                                 SmallVectorImpl<Type> &types) {
  Type element = getElement().getType();
  bool wasEmpty = getSequence().getDefiningOp<SequenceEmptyOp>() != nullptr;
  types.push_back(SequenceType::get(
      getContext(),
      wasEmpty ? element
               : joinTypes(getHeldType(getSequence().getType()), element)));
  return success();
}

LogicalResult SequenceEraseOp::inferResultTypes(const ShapeFacts &,
                                                SmallVectorImpl<Type> &types) {
  types.push_back(getSequence().getType());
  return success();
}

LogicalResult SequenceAtOp::inferResultTypes(const ShapeFacts &facts,
                                             SmallVectorImpl<Type> &types) {
  auto list = getSequence().getDefiningOp<SequenceConstructOp>();
  std::optional<SmallVector<int64_t>> position = facts.constants(getPosition());
  if (list && position && position->size() == 1) {
    std::optional<int64_t> index =
        normalizeAxis(position->front(), list.getElements().size());
    if (!index)
      return emitOpError("position ") << position->front() << " of a list of "
                                      << list.getElements().size();
    types.push_back(list.getElements()[*index].getType());
    return success();
  }
  types.push_back(getHeldType(getSequence().getType()));
  return success();
}

LogicalResult SequenceLengthOp::inferResultTypes(const ShapeFacts &,
                                                 SmallVectorImpl<Type> &types) {
  types.push_back(getScalar(IntegerType::get(getContext(), 64)));
  return success();
}

Elements SequenceLengthOp::inferElements(const ShapeFacts &) {
  Elements length(std::in_place, 1);
  if (auto list = getSequence().getDefiningOp<SequenceConstructOp>())
    length->front() = list.getElements().size();
  else if (getSequence().getDefiningOp<SequenceEmptyOp>())
    length->front() = 0;
  return length;
}

LogicalResult
SplitToSequenceOp::inferResultTypes(const ShapeFacts &facts,
                                    SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(getInput());
  Type element = getElementType(getInput());
  if (!shape) {
    types.push_back(
        SequenceType::get(getContext(), getTensorType(shape, element)));
    return success();
  }
  std::optional<int64_t> axis = normalizeAxis(getAxis(), shape->size());
  if (!axis)
    return emitOpError("axis ") << int64_t(getAxis()) << " is out of range of "
                                << getInput().getType();
  int64_t &dim = (*shape)[*axis];
  if (Value split = getSplit()) {
    std::optional<SmallVector<int64_t>> sizes = facts.constants(split);
    MaybeShape splitShape = getShape(split);
    bool same =
        sizes && splitShape && !sizes->empty() && llvm::all_equal(*sizes);
    // One size for all: the last slice is what is left.
    if (same && splitShape->empty())
      same = sizes->front() > 0 && dim != kDynamic && dim % sizes->front() == 0;
    dim = same ? sizes->front() : kDynamic;
  } else if (getKeepDims()) {
    dim = 1;
  } else {
    shape->erase(shape->begin() + *axis);
  }
  types.push_back(
      SequenceType::get(getContext(), getTensorType(shape, element)));
  return success();
}

LogicalResult SplitToSequenceOp::verify() {
  MaybeShape split =
      getSplit() ? getShape(getSplit()) : MaybeShape(std::in_place);
  if (split && split->size() > 1)
    return emitOpError("split must be a scalar or a list");
  return success();
}

LogicalResult
ConcatFromSequenceOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  Type held = getHeldType(getSequence().getType());
  MaybeShape shape = getShape(held);
  if (!shape) {
    types.push_back(getTensorType(std::nullopt, getElementType(held)));
    return success();
  }
  int64_t rank = shape->size() + (getNewAxis() ? 1 : 0);
  std::optional<int64_t> axis = normalizeAxis(getAxis(), rank);
  if (!axis)
    return emitOpError("axis ")
           << int64_t(getAxis()) << " is out of range of elements of type "
           << held;
  auto list = getSequence().getDefiningOp<SequenceConstructOp>();
  if (getNewAxis()) {
    shape->insert(shape->begin() + *axis,
                  list ? int64_t(list.getElements().size()) : kDynamic);
  } else {
    int64_t total = list ? 0 : kDynamic;
    for (Value element : list ? list.getElements()
                              : OperandRange(getOperation()->operand_end(),
                                             getOperation()->operand_end())) {
      MaybeShape other = getShape(element);
      int64_t dim =
          other && other->size() == shape->size() ? (*other)[*axis] : kDynamic;
      total = addDims(total, dim);
    }
    (*shape)[*axis] = total;
  }
  types.push_back(getTensorType(shape, getElementType(held)));
  return success();
}

//===----------------------------------------------------------------------===//
// SequenceMapOp
//===----------------------------------------------------------------------===//

LogicalResult SequenceMapOp::inferResultTypes(const ShapeFacts &,
                                              SmallVectorImpl<Type> &types) {
  if (getBody().empty() || getBody().front().empty() ||
      getBody().front().back().getNumOperands() != getNumResults()) {
    llvm::append_range(types, getResultTypes());
    return success();
  }
  for (Type yielded : getBody().front().back().getOperandTypes())
    types.push_back(SequenceType::get(getContext(), yielded));
  return success();
}

void SequenceMapOp::setRegionArguments(bool) {
  if (getBody().empty())
    return;
  for (auto [input, argument] :
       llvm::zip(getInputs(), getBody().getArguments()))
    argument.setType(isa<SequenceType>(input.getType())
                         ? getHeldType(input.getType())
                         : input.getType());
}

// Nothing goes from one element's run to the next one's.
bool SequenceMapOp::widenRegionArguments(bool) { return false; }

void SequenceMapOp::getSuccessorRegions(
    RegionBranchPoint, SmallVectorImpl<RegionSuccessor> &successors) {
  // The op itself makes the arguments and the results.
  successors.emplace_back(&getBody());
  successors.emplace_back(getOperation(),
                          getOperation()->getResults().take_front(0));
}

LogicalResult SequenceMapOp::verifyRegions() {
  if (getInputs().empty())
    return emitOpError("needs a sequence");
  if (getBody().getNumArguments() != getInputs().size())
    return emitOpError("body must have ")
           << getInputs().size() << " arguments, has "
           << getBody().getNumArguments();
  if (getBody().front().empty() ||
      getBody().front().back().getName().getStringRef() != "mp.yield" ||
      getBody().front().back().getNumOperands() != getNumResults())
    return emitOpError("body must yield ") << getNumResults() << " values";
  return success();
}

//===----------------------------------------------------------------------===//
// Optionals
//===----------------------------------------------------------------------===//

LogicalResult OptionalOp::inferResultTypes(const ShapeFacts &,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(getInput()
                      ? OptionalType::get(getContext(), getInput().getType())
                      : getType());
  return success();
}

LogicalResult
OptionalGetElementOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  auto optional = dyn_cast<OptionalType>(getInput().getType());
  types.push_back(optional ? optional.getElementType() : getInput().getType());
  return success();
}

LogicalResult
OptionalHasElementOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(getScalar(IntegerType::get(getContext(), 1)));
  return success();
}

Elements OptionalHasElementOp::inferElements(const ShapeFacts &) {
  Elements has(std::in_place, 1);
  if (!getInput())
    has->front() = 0;
  else if (auto made = getInput().getDefiningOp<OptionalOp>())
    has->front() = made.getInput() ? 1 : 0;
  else if (isa<SequenceType>(getInput().getType()))
    has->front() = 1;
  return has;
}

//===----------------------------------------------------------------------===//
// Strings and images
//===----------------------------------------------------------------------===//

LogicalResult StringConcatOp::inferResultTypes(const ShapeFacts &,
                                               SmallVectorImpl<Type> &types) {
  return inferBroadcast(*this, (*this)->getOperands(), types,
                        StringType::get(getContext()));
}

LogicalResult
StringNormalizerOp::inferResultTypes(const ShapeFacts &,
                                     SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(getInput());
  if (shape && !shape->empty() && getStopWords() && !getStopWords()->empty())
    shape->back() = kDynamic;
  types.push_back(getTensorType(shape, StringType::get(getContext())));
  return success();
}

LogicalResult StringNormalizerOp::verify() {
  MaybeShape shape = getShape(getInput());
  if (shape && shape->size() != 1 &&
      (shape->size() != 2 || ((*shape)[0] != 1 && (*shape)[0] != kDynamic)))
    return emitOpError("input must be a list or one row of strings");
  if (!llvm::is_contained({"LOWER", "UPPER", "NONE"}, getCaseAction()))
    return emitOpError("case_action must be LOWER, UPPER or NONE, is ")
           << getCaseAction();
  return success();
}

LogicalResult StringSplitOp::inferResultTypes(const ShapeFacts &,
                                              SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(getInput()), parts = shape;
  if (parts)
    parts->push_back(kDynamic);
  types.push_back(getTensorType(parts, StringType::get(getContext())));
  types.push_back(getTensorType(shape, IntegerType::get(getContext(), 64)));
  return success();
}

LogicalResult RegexFullMatchOp::inferResultTypes(const ShapeFacts &,
                                                 SmallVectorImpl<Type> &types) {
  types.push_back(
      getTensorType(getShape(getInput()), IntegerType::get(getContext(), 1)));
  return success();
}

LogicalResult
TfIdfVectorizerOp::inferResultTypes(const ShapeFacts &,
                                    SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(getInput());
  if (shape && !shape->empty())
    shape->back() = addDims(*llvm::max_element(getNgramIndexes()), 1);
  types.push_back(getTensorType(shape, Float32Type::get(getContext())));
  return success();
}

LogicalResult TfIdfVectorizerOp::verify() {
  if (getNgramIndexes().empty())
    return emitOpError("needs n-grams");
  if (getWeights() && getWeights()->size() != getNgramIndexes().size())
    return emitOpError("needs one weight an n-gram");
  if (MaybeShape shape = getShape(getInput());
      shape && shape->size() != 1 && shape->size() != 2)
    return emitOpError("input must have rank 1 or 2");
  if (!llvm::is_contained({"TF", "IDF", "TFIDF"}, getMode()))
    return emitOpError("mode must be TF, IDF or TFIDF, is ") << getMode();
  return success();
}

LogicalResult ImageDecoderOp::inferResultTypes(const ShapeFacts &,
                                               SmallVectorImpl<Type> &types) {
  int64_t channels = getPixelFormat() == "Grayscale" ? 1 : 3;
  types.push_back(RankedTensorType::get(
      {kDynamic, kDynamic, channels},
      IntegerType::get(getContext(), 8, IntegerType::Unsigned)));
  return success();
}

LogicalResult ImageDecoderOp::verify() {
  if (!llvm::is_contained({"RGB", "BGR", "Grayscale"}, getPixelFormat()))
    return emitOpError("pixel_format must be RGB, BGR or Grayscale, is ")
           << getPixelFormat();
  return success();
}
