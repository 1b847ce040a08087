//===- SliceInference.cpp - Types of parts, borders and reorderings -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/InferenceSupport.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

/// Length of a slice of a dim, which is known and not 0. With a negative step
/// ONNX clamps the start into the dim, where NumPy lets it fall off the front.
static int64_t sliceLength(int64_t dim, int64_t start, int64_t end,
                           int64_t step) {
  if (start < 0)
    start += dim;
  if (end < 0)
    end += dim;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, dim);
    end = std::clamp<int64_t>(end, 0, dim);
    return end <= start ? 0 : (end - start - 1) / step + 1;
  }
  start = std::clamp<int64_t>(start, 0, dim - 1);
  end = std::clamp<int64_t>(end, -1, dim - 1);
  uint64_t stride = -uint64_t(step);
  return start <= end ? 0 : uint64_t(start - end - 1) / stride + 1;
}

static LogicalResult checkParameters(SliceOp op) {
  return success(
      succeeded(checkParameter(op, "starts", op.getStarts().has_value(),
                               op.getDynamicStarts())) &&
      succeeded(checkParameter(op, "ends", op.getEnds().has_value(),
                               op.getDynamicEnds())) &&
      succeeded(checkParameter(op, "axes", op.getAxes().has_value(),
                               op.getDynamicAxes(), false)) &&
      succeeded(checkParameter(op, "steps", op.getSteps().has_value(),
                               op.getDynamicSteps(), false)));
}

/// The parameters have one length, which any of them may give.
static LogicalResult checkLength(SliceOp op, const Elements &elements,
                                 std::optional<size_t> &count) {
  if (!elements)
    return success();
  if (count && *count != elements->size())
    return op.emitOpError("starts, ends, axes and steps have lengths ")
           << *count << " and " << elements->size();
  count = elements->size();
  return success();
}

LogicalResult SliceOp::inferResultTypes(const ShapeFacts &facts,
                                        SmallVectorImpl<Type> &types) {
  if (failed(checkParameters(*this)))
    return failure();
  Elements starts = parameter(getStarts(), getDynamicStarts(), facts);
  Elements ends = parameter(getEnds(), getDynamicEnds(), facts);
  Elements axes = parameter(getAxes(), getDynamicAxes(), facts);
  Elements steps = parameter(getSteps(), getDynamicSteps(), facts);

  std::optional<size_t> count;
  for (const Elements *each : {&starts, &ends, &axes, &steps})
    if (failed(checkLength(*this, *each, count)))
      return failure();
  if (steps && llvm::is_contained(*steps, std::optional<int64_t>(0)))
    return emitOpError("has a step of 0");

  MaybeShape input = getShape(getInput());
  Type element = getElementType(getInput());
  if (!input) {
    types.push_back(getTensorType(std::nullopt, element));
    return success();
  }
  bool hasAxes = getAxes() || getDynamicAxes();
  bool hasSteps = getSteps() || getDynamicSteps();
  std::optional<SmallVector<int64_t>> order;
  if (hasAxes) {
    order = constantParameter(getAxes(), getDynamicAxes(), facts);
  } else if (count) {
    if (*count > input->size())
      return emitOpError("slices ")
             << *count << " dims of rank " << input->size();
    order = llvm::to_vector(llvm::seq<int64_t>(0, *count));
  }
  if (!order) {
    types.push_back(getTensorType(Shape(input->size(), kDynamic), element));
    return success();
  }
  FailureOr<SmallVector<int64_t>> checked =
      checkAxes(*this, *order, input->size());
  if (failed(checked))
    return failure();
  auto at = [](const Elements &elements, size_t index) {
    return elements ? (*elements)[index] : std::nullopt;
  };
  for (auto [index, axis] : llvm::enumerate(*checked)) {
    int64_t &dim = (*input)[axis];
    std::optional<int64_t> start = at(starts, index), end = at(ends, index);
    std::optional<int64_t> step = hasSteps ? at(steps, index) : 1;
    if (dim == 0)
      continue;
    dim = dim != kDynamic && start && end && step
              ? sliceLength(dim, *start, *end, *step)
              : kDynamic;
  }
  types.push_back(getTensorType(input, element));
  return success();
}

//===----------------------------------------------------------------------===//
// SplitOp
//===----------------------------------------------------------------------===//

