//===- ConstantLayout.cpp - Constants that were cut and joined
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/ConstantLayout.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;

/// Deeper chains are no layout of weights.
static constexpr unsigned kMostDepth = 16;

static std::optional<std::vector<double>>
read(TransferContext &ctx, Value value, int64_t most, unsigned depth);

namespace {
/// A tensor as rows of `row` elements, `count` of them for each place of the
/// axes in front of `axis`.
struct Rows {
  int64_t outer = 1, count = 0, row = 1;

  int64_t size() const { return outer * count * row; }
};
} // namespace

/// `value` cut along `axis`; nothing if its shape is not known.
static std::optional<Rows> getRows(Value value, int64_t axis) {
  MaybeShape shape = getShape(value);
  std::optional<int64_t> index =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  if (!index || !getNumElements(*shape))
    return std::nullopt;
  Rows rows;
  for (int64_t dim : ArrayRef(*shape).take_front(*index))
    rows.outer *= dim;
  rows.count = (*shape)[*index];
  for (int64_t dim : ArrayRef(*shape).drop_front(*index + 1))
    rows.row *= dim;
  return rows;
}

static std::optional<std::vector<double>>
readSlice(TransferContext &ctx, mp::SliceOp op, int64_t most, unsigned depth) {
  auto starts = op.getStarts(), ends = op.getEnds(), axes = op.getAxes(),
       steps = op.getSteps();
  if (!starts || !ends || !axes || starts->size() != 1 || ends->size() != 1 ||
      axes->size() != 1 || (steps && (steps->size() != 1 || (*steps)[0] != 1)))
    return std::nullopt;
  std::optional<Rows> rows = getRows(op.getInput(), (*axes)[0]);
  if (!rows)
    return std::nullopt;
  auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rows->count : at, 0, rows->count);
  };
  int64_t first = place((*starts)[0]), last = place((*ends)[0]);
  auto whole = read(ctx, op.getInput(), most, depth);
  if (!whole || int64_t(whole->size()) != rows->size() || last <= first)
    return std::nullopt;
  std::vector<double> cut;
  for (int64_t outer = 0; outer < rows->outer; ++outer) {
    auto from = whole->begin() + outer * rows->count * rows->row;
    cut.insert(cut.end(), from + first * rows->row, from + last * rows->row);
  }
  return cut;
}

static std::optional<std::vector<double>> readConcat(TransferContext &ctx,
                                                     mp::ConcatOp op,
                                                     int64_t most,
                                                     unsigned depth) {
  std::vector<std::pair<Rows, std::vector<double>>> parts;
  int64_t size = 0;
  for (Value part : op->getOperands()) {
    std::optional<Rows> rows = getRows(part, op.getAxis());
    auto elements = rows ? read(ctx, part, most, depth) : std::nullopt;
    if (!elements || int64_t(elements->size()) != rows->size())
      return std::nullopt;
    size += rows->size();
    if (size > most || (!parts.empty() && parts[0].first.outer != rows->outer))
      return std::nullopt;
    parts.emplace_back(*rows, std::move(*elements));
  }
  std::vector<double> joined;
  for (int64_t outer = 0; !parts.empty() && outer < parts[0].first.outer;
       ++outer)
    for (const auto &[rows, elements] : parts) {
      auto from = elements.begin() + outer * rows.count * rows.row;
      joined.insert(joined.end(), from, from + rows.count * rows.row);
    }
  return joined;
}

static std::optional<std::vector<double>>
readCast(TransferContext &ctx, mp::CastOp op, int64_t most, unsigned depth) {
  const FloatFormat *from = getFloatFormat(getElementType(op.getInput())),
                    *to = getFloatFormat(getElementType(op.getResult()));
  auto elements =
      from && to ? read(ctx, op.getInput(), most, depth) : std::nullopt;
  if (elements)
    for (double &element : *elements)
      element = to->round(element);
  return elements;
}

