//===- View.cpp - Ops that move elements, and dims
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

using Numbers = std::optional<SmallVector<int64_t>>;

/// A list that is an attribute or an operand; nothing where it is neither.
static Numbers listOf(std::optional<ArrayRef<int64_t>> attribute, Value operand,
                      Evaluation &in) {
  if (attribute)
    return SmallVector<int64_t>(*attribute);
  return operand ? in.integers(operand) : std::nullopt;
}

static Array numbersOf(ArrayRef<int64_t> list) {
  Array array{{int64_t(list.size())}, {}};
  for (int64_t number : list)
    array.numbers.push_back(float(number));
  return array;
}

/// The axes from the front; nothing if one is out of range.
static Numbers normalize(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> list;
  for (int64_t axis : axes) {
    std::optional<int64_t> own = normalizeAxis(axis, rank);
    if (!own)
      return std::nullopt;
    list.push_back(*own);
  }
  return list;
}

static LogicalResult setAs(Value result, const Array &from, Shape shape,
                           Evaluation &in) {
  if (mpopt::sizeOf(shape) != from.size())
    return failure();
  in.set(result, {std::move(shape), from.numbers});
  return success();
}

//===----------------------------------------------------------------------===//
// Other dims
//===----------------------------------------------------------------------===//

static LogicalResult reshape(mp::ReshapeOp op, const Array &from,
                             Evaluation &in) {
  Numbers dims = in.integers(op.getShape());
  if (!dims)
    return failure();
  int64_t known = 1, open = -1;
  for (auto [axis, dim] : llvm::enumerate(*dims)) {
    if (dim == 0 && !op.getAllowZero()) {
      if (int64_t(axis) >= from.rank())
        return failure();
      dim = from.shape[axis];
    }
    if (dim < 0)
      open = int64_t(axis);
    else
      known *= dim;
  }
  if (open >= 0)
    (*dims)[size_t(open)] = known ? from.size() / known : 0;
  return setAs(op.getResult(), from, Shape(ArrayRef<int64_t>(*dims)), in);
}

static LogicalResult flatten(mp::FlattenOp op, const Array &from,
                             Evaluation &in) {
  int64_t axis = op.getAxis() + (op.getAxis() < 0 ? from.rank() : 0);
  if (axis < 0 || axis > from.rank())
    return failure();
  int64_t rows = mpopt::sizeOf(ArrayRef(from.shape).take_front(size_t(axis)));
  return setAs(
      op.getResult(), from,
      {rows, mpopt::sizeOf(ArrayRef(from.shape).drop_front(size_t(axis)))}, in);
}

static LogicalResult squeeze(mp::SqueezeOp op, const Array &from,
                             Evaluation &in) {
  Numbers given = listOf(op.getAxes(), op.getDynamicAxes(), in);
  Numbers axes = given ? normalize(*given, from.rank()) : Numbers();
  if ((op.getAxes() || op.getDynamicAxes()) && !axes)
    return failure();
  Shape shape;
  for (auto [axis, dim] : llvm::enumerate(from.shape))
    if (dim != 1 || (axes && !llvm::is_contained(*axes, int64_t(axis))))
      shape.push_back(dim);
  return setAs(op.getResult(), from, std::move(shape), in);
}

static LogicalResult unsqueeze(mp::UnsqueezeOp op, const Array &from,
                               Evaluation &in) {
  Numbers given = listOf(op.getAxes(), op.getDynamicAxes(), in);
  if (!given)
    return failure();
  int64_t rank = from.rank() + int64_t(given->size());
  Numbers axes = normalize(*given, rank);
  if (!axes)
    return failure();
  Shape shape;
  for (int64_t axis = 0, own = 0; axis < rank; ++axis)
    shape.push_back(llvm::is_contained(*axes, axis) || own >= from.rank()
                        ? 1
                        : from.shape[size_t(own++)]);
  return setAs(op.getResult(), from, std::move(shape), in);
}

static LogicalResult transpose(mp::TransposeOp op, const Array &from,
                               Evaluation &in) {
  SmallVector<int64_t> axes;
  for (int64_t axis = from.rank(); axis-- > 0;)
    axes.push_back(axis);
  if (auto perm = op.getPerm())
    axes.assign(perm->begin(), perm->end());
  if (int64_t(axes.size()) != from.rank())
    return failure();
  in.set(op.getResult(), permute(from, axes));
  return success();
}

