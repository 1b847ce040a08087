//===- View.cpp - Samples of ops that move elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Samples.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::samples;

/// Calls `visit` with the offsets, in both arrays, of each index of a box whose
/// strides in them are given.
static void forEach(ArrayRef<int64_t> size, ArrayRef<int64_t> from,
                    ArrayRef<int64_t> to,
                    llvm::function_ref<void(int64_t, int64_t)> visit) {
  SmallVector<int64_t, 6> index(size.size(), 0);
  int64_t count = 1, source = 0, target = 0;
  for (int64_t dim : size)
    count *= dim;
  for (int64_t at = 0; at < count; ++at) {
    visit(source, target);
    for (size_t axis = size.size(); axis-- > 0;) {
      source += from[axis];
      target += to[axis];
      if (++index[axis] < size[axis])
        break;
      source -= from[axis] * index[axis];
      target -= to[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

static SmallVector<int64_t, 6> stridesOf(const Array &array) {
  SmallVector<int64_t, 6> strides;
  for (size_t axis = 0; axis < array.shape.size(); ++axis)
    strides.push_back(array.stride(axis));
  return strides;
}

/// The elements from `offset` on, so far apart along the axes of `shape`.
static Array strided(const Array &from, int64_t offset,
                     ArrayRef<int64_t> strides, Shape shape) {
  Array result = Array::zeros(from.count, std::move(shape));
  SmallVector<int64_t, 6> own = stridesOf(result);
  for (int64_t at = 0; at < from.count; ++at) {
    ArrayRef<float> read = from.evaluation(at).drop_front(size_t(offset));
    MutableArrayRef<float> written = result.evaluation(at);
    const float *first = read.data();
    forEach(result.shape, strides, own, [&](int64_t source, int64_t target) {
      written[size_t(target)] = first[source];
    });
  }
  return result;
}

/// Writes an array into a box of `to` that begins at `offset`.
static void place(const Array &from, Array &to, int64_t offset) {
  SmallVector<int64_t, 6> own = stridesOf(from), strides = stridesOf(to);
  for (int64_t at = 0; at < to.count; ++at) {
    ArrayRef<float> read = from.evaluation(at);
    MutableArrayRef<float> written =
        to.evaluation(at).drop_front(size_t(offset));
    forEach(from.shape, own, strides, [&](int64_t source, int64_t target) {
      written[size_t(target)] = read[size_t(source)];
    });
  }
}

/// The dims of a type, with those of `known` where they are open.
static Result reshape(const Array &from, OpResult result) {
  MaybeShape shape = getShape(result);
  if (!shape || llvm::count(*shape, kDynamic) > 1)
    return std::nullopt;
  int64_t known = 1;
  for (int64_t dim : *shape)
    known *= dim < 0 ? 1 : dim;
  for (int64_t &dim : *shape)
    if (dim < 0)
      dim = known ? from.size() / known : 0;
  Array made{from.count, *shape, from.numbers};
  return made.size() == from.size() ? Result(std::move(made)) : std::nullopt;
}

static Result transpose(mp::TransposeOp op, const Array &from) {
  size_t rank = from.shape.size();
  SmallVector<int64_t, 6> strides;
  Shape shape;
  for (size_t axis = 0; axis < rank; ++axis) {
    auto given = op.getPerm();
    size_t own = given ? size_t((*given)[axis]) : rank - 1 - axis;
    strides.push_back(from.stride(own));
    shape.push_back(from.shape[own]);
  }
  return strided(from, 0, strides, std::move(shape));
}

static Result slice(mp::SliceOp op, const Array &from, Samples &samples) {
  auto parts = partsOf(op, from.shape, samples.ctx);
  if (!parts)
    return std::nullopt;
  Shape shape;
  SmallVector<int64_t, 6> strides = stridesOf(from);
  int64_t offset = 0;
  for (auto [axis, part] : llvm::enumerate(*parts)) {
    offset += part.offset * strides[axis];
    strides[axis] *= part.stride;
    shape.push_back(part.count);
  }
  return strided(from, offset, strides, std::move(shape));
}

static Result split(mp::SplitOp op, OpResult result, const Array &from) {
  std::optional<int64_t> axis =
      normalizeAxis(op.getAxis(), int64_t(from.shape.size()));
  int64_t first = 0;
  for (OpResult part : op.getParts()) {
    std::optional<int64_t> size =
        axis ? TransferContext::dimOf(part, *axis) : std::nullopt;
    if (!size || first + *size > from.shape[*axis])
      return std::nullopt;
    if (part == result) {
      Shape shape = from.shape;
      shape[*axis] = *size;
      return strided(from, first * from.stride(*axis), stridesOf(from),
                     std::move(shape));
    }
    first += *size;
  }
  return std::nullopt;
}

static Result concat(mp::ConcatOp op, Samples &samples) {
  SmallVector<const Array *> parts;
  for (Value input : op.getInputs())
    parts.push_back(samples.find(input));
  if (llvm::is_contained(parts, nullptr))
    return std::nullopt;
  Shape shape = parts.front()->shape;
  std::optional<int64_t> axis =
      normalizeAxis(op.getAxis(), int64_t(shape.size()));
  if (!axis)
    return std::nullopt;
  int64_t count = 1;
  shape[*axis] = 0;
  for (const Array *part : parts) {
    if (part->shape.size() != shape.size())
      return std::nullopt;
    for (size_t other = 0; other < shape.size(); ++other)
      if (int64_t(other) != *axis && part->shape[other] != shape[other])
        return std::nullopt;
    count = std::max(count, part->count);
    shape[*axis] += part->shape[*axis];
  }
  Array result = Array::zeros(count, std::move(shape));
  int64_t first = 0;
  for (const Array *part : parts) {
    place(*part, result, first * result.stride(*axis));
    first += part->shape[*axis];
  }
  return result;
}

/// Constant borders.
static Result pad(mp::PadOp op, const Array &from, Samples &samples) {
  auto parts = partsOf(op, from.shape, samples.ctx);
  std::optional<double> border = borderOf(op, samples.ctx);
  if (!parts || !border || llvm::any_of(*parts, [](const AxisSlice &part) {
        return part.offset > 0 || part.of(part.count) < part.size;
      }))
    return std::nullopt;
  Shape shape;
  for (const AxisSlice &part : *parts)
    shape.push_back(part.count);
  Array result = Array::zeros(from.count, std::move(shape));
  llvm::fill(result.numbers, float(*border));
  int64_t offset = 0;
  for (auto [axis, part] : llvm::enumerate(*parts))
    offset -= part.offset * result.stride(axis);
  place(from, result, offset);
  return result;
}

Result samples::evaluateView(OpResult result, Samples &samples) {
  Operation *op = result.getOwner();
  const Array *from = samples.find(op->getOperand(0));
  if (auto joined = dyn_cast<mp::ConcatOp>(op))
    return concat(joined, samples);
  if (!from)
    return std::nullopt;
  return TypeSwitch<Operation *, Result>(op)
      .Case<mp::ReshapeOp, mp::FlattenOp, mp::SqueezeOp, mp::UnsqueezeOp>(
          [&](auto) { return reshape(*from, result); })
      .Case<mp::IdentityOp, mp::CastOp>([&](auto) { return *from; })
      .Case([&](mp::TransposeOp each) { return transpose(each, *from); })
      .Case([&](mp::SliceOp each) { return slice(each, *from, samples); })
      .Case([&](mp::SplitOp each) { return split(each, result, *from); })
      .Case([&](mp::PadOp each) { return pad(each, *from, samples); })
      .Default(std::nullopt);
}
