//===- View.cpp - Steps of ops that move elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Step.h"

#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::linear;

namespace {
/// Each element of the result is one of one operand.
class ViewStep : public Step {
public:
  bool isExact() const override { return true; }
};

/// The same elements in row-major order: a box reads all of the operand, but
/// for a leading axis that both have.
class ReshapeStep : public ViewStep {
public:
  ReshapeStep(Value input, Shape from, Shape to, bool batch)
      : input(input), from(std::move(from)), to(std::move(to)), batch(batch) {}

  void trace(const Box &box, Trace &trace) const override {
    trace.read(input, inputBox(box));
    for (int64_t first : ArrayRef(box.first).drop_front(batch ? 1 : 0))
      trace.note(first);
  }

  void pull(const Part &part, Forms &forms) const override {
    Part &into = forms.of(input);
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      int64_t flat = 0;
      for (size_t axis = batch ? 1 : 0; axis < to.size(); ++axis)
        flat = flat * to[axis] + index[axis];
      Index own(from.size());
      for (size_t axis = from.size(); axis-- > (batch ? 1 : 0);) {
        own[axis] = flat % from[axis];
        flat /= from[axis];
      }
      if (batch)
        own[0] = index[0];
      forms.add(part.numbers.data() + size_t(at) * forms.rows,
                into.numbers.data() + size_t(into.box.find(own)) * forms.rows,
                1);
    });
  }

private:
  Box inputBox(const Box &box) const {
    Box read = Box::whole(from);
    if (batch) {
      read.first[0] = box.first[0];
      read.size[0] = box.size[0];
    }
    return read;
  }

  Value input;
  Shape from, to;
  bool batch;
};

class TransposeStep : public ViewStep {
public:
  TransposeStep(Value input, SmallVector<int64_t> perm)
      : input(input), perm(std::move(perm)) {}

  void trace(const Box &box, Trace &trace) const override {
    trace.read(input, {moved(box.first), moved(box.size)});
  }
  void pull(const Part &part, Forms &forms) const override {
    Part &into = forms.of(input);
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      forms.add(part.numbers.data() + size_t(at) * forms.rows,
                into.numbers.data() +
                    size_t(into.box.find(moved(index))) * forms.rows,
                1);
    });
  }

private:
  Index moved(ArrayRef<int64_t> index) const {
    Index own(index.size());
    for (auto [i, axis] : llvm::enumerate(perm))
      own[axis] = index[i];
    return own;
  }

  Value input;
  SmallVector<int64_t> perm;
};

/// Operands one behind the other along one axis.
class JoinStep : public ViewStep {
public:
  struct Operand {
    Value value;
    /// The indices of the result that are its elements.
    int64_t begin, end;
  };
  JoinStep(SmallVector<Operand> operands, size_t axis)
      : operands(std::move(operands)), axis(axis) {}

  void trace(const Box &box, Trace &trace) const override {
    trace.note(box.first[axis]);
    for (const Operand &operand : operands)
      if (std::optional<Box> part = partOf(box, operand)) {
        part->first[axis] -= operand.begin;
        trace.read(operand.value, *part);
      }
  }

  void pull(const Part &part, Forms &forms) const override {
    for (const Operand &operand : operands) {
      std::optional<Box> own = partOf(part.box, operand);
      if (!own)
        continue;
      Part &into = forms.of(operand.value);
      own->forEach([&](ArrayRef<int64_t> index, int64_t) {
        Index to(index);
        to[axis] -= operand.begin;
        forms.add(
            part.numbers.data() + size_t(part.box.find(index)) * forms.rows,
            into.numbers.data() + size_t(into.box.find(to)) * forms.rows, 1);
      });
    }
  }

private:
  std::optional<Box> partOf(const Box &box, const Operand &operand) const {
    int64_t begin = std::max(box.first[axis], operand.begin);
    int64_t end = std::min(box.first[axis] + box.size[axis], operand.end);
    if (begin >= end)
      return std::nullopt;
    Box part = box;
    part.first[axis] = begin;
    part.size[axis] = end - begin;
    return part;
  }

  SmallVector<Operand> operands;
  size_t axis;
};

/// A part of the operand, or the operand with a border of one number.
class PartStep : public ViewStep {
public:
  PartStep(Value input, SmallVector<AxisSlice> axes, double border = 0)
      : input(input), axes(std::move(axes)), border(border) {}

  void trace(const Box &box, Trace &trace) const override {
    Box read;
    for (auto [i, axis] : llvm::enumerate(axes)) {
      int64_t first = axis.of(box.first[i]);
      int64_t last = axis.of(box.first[i] + box.size[i] - 1);
      if (axis.stride < 0)
        std::swap(first, last);
      // A border reads some element without coefficient.
      int64_t inFirst = std::clamp<int64_t>(first, 0, axis.size - 1);
      int64_t inLast = std::clamp<int64_t>(last, 0, axis.size - 1);
      read.first.push_back(inFirst);
      read.size.push_back(inLast - inFirst + 1);
      trace.note(inFirst - first);
      trace.note(last - inLast);
    }
    trace.read(input, read);
  }

