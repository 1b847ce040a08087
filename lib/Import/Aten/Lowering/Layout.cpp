//===- Layout.cpp - The same elements in another order --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dims in another order are views; reversed and rolled tensors and triangles
// are new ones.
//
//===----------------------------------------------------------------------===//

#include "ShapeValues.h"
#include "Subfamilies.h"
#include "ViewSteps.h"

#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static LogicalResult givePermuted(NodeContext &context,
                                  SmallVector<int64_t> perm) {
  if (llvm::is_sorted(perm))
    return giveView(context, "self", sameView());
  return giveView(context, "self", transposeStep(std::move(perm)));
}

static LogicalResult lowerPermute(NodeContext &context) {
  std::optional<SmallVector<int64_t>> dims = context.findInts("dims");
  if (!dims)
    return context.unsupported();
  SmallVector<int64_t> perm;
  for (int64_t dim : *dims) {
    std::optional<int64_t> axis = normalizeAxis(dim, dims->size());
    if (!axis || llvm::is_contained(perm, *axis))
      return context.error("dims are no permutation");
    perm.push_back(*axis);
  }
  return givePermuted(context, std::move(perm));
}

static LogicalResult giveSwapped(NodeContext &context, int64_t dim0,
                                 int64_t dim1) {
  Value self = context.tensor("self");
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  if (!rank)
    return context.unsupported();
  std::optional<int64_t> first = NodeContext::axisOf(self, dim0),
                         second = NodeContext::axisOf(self, dim1);
  if (!first || !second)
    return context.error("dims " + Twine(dim0) + " and " + Twine(dim1) +
                         " do not both exist");
  SmallVector<int64_t> perm(*rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (*rank > 0)
    std::swap(perm[*first], perm[*second]);
  return givePermuted(context, std::move(perm));
}

static LogicalResult lowerTranspose(NodeContext &context) {
  StringRef names[2] = {"dim0", "dim1"};
  if (!context.has(names[0])) {
    names[0] = "axis0";
    names[1] = "axis1";
  }
  std::optional<int64_t> first = context.findInt(names[0]),
                         second = context.findInt(names[1]);
  if (!first || !second)
    return context.unsupported();
  return giveSwapped(context, *first, *second);
}

static LogicalResult lowerMatrixTranspose(NodeContext &context) {
  return giveSwapped(context, -2, -1);
}

/// All dims reversed: t, T.
static LogicalResult lowerReverseDims(NodeContext &context) {
  std::optional<int64_t> rank = NodeContext::rankOf(context.tensor("self"));
  if (!rank)
    return context.unsupported();
  SmallVector<int64_t> perm(*rank);
  std::iota(perm.rbegin(), perm.rend(), 0);
  return givePermuted(context, std::move(perm));
}

static LogicalResult lowerMoveDim(NodeContext &context) {
  Value self = context.tensor("self");
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  std::optional<SmallVector<int64_t>> from = context.findInts("source"),
                                      to = context.findInts("destination");
  if (!rank || !from || !to || from->size() != to->size())
    return context.unsupported();
  SmallVector<int64_t> perm(*rank, -1);
  SmallVector<bool> moved(*rank);
  for (auto [source, destination] : llvm::zip(*from, *to)) {
    std::optional<int64_t> first = NodeContext::axisOf(self, source),
                           second = NodeContext::axisOf(self, destination);
    if (!first || !second || *rank == 0)
      return context.unsupported();
    perm[*second] = *first;
    moved[*first] = true;
  }
  int64_t next = 0;
  for (int64_t &dim : perm) {
    if (dim >= 0)
      continue;
    while (moved[next])
      ++next;
    dim = next++;
  }
  return givePermuted(context, std::move(perm));
}

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

/// The axes that a list names; nothing if one of them needs an unknown rank.
static std::optional<SmallVector<int64_t>> findAxes(NodeContext &context,
                                                    StringRef input) {
  std::optional<SmallVector<int64_t>> dims = context.findInts(input);
  if (!dims)
    return std::nullopt;
  for (int64_t &dim : *dims) {
    std::optional<int64_t> axis =
        NodeContext::axisOf(context.tensor("self"), dim);
    if (!axis)
      return std::nullopt;
    dim = *axis;
  }
  return dims;
}

static LogicalResult lowerFlip(NodeContext &context) {
  std::optional<SmallVector<int64_t>> axes;
  if (context.name() == "flip")
    axes = findAxes(context, "dims");
  else
    axes = SmallVector<int64_t>{context.name() == "flipud" ? 0 : 1};
  if (!axes)
    return context.unsupported();
  context.setOutput(0,
                    context.make<mp::ReverseOp>(context.tensor("self"), *axes));
  return success();
}

static LogicalResult lowerRoll(NodeContext &context) {
  std::optional<SmallVector<int64_t>> shifts = context.findInts("shifts"),
                                      axes = findAxes(context, "dims");
  if (!shifts || !axes)
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::RollOp>(
             context.tensor("self"), *shifts,
             axes->empty() ? DenseI64ArrayAttr()
                           : context.builder().getDenseI64ArrayAttr(*axes)));
  return success();
}