/// The parts' sizes, each maybe unknown.
static LogicalResult splitSizes(SplitOp op, int64_t dim, const Elements &sizes,
                                MutableArrayRef<int64_t> parts) {
  if (!sizes) {
    if (op.getSizes() || op.getDynamicSizes() || dim == kDynamic)
      return success();
    int64_t count = parts.size();
    int64_t chunk = dim / count + (dim % count != 0);
    if (multiplyDims(chunk, count - 1) > dim)
      return op.emitOpError("cannot split a dim of size ")
             << dim << " into " << count << " parts of " << chunk;
    int64_t rest = dim;
    for (int64_t &part : parts) {
      part = std::min(chunk, rest);
      rest -= part;
    }
    return success();
  }
  int64_t sum = 0, unknown = -1, unknowns = 0;
  for (auto [index, size] : llvm::enumerate(*sizes)) {
    if (size && *size < 0)
      return op.emitOpError("has a part of size ") << *size;
    if (size) {
      parts[index] = *size;
      sum = addDims(sum, *size);
    } else {
      unknown = index;
      ++unknowns;
    }
  }
  if (dim == kDynamic)
    return success();
  if (sum == kDynamic || sum > dim || (unknowns == 0 && sum != dim))
    return op.emitOpError("parts do not add up to a dim of size ") << dim;
  if (unknowns == 1)
    parts[unknown] = dim - sum;
  return success();
}