static LogicalResult expand(mp::ExpandOp op, const Array &from,
                            Evaluation &in) {
  Numbers given = in.integers(op.getShape());
  if (!given)
    return failure();
  Shape wanted{ArrayRef<int64_t>(*given)};
  for (int64_t &dim : wanted)
    dim = dim < 0 ? 1 : dim;
  auto joined = broadcastShapes(from.shape, wanted);
  if (failed(joined) || !*joined)
    return failure();
  in.set(op.getResult(), broadcast(from, **joined));
  return success();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// From `start` to `end` of a dim, as NumPy slices it.
static std::optional<std::pair<int64_t, int64_t>>
clampSlice(int64_t start, int64_t end, int64_t step, int64_t dim) {
  if (step == 0)
    return std::nullopt;
  auto clamp = [&](int64_t at) {
    at += at < 0 ? dim : 0;
    return step > 0 ? std::clamp<int64_t>(at, 0, dim)
                    : std::clamp<int64_t>(at, -1, dim - 1);
  };
  int64_t first = clamp(start), last = clamp(end);
  int64_t span = step > 0 ? last - first : first - last;
  int64_t count = span > 0 ? (span - 1) / std::abs(step) + 1 : 0;
  return std::pair(first, count);
}

namespace {
/// A box of elements of an array.
struct Box {
  int64_t offset = 0;
  SmallVector<int64_t, 6> strides;
  Shape shape;
};
} // namespace

static std::optional<Box> sliceOf(const Shape &from, const Numbers &starts,
                                  const Numbers &ends, Numbers axes,
                                  const Numbers &steps) {
  if (!starts || !ends || starts->size() != ends->size())
    return std::nullopt;
  if (!axes) {
    axes.emplace();
    for (size_t axis = 0; axis < starts->size(); ++axis)
      axes->push_back(int64_t(axis));
  }
  axes = normalize(*axes, int64_t(from.size()));
  if (!axes || axes->size() != starts->size() ||
      (steps && steps->size() != starts->size()))
    return std::nullopt;
  Array dims{from, {}};
  Box box{0, dims.strides(), from};
  for (auto [number, axis] : llvm::enumerate(*axes)) {
    int64_t step = steps ? (*steps)[number] : 1;
    auto part = clampSlice((*starts)[number], (*ends)[number], step,
                           from[size_t(axis)]);
    if (!part)
      return std::nullopt;
    box.offset += part->first * box.strides[size_t(axis)];
    box.strides[size_t(axis)] *= step;
    box.shape[size_t(axis)] = part->second;
  }
  if (mpopt::sizeOf(box.shape) == 0)
    box.offset = 0;
  return box;
}

static LogicalResult slice(mp::SliceOp op, const Array &from, Evaluation &in) {
  Numbers axes = listOf(op.getAxes(), op.getDynamicAxes(), in),
          steps = listOf(op.getSteps(), op.getDynamicSteps(), in);
  if ((op.getDynamicAxes() && !axes) || (op.getDynamicSteps() && !steps))
    return failure();
  std::optional<Box> box =
      sliceOf(from.shape, listOf(op.getStarts(), op.getDynamicStarts(), in),
              listOf(op.getEnds(), op.getDynamicEnds(), in), axes, steps);
  if (!box)
    return failure();
  in.set(op.getResult(),
         takeStrided(from, box->offset, box->strides, box->shape));
  return success();
}

static LogicalResult sliceGradient(mp::SliceGradOp op, Evaluation &in) {
  const Array *grad = in.find(op.getGrad());
  Numbers shape = in.integers(op.getShape());
  if (!grad || !shape)
    return failure();
  auto list = [&](unsigned index) {
    return op->getNumOperands() > index ? in.integers(op->getOperand(index))
                                        : std::nullopt;
  };
  std::optional<Box> box = sliceOf(Shape(ArrayRef<int64_t>(*shape)), list(2),
                                   list(3), list(4), list(5));
  if (!box || box->shape != grad->shape)
    return failure();
  Array result = Array::zeros(Shape(ArrayRef<int64_t>(*shape)));
  float *first = result.numbers.data() + box->offset;
  forEachIndex(grad->shape, grad->strides(), box->strides,
               [&](int64_t source, int64_t target) {
                 first[target] += grad->numbers[size_t(source)];
               });
  in.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult split(mp::SplitOp op, const Array &from, Evaluation &in) {
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), from.rank());
  if (!axis || op->getNumResults() == 0)
    return failure();
  int64_t dim = from.shape[size_t(*axis)], count = op->getNumResults();
  Numbers sizes = listOf(op.getSizes(), op.getDynamicSizes(), in);
  if (!sizes && op.getDynamicSizes())
    return failure();
  if (!sizes) {
    int64_t each = (dim + count - 1) / count;
    sizes.emplace();
    for (int64_t part = 0; part < count; ++part)
      sizes->push_back(std::clamp<int64_t>(dim - part * each, 0, each));
  }
  int64_t first = 0;
  if (int64_t(sizes->size()) != count)
    return failure();
  for (auto [size, part] : llvm::zip_equal(*sizes, op.getParts())) {
    if (size < 0 || first + size > dim)
      return failure();
    Shape shape = from.shape;
    shape[size_t(*axis)] = size;
    in.set(part, takeStrided(from, first * from.stride(size_t(*axis)),
                             from.strides(), std::move(shape)));
    first += size;
  }
  return success();
}