/// The last two axes swapped.
static std::optional<std::vector<double>> readSwapped(TransferContext &ctx,
                                                      mp::TransposeOp op,
                                                      int64_t most,
                                                      unsigned depth) {
  std::optional<Rows> rows = getRows(op.getInput(), -2);
  auto from = rows ? read(ctx, op.getInput(), most, depth) : std::nullopt;
  SmallVector<int64_t> swapped;
  for (int64_t axis = 0, rank = getShape(op.getResult())->size(); axis < rank;
       ++axis)
    swapped.push_back(axis);
  if (!from || int64_t(from->size()) != rows->size())
    return std::nullopt;
  std::swap(swapped.back(), swapped[swapped.size() - 2]);
  if (op.getPerm() != ArrayRef(swapped))
    return std::nullopt;
  std::vector<double> to;
  for (int64_t outer = 0; outer < rows->outer; ++outer)
    for (int64_t column = 0; column < rows->row; ++column)
      for (int64_t row = 0; row < rows->count; ++row)
        to.push_back((*from)[(outer * rows->count + row) * rows->row + column]);
  return to;
}

/// Elements, each times its own or the only factor.
static std::optional<std::vector<double>>
readProduct(TransferContext &ctx, mp::MulOp op, int64_t most, unsigned depth) {
  auto elements = read(ctx, op.getLhs(), most, depth),
       factors = read(ctx, op.getRhs(), most, depth);
  if (!elements || !factors ||
      (factors->size() != 1 && factors->size() != elements->size()))
    return std::nullopt;
  for (auto [index, element] : llvm::enumerate(*elements))
    element *= (*factors)[factors->size() == 1 ? 0 : index];
  return elements;
}

/// Numbers for which codes stand, by one scale or by those along an axis.
static std::optional<std::vector<double>> readNumbers(TransferContext &ctx,
                                                      mp::DequantizeOp op,
                                                      int64_t most,
                                                      unsigned depth) {
  auto numbers = read(ctx, op.getInput(), most, depth),
       scales = read(ctx, op.getScale(), most, depth);
  auto zeros = op.getZeroPoint() ? read(ctx, op.getZeroPoint(), most, depth)
                                 : std::vector<double>(1, 0);
  std::optional<Rows> rows = getRows(op.getInput(), op.getAxis());
  auto fits = [&](const std::optional<std::vector<double>> &list) {
    return list && (list->size() == 1 || int64_t(list->size()) == rows->count);
  };
  if (!numbers || !rows || int64_t(numbers->size()) != rows->size() ||
      op.getBlockSize() != 0 || !fits(scales) || !fits(zeros))
    return std::nullopt;
  for (auto [index, number] : llvm::enumerate(*numbers)) {
    size_t at = index / size_t(rows->row) % size_t(rows->count);
    number = (number - (*zeros)[zeros->size() == 1 ? 0 : at]) *
             (*scales)[scales->size() == 1 ? 0 : at];
  }
  return numbers;
}

/// The ops that quantisers put between codes and a product.
static std::optional<std::vector<double>> readQuantized(TransferContext &ctx,
                                                        Operation *op,
                                                        int64_t most,
                                                        unsigned depth) {
  if (auto transpose = dyn_cast<mp::TransposeOp>(op))
    return readSwapped(ctx, transpose, most, depth);
  if (auto product = dyn_cast<mp::MulOp>(op))
    return readProduct(ctx, product, most, depth);
  if (auto codes = dyn_cast<mp::DequantizeOp>(op))
    return readNumbers(ctx, codes, most, depth);
  return std::nullopt;
}

static std::optional<std::vector<double>>
read(TransferContext &ctx, Value value, int64_t most, unsigned depth) {
  if (std::optional<WeightView> view = ctx.weights(value)) {
    if (view->size() > most)
      return std::nullopt;
    std::vector<double> elements(view->size());
    view->read(0, elements);
    return elements;
  }
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  if (isa<mp::UnsqueezeOp, mp::SqueezeOp, mp::ReshapeOp, mp::IdentityOp>(op))
    return read(ctx, op->getOperand(0), most, depth - 1);
  if (auto slice = dyn_cast<mp::SliceOp>(op))
    return readSlice(ctx, slice, most, depth - 1);
  if (auto concat = dyn_cast<mp::ConcatOp>(op))
    return readConcat(ctx, concat, most, depth - 1);
  if (auto cast = dyn_cast<mp::CastOp>(op))
    return readCast(ctx, cast, most, depth - 1);
  return readQuantized(ctx, op, most, depth - 1);
}

std::optional<std::vector<double>>
mpopt::readLaidOut(TransferContext &ctx, Value value, int64_t most) {
  return read(ctx, value, most, kMostDepth);
}
