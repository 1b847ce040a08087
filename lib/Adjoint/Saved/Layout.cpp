//===- Layout.cpp - Which tensors share their memory
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Layout.h"

#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/RandomOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace mpopt;

Strides mpopt::getContiguousStrides(ArrayRef<int64_t> shape) {
  Strides strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
  return strides;
}

std::optional<Strides> mpopt::reshapeStrides(ArrayRef<int64_t> shape,
                                             ArrayRef<int64_t> strides,
                                             ArrayRef<int64_t> to) {
  auto count = [](ArrayRef<int64_t> dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t(1),
                           std::multiplies<>());
  };
  if (count(shape) != count(to))
    return std::nullopt;
  if (count(shape) == 0 || shape.empty())
    return getContiguousStrides(to);
  // Runs of dims that lie one in the other, from the last; each is to be cut
  // into whole dims of the new shape.
  Strides result(to.size(), 1);
  int64_t next = int64_t(to.size()) - 1;
  int64_t inner = strides.back(), run = 1, cut = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    run *= shape[i];
    bool ends = i == 0 || (shape[i - 1] != 1 && strides[i - 1] != run * inner);
    if (!ends)
      continue;
    while (next >= 0 && (cut < run || to[next] == 1)) {
      result[next] = cut * inner;
      cut *= to[next];
      --next;
    }
    if (cut != run)
      return std::nullopt;
    if (i > 0) {
      inner = strides[i - 1];
      run = cut = 1;
    }
  }
  return next < 0 ? std::optional(result) : std::nullopt;
}

/// The strides of a new tensor whose dims lie in the order of `like`'s.
static Strides getDenseLike(ArrayRef<int64_t> shape, ArrayRef<int64_t> like) {
  SmallVector<unsigned> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(-like[a], a) < std::pair(-like[b], b);
  });
  Strides strides(shape.size(), 1);
  int64_t step = 1;
  for (unsigned dim : llvm::reverse(order)) {
    strides[dim] = step;
    step *= std::max<int64_t>(shape[dim], 1);
  }
  return strides;
}

/// The static dims of a tensor.
static MaybeShape getKnownShape(Value value) {
  MaybeShape shape = getShape(value);
  return shape && !llvm::is_contained(*shape, kDynamic) ? shape : std::nullopt;
}

const Layout &Layouts::get(Value value) {
  if (auto found = layouts.find(value); found != layouts.end())
    return found->second;
  // A chain of views is followed from its start: it may be long.
  SmallVector<Value> chain = {value};
  while (Operation *op = chain.back().getDefiningOp()) {
    if (op->getNumOperands() == 0 || layouts.contains(op->getOperand(0)) ||
        !isa<TensorType>(op->getOperand(0).getType()))
      break;
    chain.push_back(op->getOperand(0));
  }
  for (Value next : llvm::reverse(chain))
    if (!layouts.contains(next)) {
      Layout layout = find(next);
      layouts[next] = std::move(layout);
    }
  return layouts[value];
}

static Layout reshaped(const Layout &from, Value input, Value result) {
  MaybeShape shape = getKnownShape(input), to = getKnownShape(result);
  if (!from.strides || !shape || !to)
    return {from.storage, std::nullopt};
  if (auto strides = reshapeStrides(*shape, *from.strides, *to))
    return {from.storage, *strides};
  return {result, getContiguousStrides(*to)};
}

static Layout transposed(mp::TransposeOp op, const Layout &from) {
  Layout result = from;
  if (!from.strides)
    return result;
  size_t rank = from.strides->size();
  for (size_t i = 0; i < rank; ++i) {
    int64_t source = op.getPerm() ? (*op.getPerm())[i] : int64_t(rank - 1 - i);
    (*result.strides)[i] = (*from.strides)[source < 0 ? source + rank : source];
  }
  return result;
}

/// Dims that are new, or were 1, repeat in place.
static Layout expanded(const Layout &from, Value input, Value result) {
  MaybeShape shape = getKnownShape(input), to = getKnownShape(result);
  if (!from.strides || !shape || !to || to->size() < shape->size())
    return {from.storage, std::nullopt};
  Strides strides(to->size(), 0);
  size_t extra = to->size() - shape->size();
  for (size_t i = 0; i < shape->size(); ++i)
    if ((*shape)[i] == (*to)[i + extra])
      strides[i + extra] = (*from.strides)[i];
  return {from.storage, strides};
}

/// Strides times steps; of negative ones PyTorch has no view.
static Layout sliced(mp::SliceOp op, const Layout &from) {
  Layout result = from;
  ShapeFacts facts;
  auto list = [&](Value dynamic, std::optional<ArrayRef<int64_t>> known) {
    if (dynamic)
      return facts.constants(dynamic);
    return known ? std::optional(llvm::to_vector(*known)) : std::nullopt;
  };
  bool hasSteps = op.getDynamicSteps() || op.getSteps();
  auto steps = list(op.getDynamicSteps(), op.getSteps());
  auto axes = list(op.getDynamicAxes(), op.getAxes());
  if (!hasSteps || !from.strides)
    return result;
  if (!steps)
    return {from.storage, std::nullopt};
  for (auto [index, step] : llvm::enumerate(*steps)) {
    if (step < 0)
      return {op.getResult(), std::nullopt};
    int64_t axis = axes && index < axes->size() ? (*axes)[index] : index;
    if (axis < 0)
      axis += int64_t(from.strides->size());
    if (axis >= 0 && axis < int64_t(from.strides->size()))
      (*result.strides)[axis] *= step;
  }
  return result;
}