LogicalResult SplitOp::inferResultTypes(const ShapeFacts &facts,
                                        SmallVectorImpl<Type> &types) {
  if (getNumResults() == 0)
    return emitOpError("needs a result");
  if (failed(checkParameter(*this, "sizes", getSizes().has_value(),
                            getDynamicSizes(), /*required=*/false)))
    return failure();
  Elements sizes = parameter(getSizes(), getDynamicSizes(), facts);
  if (sizes && sizes->size() != getNumResults())
    return emitOpError("has ")
           << sizes->size() << " sizes for " << getNumResults() << " results";
  MaybeShape input = getShape(getInput());
  FailureOr<int64_t> axis = 0;
  if (input && failed(axis = checkAxis(*this, getAxis(), input->size())))
    return failure();
  SmallVector<int64_t> parts(getNumResults(), kDynamic);
  if (failed(
          splitSizes(*this, input ? (*input)[*axis] : kDynamic, sizes, parts)))
    return failure();
  for (int64_t part : parts) {
    if (input)
      (*input)[*axis] = part;
    types.push_back(getTensorType(input, getElementType(getInput())));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Borders
//===----------------------------------------------------------------------===//

ArrayRef<StringRef> PadOp::getFrameworkNames(Framework framework) {
  static constexpr StringLiteral kPad = "pad";
  static const StringRef reflection[] = {"reflection_pad1d", "reflection_pad2d",
                                         "reflection_pad3d", kPad};
  static const StringRef replication[] = {
      "replication_pad1d", "replication_pad2d", "replication_pad3d", kPad};
  static const StringRef constant[] = {"constant_pad_nd", kPad};
  static const StringRef pad[] = {"PadV2", "Pad"}, mirror[] = {"MirrorPad"};
  static const StringRef onnx[] = {"Pad"};
  switch (framework) {
  case Framework::PyTorch:
    if (getMode() == "reflect")
      return reflection;
    return getMode() == "edge" ? ArrayRef<StringRef>(replication) : constant;
  case Framework::TensorFlow:
    return getMode() == "reflect" ? ArrayRef<StringRef>(mirror) : pad;
  case Framework::Onnx:
    return onnx;
  }
  return {};
}

LogicalResult PadOp::inferResultTypes(const ShapeFacts &facts,
                                      SmallVectorImpl<Type> &types) {
  if (failed(checkWord<PadMode>(*this, "mode", getMode(),
                                getMaxEnumValForPadMode())) ||
      failed(checkParameter(*this, "pads", getPads().has_value(),
                            getDynamicPads())) ||
      failed(checkParameter(*this, "axes", getAxes().has_value(),
                            getDynamicAxes(), /*required=*/false)))
    return failure();
  Elements pads = parameter(getPads(), getDynamicPads(), facts);
  if (pads && pads->size() % 2)
    return emitOpError("has an odd number of pads, ") << pads->size();
  MaybeShape input = getShape(getInput());
  bool hasAxes = getAxes() || getDynamicAxes();
  std::optional<SmallVector<int64_t>> axes;
  if (hasAxes)
    axes = constantParameter(getAxes(), getDynamicAxes(), facts);
  else if (input || pads)
    axes = llvm::to_vector(
        llvm::seq<int64_t>(0, input ? input->size() : pads->size() / 2));
  if (pads && axes && pads->size() != 2 * axes->size())
    return emitOpError("has ")
           << pads->size() << " pads for " << axes->size() << " axes";

  MaybeShape result;
  if (input)
    result = Shape(input->size(), kDynamic);
  else if (pads && !hasAxes)
    result = Shape(pads->size() / 2, kDynamic);
  if (input && axes) {
    FailureOr<SmallVector<int64_t>> checked =
        checkAxes(*this, *axes, input->size());
    if (failed(checked))
      return failure();
    result = input;
    for (auto [index, axis] : llvm::enumerate(*checked)) {
      int64_t &dim = (*result)[axis];
      std::optional<int64_t> begin, end;
      if (pads) {
        begin = (*pads)[index];
        end = (*pads)[index + checked->size()];
      }
      if (begin && end && *begin == 0 && *end == 0)
        continue;
      int64_t sum;
      if (!begin || !end || dim == kDynamic ||
          llvm::AddOverflow(*begin, *end, sum) ||
          llvm::AddOverflow(sum, dim, sum)) {
        dim = kDynamic;
        continue;
      }
      if (sum < 0)
        return emitOpError("crops dim ")
               << axis << " of size " << dim << " to " << sum;
      dim = sum;
    }
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

LogicalResult CenterCropPadOp::inferResultTypes(const ShapeFacts &facts,
                                                SmallVectorImpl<Type> &types) {
  FailureOr<MaybeShape> target = shapeFrom(*this, facts, getShape());
  if (failed(target))
    return failure();
  MaybeShape input = mpopt::getShape(getInput()), result = input;
  Type element = getElementType(getInput());
  if (!input) {
    types.push_back(getTensorType(getAxes() ? std::nullopt : *target, element));
    return success();
  }
  SmallVector<int64_t> axes =
      getAxes() ? SmallVector<int64_t>(*getAxes())
                : llvm::to_vector(llvm::seq<int64_t>(0, input->size()));
  FailureOr<SmallVector<int64_t>> checked =
      checkAxes(*this, axes, input->size());
  if (failed(checked))
    return failure();
  if (*target && (*target)->size() != checked->size())
    return emitOpError("shape has ")
           << (*target)->size() << " dims for " << checked->size() << " axes";
  for (auto [index, axis] : llvm::enumerate(*checked))
    (*result)[axis] = *target ? (**target)[index] : kDynamic;
  types.push_back(getTensorType(result, element));
  return success();
}

//===----------------------------------------------------------------------===//
// The operand's type
//===----------------------------------------------------------------------===//

LogicalResult TensorScatterOp::inferResultTypes(const ShapeFacts &,
                                                SmallVectorImpl<Type> &types) {
  if (failed(checkWord<CacheMode>(*this, "mode", getMode(),
                                  getMaxEnumValForCacheMode())) ||
      failed(checkRank(*this, "indices", getIndices(), {1})))
    return failure();
  if (MaybeShape past = getShape(getPast())) {
    FailureOr<int64_t> axis = checkAxis(*this, getAxis(), past->size());
    if (failed(axis))
      return failure();
    if (*axis == 0)
      return emitOpError("axis is the batch");
    if (MaybeShape update = getShape(getUpdate());
        update && update->size() != past->size())
      return emitOpError("update has rank ")
             << update->size() << ", not " << past->size();
  }
  types.push_back(getPast().getType());
  return success();
}

LogicalResult ReverseOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  if (MaybeShape input = getShape(getInput());
      input && failed(checkAxes(*this, getAxes(), input->size())))
    return failure();
  types.push_back(getInput().getType());
  return success();
}

LogicalResult RollOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  size_t axes = getAxes() ? getAxes()->size() : 1;
  if (getShifts().size() != axes)
    return emitOpError("has ")
           << getShifts().size() << " shifts for " << axes << " axes";
  // An axis may be there twice; its shifts add up.
  SmallVector<int64_t> rolled(getAxes().value_or(ArrayRef<int64_t>()));
  if (MaybeShape input = getShape(getInput()))
    for (int64_t axis : rolled)
      if (failed(checkAxis(*this, axis, input->size())))
        return failure();
  types.push_back(getInput().getType());
  return success();
}

LogicalResult
ReverseSequenceOp::inferResultTypes(const ShapeFacts &,
                                    SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "lengths", getLengths(), {1})))
    return failure();
  int64_t axes[] = {int64_t(getBatchAxis()), int64_t(getTimeAxis())};
  if (MaybeShape input = getShape(getInput())) {
    if (failed(checkAxes(*this, axes, input->size())))
      return failure();
  }
  types.push_back(getInput().getType());
  return success();
}

LogicalResult TriluOp::inferResultTypes(const ShapeFacts &,
                                        SmallVectorImpl<Type> &types) {
  if (MaybeShape input = getShape(getInput()); input && input->size() < 2)
    return emitOpError("needs matrices, not rank ") << input->size();
  if (getK() != 0 && getDynamicK())
    return emitOpError("has k as an attribute and an operand");
  types.push_back(getInput().getType());
  return success();
}
