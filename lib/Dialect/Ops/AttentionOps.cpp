//===- AttentionOps.cpp - Attention and rotary embedding ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/AttentionOps.h"

#include "mpopt/Dialect/ElementSupport.h"
#include "mpopt/Dialect/InferenceSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/AttentionOps.cpp.inc"

void MPDialect::registerAttentionOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/AttentionOps.cpp.inc"
      >();
}

static bool differ(int64_t lhs, int64_t rhs) {
  return lhs >= 0 && rhs >= 0 && lhs != rhs;
}

namespace {
/// A query, key or value taken apart: leading dims, heads (nothing without a
/// head dim), sequence length, features of a head.
struct Heads {
  Shape leading;
  std::optional<int64_t> heads;
  int64_t length = kDynamic;
  int64_t size = kDynamic;
};
} // namespace

/// Nothing if the rank is unknown. `heads` as the attribute has it.
static std::optional<Heads> takeApart(Value operand, int64_t heads) {
  MaybeShape shape = getShape(operand);
  if (!shape || shape->size() < 2)
    return std::nullopt;
  Heads parts;
  size_t rank = shape->size();
  parts.length = (*shape)[rank - 2];
  parts.size = (*shape)[rank - 1];
  if (rank == 4) {
    parts.leading = {(*shape)[0]};
    parts.heads = (*shape)[1];
    return parts;
  }
  if (rank == 3 && heads > 0) {
    parts.leading = {(*shape)[0]};
    parts.length = (*shape)[1];
    parts.heads = heads;
    if (parts.size >= 0)
      parts.size /= heads;
    return parts;
  }
  parts.leading.assign(shape->begin(), shape->end() - 2);
  return parts;
}

static int64_t getKeyHeads(AttentionOp op) {
  return op.getKvNumHeads() ? op.getKvNumHeads() : op.getNumHeads();
}

LogicalResult AttentionOp::verify() {
  size_t extras = getExtras().size();
  if (extras == 1 || extras > 3)
    return emitOpError("has ")
           << extras << " results besides the output, 0, 2 or 3 are possible";
  if (!getPastKey() != !getPastValue())
    return emitOpError("needs past key and past value together");
  if (getScoresMode() > 3)
    return emitOpError("scores_mode must be 0 to 3");
  if (std::optional<Type> type = getSoftmaxType())
    if (!isa<FloatType>(*type))
      return emitOpError("softmax_type must be a float type, got ") << *type;
  int64_t heads = getNumHeads(), keyHeads = getKeyHeads(*this);
  if (heads < 0 || keyHeads < 0 || (keyHeads > 0 && heads % keyHeads))
    return emitOpError("kv_num_heads ")
           << keyHeads << " does not divide num_heads " << heads;
  const std::pair<Value, int64_t> operands[] = {
      {getQuery(), heads}, {getKey(), keyHeads}, {getValue(), keyHeads}};
  for (auto [operand, count] : operands) {
    MaybeShape shape = getShape(operand);
    if (!shape)
      continue;
    if (shape->size() < 2)
      return emitOpError("operand needs a length and features, got ")
             << operand.getType();
    if (shape->size() == 3 && count > 0 && shape->back() >= 0 &&
        shape->back() % count)
      return emitOpError("") << count << " heads do not divide the last dim of "
                             << operand.getType();
  }
  std::optional<Heads> query = takeApart(getQuery(), heads),
                       key = takeApart(getKey(), keyHeads),
                       value = takeApart(getValue(), keyHeads);
  if (query && key && differ(query->size, key->size))
    return emitOpError("query has ")
           << query->size << " features a head and key " << key->size;
  if (query && key && query->heads && key->heads && *query->heads > 0 &&
      *key->heads > 0 && *query->heads % *key->heads)
    return emitOpError("") << *key->heads << " key heads do not divide "
                           << *query->heads << " query heads";
  if (key && value && differ(key->length, value->length))
    return emitOpError("key has length ")
           << key->length << " and value " << value->length;
  if (Value mask = getMask()) {
    Type element = getElementType(mask);
    if (!isUnknown(element) && !element.isInteger(1) &&
        !isa<FloatType>(element))
      return emitOpError("mask must be boolean or float, got ")
             << mask.getType();
  }
  return success();
}