/// A quarter turn from the first dim towards the second, `k` times.
static LogicalResult lowerRot90(NodeContext &context) {
  Value self = context.tensor("self");
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  std::optional<SmallVector<int64_t>> axes = findAxes(context, "dims");
  std::optional<int64_t> turns = context.findInt("k");
  if (!rank || !axes || axes->size() != 2 || !turns)
    return context.unsupported();
  int64_t times = ((*turns % 4) + 4) % 4;
  SmallVector<int64_t> perm(*rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[(*axes)[0]], perm[(*axes)[1]]);
  auto reversed = [&](Value value, ArrayRef<int64_t> along) -> Value {
    return context.make<mp::ReverseOp>(value, along);
  };
  if (times == 2)
    self = reversed(self, *axes);
  else if (times == 1)
    self = transpose(context, reversed(self, (*axes)[1]), perm);
  else if (times == 3)
    self = reversed(transpose(context, self, perm), (*axes)[1]);
  context.setOutput(0, self);
  return success();
}

template <bool Upper> static LogicalResult lowerTriangle(NodeContext &context) {
  Value diagonal;
  if (context.isDynamic("diagonal"))
    diagonal = context.tensor("diagonal");
  context.setOutput(
      0, context.make<mp::TriluOp>(context.tensor("self"), diagonal,
                                   context.getInt("diagonal", 0), Upper));
  return success();
}

/// [N, groups C, ...] with both parts of the channels exchanged.
static LogicalResult lowerChannelShuffle(NodeContext &context) {
  Value self = context.tensor("self");
  MaybeShape shape = getShape(self);
  std::optional<int64_t> groups = context.findInt("groups");
  if (!shape || shape->size() < 2 || !groups || *groups < 1 ||
      (*shape)[1] == kDynamic || (*shape)[1] % *groups ||
      llvm::count(*shape, kDynamic) > 1)
    return context.unsupported();
  SmallVector<int64_t> dims;
  for (int64_t dim : *shape)
    dims.push_back(dim == kDynamic ? -1 : dim);
  dims[1] /= *groups;
  dims.insert(dims.begin() + 1, *groups);
  Value split = reshape(context, self, dims);
  Value swapped = transpose(context, split, moveDim(dims.size(), 1, 2));
  context.setOutput(0, reshapeLike(context, swapped, self));
  return success();
}

void aten::registerLayout(LoweringRegistry &registry) {
  registry.add("permute", lowerPermute);
  registry.add({"transpose", "swapaxes", "swapdims"}, lowerTranspose);
  registry.add({"mT", "mH", "adjoint", "matrix_H"}, lowerMatrixTranspose);
  registry.add({"t", "numpy_T", "T", "H"}, lowerReverseDims);
  registry.add({"movedim", "moveaxis"}, lowerMoveDim);
  registry.add({"flip", "fliplr", "flipud"}, lowerFlip);
  registry.add("roll", lowerRoll);
  registry.add("rot90", lowerRot90);
  registry.add("triu", lowerTriangle<true>);
  registry.add("tril", lowerTriangle<false>);
  registry.add({"channel_shuffle", "native_channel_shuffle"},
               lowerChannelShuffle);
}