/// The same place, for one position along an axis: `x[:, 0]`.
static std::optional<Layout> selected(mp::GatherOp op, const Layout &from) {
  MaybeShape indices = getShape(op.getIndices());
  if (!indices || !indices->empty() || !isConstant(op.getIndices()))
    return std::nullopt;
  Layout result = from;
  MaybeShape shape = getShape(op.getInput());
  std::optional<int64_t> axis =
      shape ? normalizeAxis(op.getAxis(), shape->size()) : std::nullopt;
  if (result.strides && axis)
    result.strides->erase(result.strides->begin() + *axis);
  else
    result.strides.reset();
  return result;
}

/// A tensor of its own. One that is computed element by element lies as the
/// first operand of its shape does (TensorIterator).
static Layout made(Value value, Layouts &layouts) {
  MaybeShape shape = getKnownShape(value);
  if (!shape)
    return {value, std::nullopt};
  Operation *op = value.getDefiningOp();
  // Ops whose elements are not computed one by one from those of operands.
  constexpr Role kElsewhere = Role::Contraction | Role::Reduction |
                              Role::Recurrent | Role::Attention |
                              Role::Concatenation | Role::CopiesElements;
  if (op && !hasRole(op, kElsewhere))
    for (Value operand : op->getOperands()) {
      if (getKnownShape(operand) != shape)
        continue;
      const Layout &like = layouts.get(operand);
      if (like.strides && like.strides->size() == shape->size())
        return {value, getDenseLike(*shape, *like.strides)};
    }
  return {value, getContiguousStrides(*shape)};
}

/// Steps lie outside of heads, as PyTorch's kernels for attention write them.
static Layout attended(Value value) {
  MaybeShape shape = getKnownShape(value);
  if (!shape || shape->size() < 3)
    return {value,
            shape ? std::optional(getContiguousStrides(*shape)) : std::nullopt};
  size_t heads = shape->size() - 3;
  std::swap((*shape)[heads], (*shape)[heads + 1]);
  Strides strides = getContiguousStrides(*shape);
  std::swap(strides[heads], strides[heads + 1]);
  return {value, strides};
}

void Layouts::setAttention(Value value) { layouts[value] = attended(value); }

Layout Layouts::find(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return made(value, *this);
  auto from = [&]() -> const Layout & { return layouts[op->getOperand(0)]; };
  return llvm::TypeSwitch<Operation *, Layout>(op)
      .Case<mp::IdentityOp>([&](auto) { return from(); })
      .Case<mp::CastOp>([&](mp::CastOp op) {
        bool changes = getElementType(op.getInput()) != getElementType(value);
        return changes ? made(value, *this) : from();
      })
      .Case<mp::ReshapeOp, mp::FlattenOp, mp::SqueezeOp, mp::UnsqueezeOp>(
          [&](auto) { return reshaped(from(), op->getOperand(0), value); })
      .Case<mp::TransposeOp>(
          [&](mp::TransposeOp op) { return transposed(op, from()); })
      .Case<mp::ExpandOp>(
          [&](auto) { return expanded(from(), op->getOperand(0), value); })
      .Case<mp::SliceOp>([&](mp::SliceOp op) { return sliced(op, from()); })
      .Case<mp::SplitOp>([&](auto) { return from(); })
      .Case<mp::AttentionOp>([&](mp::AttentionOp op) {
        MaybeShape shape = getShape(value);
        bool hasHeads = value == op.getResult() && shape && shape->size() == 4;
        return hasHeads ? attended(value) : made(value, *this);
      })
      .Case<mp::GatherOp>([&](mp::GatherOp op) {
        std::optional<Layout> part = selected(op, from());
        return part ? *part : made(value, *this);
      })
      .Case<mp::DropoutOp>([&](mp::DropoutOp op) {
        bool trains = op.getTraining() || op.getDynamicTraining();
        return trains || value != op.getResult() ? made(value, *this) : from();
      })
      .Default([&](Operation *) { return made(value, *this); });
}

bool Layouts::isStored(Value value) {
  Operation *maker = get(value).storage.getDefiningOp();
  return isa_and_present<mp::ConstantOp>(maker) || storesConstant(maker);
}

bool Layouts::isFixed(Value value) {
  auto known = [&](Value operand) { return fixed.contains(operand); };
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value next = pending.back();
    Operation *op = next.getDefiningOp();
    if (known(next) || !op) {
      fixed.try_emplace(next, false);
      pending.pop_back();
      continue;
    }
    if (isa<mp::ShapeOp, mp::SizeOp>(op)) {
      fixed[next] = true;
      pending.pop_back();
      continue;
    }
    // A body may read anything.
    bool closed = op->getNumRegions() == 0;
    size_t before = pending.size();
    if (closed)
      llvm::copy_if(op->getOperands(), std::back_inserter(pending),
                    [&](Value operand) { return !known(operand); });
    if (pending.size() != before)
      continue;
    fixed[next] = closed && llvm::all_of(op->getOperands(), [&](Value operand) {
                    return fixed.lookup(operand);
                  });
    pending.pop_back();
  }
  return fixed.lookup(value);
}