/// The query's layout with the value's features.
static FailureOr<MaybeShape> getOutputShape(AttentionOp op,
                                            const std::optional<Heads> &query,
                                            const std::optional<Heads> &key,
                                            int64_t features) {
  MaybeShape result = getShape(op.getQuery());
  if (!result || !query)
    return result;
  if (!query->heads && key) {
    FailureOr<MaybeShape> leading =
        broadcastShapes(query->leading, key->leading);
    if (failed(leading))
      return op.emitOpError("leading dims do not broadcast: ")
             << op.getOperandTypes();
    result = *leading;
    result->push_back(query->length);
    result->push_back(features);
    return result;
  }
  if (query->heads && key && !key->leading.empty()) {
    std::optional<int64_t> batch =
        broadcastDim(query->leading[0], key->leading[0]);
    if (!batch)
      return op.emitOpError("batches do not fit: ") << op.getOperandTypes();
    (*result)[0] = *batch;
  }
  bool packed = query->heads && result->size() == 3;
  result->back() = packed ? multiplyDims(features, *query->heads) : features;
  return result;
}

LogicalResult AttentionOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  int64_t keyHeads = getKeyHeads(*this);
  std::optional<Heads> query = takeApart(getQuery(), getNumHeads()),
                       key = takeApart(getKey(), keyHeads),
                       value = takeApart(getValue(), keyHeads);
  Type element = promoteElementTypes(getElementType(getQuery()),
                                     getElementType(getValue()));

  FailureOr<MaybeShape> result =
      getOutputShape(*this, query, key, value ? value->size : kDynamic);
  if (failed(result))
    return failure();
  types.push_back(getTensorType(*result, element));
  if (getExtras().empty())
    return success();

  // Present key and value: past and new one after the other.
  MaybeShape past =
      getPastKey() ? getShape(getPastKey()) : MaybeShape(Shape{0, 0, 0, 0});
  int64_t before = past && past->size() == 4 ? (*past)[2] : kDynamic;
  int64_t total = key && key->length >= 0 && before >= 0 && !getCacheBuffer()
                      ? addDims(before, key->length)
                      : kDynamic;
  auto present = [&](const std::optional<Heads> &parts, Value operand) {
    Shape shape{kDynamic, kDynamic, total, kDynamic};
    if (parts) {
      shape[0] = parts->leading.empty() ? kDynamic : parts->leading[0];
      shape[1] = parts->heads.value_or(kDynamic);
      shape[3] = parts->size;
    }
    return getTensorType(shape, getElementType(operand));
  };
  types.push_back(present(key, getKey()));
  types.push_back(present(value, getValue()));
  if (getExtras().size() == 3)
    types.push_back(getTensorType(
        Shape{query && !query->leading.empty() ? query->leading[0] : kDynamic,
              query ? query->heads.value_or(kDynamic) : kDynamic,
              query ? query->length : kDynamic, total},
        getElementType(getQuery())));
  return success();
}

//===----------------------------------------------------------------------===//
// RotaryEmbeddingOp
//===----------------------------------------------------------------------===//

LogicalResult RotaryEmbeddingOp::verify() {
  if (int64_t(getNumHeads()) < 0 || int64_t(getRotaryDim()) < 0 ||
      getRotaryDim() % 2)
    return emitOpError("num_heads must not be negative and rotary_dim even");
  MaybeShape input = getShape(getInput());
  if (input && input->size() != 3 && input->size() != 4)
    return emitOpError("input must have three or four dims, got ")
           << getInput().getType();
  for (Value table : {getCos(), getSin()}) {
    MaybeShape shape = getShape(table);
    if (shape && shape->size() != 2 && shape->size() != 3)
      return emitOpError("cos and sin must have two or three dims, got ")
             << table.getType();
    if (shape && getRotaryDim() && differ(shape->back(), getRotaryDim() / 2))
      return emitOpError("cos and sin need ")
             << getRotaryDim() / 2 << " columns, got " << table.getType();
  }
  return success();
}

LogicalResult
RotaryEmbeddingOp::inferResultTypes(const ShapeFacts &,
                                    SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  types.push_back(getInput().getType());
  return success();
}