static LogicalResult concat(mp::ConcatOp op, Evaluation &in) {
  SmallVector<const Array *> parts;
  for (Value input : op.getInputs())
    parts.push_back(in.find(input));
  if (parts.empty() || llvm::is_contained(parts, nullptr))
    return failure();
  Shape shape = parts.front()->shape;
  std::optional<int64_t> axis =
      normalizeAxis(op.getAxis(), int64_t(shape.size()));
  if (!axis)
    return failure();
  shape[size_t(*axis)] = 0;
  for (const Array *part : parts) {
    if (part->shape.size() != shape.size())
      return failure();
    for (size_t other = 0; other < shape.size(); ++other)
      if (int64_t(other) != *axis && part->shape[other] != shape[other])
        return failure();
    shape[size_t(*axis)] += part->shape[size_t(*axis)];
  }
  Array result = Array::zeros(std::move(shape));
  int64_t first = 0;
  for (const Array *part : parts) {
    if (part->size() > 0)
      place(*part, result, first * result.stride(size_t(*axis)));
    first += part->shape[size_t(*axis)];
  }
  in.set(op.getResult(), std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Copies and other orders
//===----------------------------------------------------------------------===//

static LogicalResult tile(mp::TileOp op, const Array &from, Evaluation &in) {
  Numbers repeats = in.integers(op.getRepeats());
  if (!repeats || int64_t(repeats->size()) != from.rank())
    return failure();
  // [r1, d1, r2, d2, ...], where the repeats are copies.
  SmallVector<int64_t, 6> own = from.strides(), strides;
  Shape apart, shape;
  for (auto [axis, count] : llvm::enumerate(*repeats)) {
    if (count < 0)
      return failure();
    apart.append({count, from.shape[axis]});
    strides.append({0, own[axis]});
    shape.push_back(count * from.shape[axis]);
  }
  return setAs(op.getResult(), takeStrided(from, 0, strides, apart),
               std::move(shape), in);
}

static LogicalResult reverse(mp::ReverseOp op, const Array &from,
                             Evaluation &in) {
  Numbers axes = normalize(op.getAxes(), from.rank());
  if (!axes || from.size() == 0)
    return failure();
  SmallVector<int64_t, 6> strides = from.strides();
  int64_t offset = 0;
  for (int64_t axis : *axes) {
    offset += (from.shape[size_t(axis)] - 1) * strides[size_t(axis)];
    strides[size_t(axis)] *= -1;
  }
  in.set(op.getResult(), takeStrided(from, offset, strides, from.shape));
  return success();
}

static LogicalResult roll(mp::RollOp op, const Array &from, Evaluation &in) {
  bool isFlat = !op.getAxes();
  Numbers axes =
      isFlat ? SmallVector<int64_t>{0} : normalize(*op.getAxes(), from.rank());
  if (!axes || axes->size() != op.getShifts().size())
    return failure();
  Array result = from;
  if (isFlat)
    result.shape = {from.size()};
  for (auto [axis, shift] : llvm::zip_equal(*axes, op.getShifts())) {
    Array before = result;
    int64_t dim = result.shape[size_t(axis)],
            stride = result.stride(size_t(axis));
    forEachLine(result, size_t(axis), [&](int64_t first) {
      for (int64_t i = 0; i < dim; ++i)
        result
            .numbers[size_t(first + ((i + shift) % dim + dim) % dim * stride)] =
            before.numbers[size_t(first + i * stride)];
    });
  }
  return setAs(op.getResult(), result, from.shape, in);
}

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

static LogicalResult shapeOf(mp::ShapeOp op, const Array &from,
                             Evaluation &in) {
  auto [first, last] = op.getBounds(from.rank());
  if (first < 0 || last > from.rank())
    return failure();
  in.set(op.getResult(),
         numbersOf(ArrayRef(from.shape)
                       .slice(size_t(first),
                              size_t(std::max<int64_t>(last - first, 0)))));
  return success();
}

static LogicalResult fill(mp::FillOp op, Evaluation &in) {
  Numbers dims = in.integers(op.getShape());
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dims || !value || value.getNumElements() != 1)
    return failure();
  double number = 0;
  Type type = value.getElementType();
  if (isa<FloatType>(type))
    number = value.getValues<llvm::APFloat>()[0].convertToDouble();
  else if (type.isInteger(1))
    number = value.getValues<bool>()[0];
  else if (isa<IntegerType>(type))
    number = double(value.getValues<llvm::APInt>()[0].getSExtValue());
  else
    return failure();
  in.set(op.getResult(),
         Array::full(Shape(ArrayRef<int64_t>(*dims)), float(number)));
  return success();
}

/// The axes along which each of two shapes was broadcast.
static LogicalResult broadcastAxes(mp::BroadcastGradientArgsOp op,
                                   Evaluation &in) {
  Numbers shapes[] = {in.integers(op.getFirst()), in.integers(op.getSecond())};
  if (!shapes[0] || !shapes[1])
    return failure();
  auto joined = broadcastShapes(Shape(ArrayRef<int64_t>(*shapes[0])),
                                Shape(ArrayRef<int64_t>(*shapes[1])));
  if (failed(joined) || !*joined)
    return failure();
  for (auto [shape, result] : llvm::zip_equal(shapes, op->getResults())) {
    SmallVector<int64_t> axes;
    size_t shift = (*joined)->size() - shape->size();
    for (auto [axis, dim] : llvm::enumerate(**joined))
      if (axis < shift || ((*shape)[axis - shift] == 1 && dim != 1))
        axes.push_back(int64_t(axis));
    in.set(result, numbersOf(axes));
  }
  return success();
}

/// Toward zero from float to integer; 0 or 1 to a boolean.
static Array cast(const Array &from, Type type) {
  Array result = from;
  if (type.isInteger(1)) {
    for (float &number : result.numbers)
      number = number != 0;
  } else if (isa<IntegerType>(type)) {
    for (float &number : result.numbers)
      number = std::trunc(number);
  }
  return result;
}

LogicalResult evaluation::evaluateView(Operation *op, Evaluation &in) {
  if (auto joined = dyn_cast<mp::ConcatOp>(op))
    return concat(joined, in);
  if (auto filled = dyn_cast<mp::FillOp>(op))
    return fill(filled, in);
  if (auto axes = dyn_cast<mp::BroadcastGradientArgsOp>(op))
    return broadcastAxes(axes, in);
  if (auto gradient = dyn_cast<mp::SliceGradOp>(op))
    return sliceGradient(gradient, in);
  const Array *from =
      op->getNumOperands() ? in.find(op->getOperand(0)) : nullptr;
  if (!from)
    return failure();
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::ReshapeOp each) { return reshape(each, *from, in); })
      .Case([&](mp::FlattenOp each) { return flatten(each, *from, in); })
      .Case([&](mp::SqueezeOp each) { return squeeze(each, *from, in); })
      .Case([&](mp::UnsqueezeOp each) { return unsqueeze(each, *from, in); })
      .Case([&](mp::TransposeOp each) { return transpose(each, *from, in); })
      .Case([&](mp::ExpandOp each) { return expand(each, *from, in); })
      .Case([&](mp::SliceOp each) { return slice(each, *from, in); })
      .Case([&](mp::SplitOp each) { return split(each, *from, in); })
      .Case([&](mp::TileOp each) { return tile(each, *from, in); })
      .Case([&](mp::ReverseOp each) { return reverse(each, *from, in); })
      .Case([&](mp::RollOp each) { return roll(each, *from, in); })
      .Case([&](mp::ShapeOp each) { return shapeOf(each, *from, in); })
      .Case([&](mp::SizeOp each) {
        in.set(each.getResult(), {{}, {float(from->size())}});
        return success();
      })
      .Case([&](mp::IdentityOp each) {
        in.set(each.getResult(), *from);
        return success();
      })
      .Case([&](mp::CastOp each) {
        in.set(each.getResult(), cast(*from, getElementType(each.getResult())));
        return success();
      })
      .Case([&](mp::ZeroGradientOp each) {
        in.set(each->getResult(0), Array::zeros(from->shape));
        return success();
      })
      .Default(failure());
}