  void pull(const Part &part, Forms &forms) const override {
    Part &into = forms.of(input);
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      const double *from = part.numbers.data() + size_t(at) * forms.rows;
      Index own(index);
      for (auto [i, axis] : llvm::enumerate(axes)) {
        own[i] = axis.of(index[i]);
        if (own[i] < 0 || own[i] >= axis.size)
          return forms.addNumber(from, border);
      }
      forms.add(from,
                into.numbers.data() + size_t(into.box.find(own)) * forms.rows,
                1);
    });
  }

private:
  Value input;
  SmallVector<AxisSlice> axes;
  double border;
};
} // namespace

static std::unique_ptr<Step> makeReshape(Value input, Value result) {
  MaybeShape from = getShape(input), to = getShape(result);
  if (!from || !to || to->empty() || from->empty())
    return nullptr;
  bool batch = from->front() == to->front();
  auto count = [&](const Shape &shape) {
    return getNumElements(Shape(ArrayRef(shape).drop_front(batch ? 1 : 0)));
  };
  std::optional<int64_t> inner = count(*from);
  if (!inner || *inner == 0 || inner != count(*to))
    return nullptr;
  return std::make_unique<ReshapeStep>(input, *from, *to, batch);
}

static std::unique_ptr<Step> makeTranspose(mp::TransposeOp op) {
  MaybeShape shape = getShape(op.getInput());
  if (!shape)
    return nullptr;
  SmallVector<int64_t> perm;
  if (auto given = op.getPerm())
    perm.assign(given->begin(), given->end());
  else
    for (size_t axis = shape->size(); axis-- > 0;)
      perm.push_back(int64_t(axis));
  if (perm.size() != shape->size())
    return nullptr;
  return std::make_unique<TransposeStep>(op.getInput(), std::move(perm));
}

static std::unique_ptr<Step> makeConcat(mp::ConcatOp op) {
  MaybeShape shape = getShape(op.getResult());
  std::optional<int64_t> axis =
      shape ? normalizeAxis(op.getAxis(), int64_t(shape->size()))
            : std::nullopt;
  if (!axis || (*shape)[*axis] < 0)
    return nullptr;
  SmallVector<JoinStep::Operand> operands;
  int64_t begin = 0;
  for (Value value : op.getInputs()) {
    MaybeShape own = getShape(value);
    if (!own || own->size() != shape->size() || (*own)[*axis] < 0 ||
        getElementType(value) != getElementType(op.getResult()))
      return nullptr;
    int64_t end = begin + (*own)[*axis];
    operands.push_back({value, begin, end});
    begin = end;
  }
  return std::make_unique<JoinStep>(std::move(operands), size_t(*axis));
}

/// The sizes of a tensor, if all are known.
static std::optional<Shape> knownShape(Value value) {
  MaybeShape shape = getShape(value);
  bool isKnown =
      shape && llvm::all_of(*shape, [](int64_t dim) { return dim > 0; });
  return isKnown ? std::optional(*shape) : std::nullopt;
}

static std::unique_ptr<Step> makeSplit(mp::SplitOp op, OpResult result) {
  std::optional<Shape> shape = knownShape(op.getInput());
  std::optional<int64_t> axis =
      shape ? normalizeAxis(op.getAxis(), int64_t(shape->size()))
            : std::nullopt;
  if (!axis)
    return nullptr;
  SmallVector<AxisSlice> parts;
  for (int64_t dim : *shape)
    parts.push_back({0, 1, dim, dim});
  for (OpResult part : op->getResults()) {
    if (part == result)
      return std::make_unique<PartStep>(op.getInput(), std::move(parts));
    std::optional<int64_t> count = TransferContext::dimOf(part, *axis);
    if (!count)
      return nullptr;
    parts[*axis].offset += *count;
  }
  return nullptr;
}

/// A slice, or a border of one number.
template <typename OpT>
static std::unique_ptr<Step> makePart(OpT op, std::optional<double> border,
                                      TransferContext &ctx) {
  std::optional<Shape> shape = knownShape(op.getInput());
  auto parts = shape && border && knownShape(op.getResult())
                   ? partsOf(op, *shape, ctx)
                   : std::nullopt;
  return parts ? std::make_unique<PartStep>(op.getInput(), std::move(*parts),
                                            *border)
               : nullptr;
}

std::unique_ptr<Step> linear::makeView(OpResult result, TransferContext &ctx) {
  Operation *op = result.getOwner();
  return TypeSwitch<Operation *, std::unique_ptr<Step>>(op)
      .Case<mp::ReshapeOp, mp::FlattenOp, mp::SqueezeOp, mp::UnsqueezeOp>(
          [&](auto) { return makeReshape(op->getOperand(0), result); })
      .Case([&](mp::TransposeOp transpose) { return makeTranspose(transpose); })
      .Case([&](mp::ConcatOp concat) { return makeConcat(concat); })
      .Case([&](mp::SplitOp split) { return makeSplit(split, result); })
      .Case([&](mp::SliceOp slice) { return makePart(slice, 0.0, ctx); })
      .Case(
          [&](mp::PadOp pad) { return makePart(pad, borderOf(pad, ctx), ctx); })
      .Default(nullptr);
}
