//===- Grouping.cpp - Groups of a tensor through changes of its shape
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/AbstractValue.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

#include <cmath>

using namespace mpopt;
using llvm::ArrayRef;
using llvm::SmallVector;
using Dims = AbstractValue::Dims;

size_t mpopt::countGroups(ArrayRef<int64_t> dims) {
  size_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

//===----------------------------------------------------------------------===//
// Walking
//===----------------------------------------------------------------------===//

/// Step of each axis of `dims` (aligned to the right of `over`'s axes) while
/// `over` is walked in row-major order; 0 on axes that are merged.
static SmallVector<size_t> getSteps(ArrayRef<int64_t> dims,
                                    ArrayRef<int64_t> over) {
  SmallVector<size_t> steps(over.size(), 0);
  size_t step = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t dim = dims[dims.size() - 1 - i];
    if (dim != 1)
      steps[over.size() - 1 - i] = step;
    step *= dim;
  }
  return steps;
}

/// Where each group of `over`, in row-major order, is by these steps.
static SmallVector<uint32_t> walk(ArrayRef<int64_t> over,
                                  ArrayRef<size_t> steps) {
  size_t count = countGroups(over);
  SmallVector<uint32_t> positions;
  if (count == 0)
    return positions;
  positions.resize_for_overwrite(count);
  // From the last axis to the first, the groups so far are repeated along the
  // axis.
  positions[0] = 0;
  size_t inner = 1;
  for (size_t axis = over.size(); axis-- > 0;) {
    for (size_t index = 1; index < size_t(over[axis]); ++index)
      for (size_t i = 0; i < inner; ++i)
        positions[index * inner + i] = positions[i] + index * steps[axis];
    inner *= over[axis];
  }
  return positions;
}

SmallVector<uint32_t> mpopt::getPositions(ArrayRef<int64_t> dims,
                                          ArrayRef<int64_t> over) {
  return walk(over, getSteps(dims, over));
}

void mpopt::forEachGroup(
    ArrayRef<int64_t> dims, ArrayRef<AbstractValue> values,
    llvm::function_ref<void(size_t, ArrayRef<size_t>)> function) {
  SmallVector<size_t, 4> at(values.size(), 0);
  // Values of other groups than the result's, and of more than one.
  SmallVector<std::pair<size_t, SmallVector<uint32_t>>, 4> others;
  SmallVector<size_t, 4> same;
  size_t count = countGroups(dims);
  for (auto [index, value] : llvm::enumerate(values))
    if (value.groups() == count)
      same.push_back(index);
    else if (value.groups() > 1)
      others.emplace_back(index, getPositions(value.dims(), dims));
  for (size_t group = 0; group < count; ++group) {
    for (size_t index : same)
      at[index] = group;
    for (const auto &[index, positions] : others)
      at[index] = positions[group];
    function(group, at);
  }
}

//===----------------------------------------------------------------------===//
// Regrouping
//===----------------------------------------------------------------------===//

static AbstractValue withCells(const AbstractValue &value, Dims dims,
                               Cells cells) {
  AbstractValue result(std::move(dims), std::move(cells));
  result.copyFlags(value);
  result.norm = value.norm;
  result.rowSum = value.rowSum;
  return result;
}

AbstractValue AbstractValue::withDims(Dims dims) const {
  assert(countGroups(dims) == groups() && "as many groups");
  AbstractValue result = *this;
  result.groupDims = std::move(dims);
  result.dropRowClaims();
  return result;
}

/// Merges the axes on which `target` is 1.
static AbstractValue mergeAxes(const AbstractValue &value, Dims target) {
  return withCells(value, target,
                   mergeGroups(value.cells(),
                               getPositions(target, value.dims()),
                               countGroups(target)));
}

/// Repeats merged axes where `target` is not 1.
static AbstractValue repeatAxes(const AbstractValue &value, Dims target) {
  return withCells(value, target,
                   value.cells().gathered(getPositions(value.dims(), target)));
}

AbstractValue AbstractValue::regrouped(ArrayRef<int64_t> target) const {
  assert(target.size() == rank() && "regrouping keeps the rank");
  if (dims() == target)
    return *this;
  Dims less;
  bool merges = false;
  for (auto [own, wanted] : llvm::zip(dims(), target)) {
    assert((own == wanted || own == 1 || wanted == 1) && "groups of one axis");
    less.push_back(wanted == 1 ? 1 : own);
    merges |= less.back() != own;
  }
  if (merges && llvm::all_of(less, [](int64_t dim) { return dim == 1; }) &&
      ArrayRef<int64_t>(less) == target)
    return withCells(*this, less, Cells(1, hull()));
  AbstractValue result = merges ? mergeAxes(*this, less) : *this;
  if (result.dims() == target)
    return result;
  return repeatAxes(result, Dims(target));
}

AbstractValue AbstractValue::keeping(ArrayRef<int64_t> axes) const {
  Dims target(rank(), 1);
  for (int64_t axis : axes)
    target[axis] = groupDims[axis];
  return regrouped(target);
}

AbstractValue AbstractValue::merging(int64_t axis) const {
  Dims target = groupDims;
  target[axis] = 1;
  return regrouped(target);
}

AbstractValue AbstractValue::merged() const {
  return regrouped(Dims(rank(), 1));
}

AbstractValue AbstractValue::withRank(size_t rank) const {
  if (rank <= this->rank())
    return *this;
  AbstractValue result = *this;
  size_t more = rank - this->rank();
  result.groupDims.insert(result.groupDims.begin(), more, 1);
  if (result.norm)
    result.norm->axis += more;
  if (result.rowSum)
    result.rowSum->axis += more;
  return result;
}

//===----------------------------------------------------------------------===//
// Fewer groups
//===----------------------------------------------------------------------===//

/// The bound's width; 0 where it is empty or without end.
static double getWidth(double lo, double hi) {
  double width = lo <= hi ? hi - lo : 0;
  return std::isfinite(width) ? width : 0.0;
}

/// How much the expected sizes of a computed value differ along the axis: the
/// gradient of a norm, or of a sum, at the one position that a model reads is
/// that of its size, however few elements it has. A factor of 2 counts as much
/// as bounds that become as wide as those of all groups; elements that are 0
/// count as 2^-30 of the largest.
static double sizeCost(const AbstractValue &value, int64_t axis) {
  constexpr double kUneven = 2 * 2, kLeast = 0x1p-60;
  const Cells &cells = value.cells();
  if (value.source == LikelySource::Weight || !value.hasLikely() ||
      (cells.isUniform(Field::Mean) && cells.isUniform(Field::Variance)))
    return 0;
  size_t dim = value.dims()[axis];
  size_t inner = countGroups(value.dims().drop_front(axis + 1));
  SmallVector<double> squares(dim, 0);
  for (size_t group = 0; group < cells.size(); ++group) {
    double mean = cells.get(Field::Mean, group);
    squares[group / inner % dim] +=
        mean * mean + cells.get(Field::Variance, group);
  }
  double most = *llvm::max_element(squares);
  double ratio = most / std::max(*llvm::min_element(squares), most * kLeast);
  return most > 0 && std::isfinite(most) ? std::log2(ratio) / std::log2(kUneven)
                                         : 0;
}

/// How much wider the bounds get, of the width of all.
static double boundCost(const AbstractValue &value, int64_t axis) {
  size_t dim = value.dims()[axis];
  const Cells &cells = value.cells();
  if (cells.isUniform(Field::Lo) && cells.isUniform(Field::Hi))
    return 0;
  size_t inner = countGroups(value.dims().drop_front(axis + 1));
  double before = 0, after = 0, lowest = kInfinity, highest = -kInfinity;
  for (size_t first = 0; first < cells.size(); first += dim * inner)
    for (size_t i = 0; i < inner; ++i) {
      double lo = kInfinity, hi = -kInfinity;
      for (size_t k = 0; k < dim; ++k) {
        double low = cells.get(Field::Lo, first + k * inner + i),
               high = cells.get(Field::Hi, first + k * inner + i);
        before += getWidth(low, high);
        lo = std::min(lo, low);
        hi = std::max(hi, high);
      }
      after += getWidth(lo, hi);
      lowest = std::min(lowest, lo);
      highest = std::max(highest, hi);
    }
  before /= double(cells.size());
  after /= double(cells.size()) / double(dim);
  double whole = getWidth(lowest, highest);
  if (whole == 0) // the same everywhere, or without end
    whole = after;
  return whole > 0 ? (after - before) / whole : 0;
}

double mpopt::mergingCost(const AbstractValue &value, int64_t axis) {
  return value.dims()[axis] == 1
             ? 0
             : boundCost(value, axis) + sizeCost(value, axis);
}

/// The kept axis that costs least to merge in all of `values`, which have the
/// rank of `dims`. Of equal ones the first: batch before channel.
static size_t pickAxis(ArrayRef<int64_t> dims, ArrayRef<AbstractValue> values) {
  auto isKept = [](int64_t dim) { return dim != 1; };
  if (llvm::count_if(dims, isKept) == 1)
    return std::distance(dims.begin(), llvm::find_if(dims, isKept));
  // Costs of infinite estimates are infinite or no numbers: a kept axis then.
  size_t best = std::distance(dims.begin(), llvm::find_if(dims, isKept));
  double least = kInfinity;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (!isKept(dims[axis]))
      continue;
    double cost = 0;
    for (const AbstractValue &value : values)
      cost += mergingCost(value, axis);
    if (cost < least) {
      least = cost;
      best = axis;
    }
  }
  return best;
}

/// True if a value may not keep these groups. Both axes of a weight matter.
static bool isTooFine(ArrayRef<int64_t> dims, LikelySource source,
                      const GroupLimit &limit) {
  size_t groups = countGroups(dims);
  bool joint = llvm::count_if(dims, [](int64_t dim) { return dim != 1; }) > 1;
  return groups > limit.most ||
         (joint && source != LikelySource::Weight && groups > limit.joint);
}

AbstractValue AbstractValue::limited(const GroupLimit &limit) const {
  AbstractValue result = *this;
  while (isTooFine(result.dims(), source, limit))
    result = result.merging(pickAxis(result.dims(), result));
  return result;
}

Dims mpopt::broadcastGroups(llvm::MutableArrayRef<AbstractValue> values,
                            const GroupLimit &limit) {
  size_t rank = 0;
  for (const AbstractValue &value : values)
    rank = std::max(rank, value.rank());
  Dims dims(rank, 1);
  for (AbstractValue &value : values)
    value = value.withRank(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    bool agree = true;
    for (AbstractValue &value : values) {
      int64_t dim = value.dims()[axis];
      agree &= dim == 1 || dims[axis] == 1 || dim == dims[axis];
      dims[axis] = std::max(dims[axis], dim);
    }
    if (agree)
      continue;
    // A contradiction that type inference could not see (an unknown rank).
    dims[axis] = 1;
    for (AbstractValue &value : values)
      value = value.merging(axis);
  }
  LikelySource source = LikelySource::Weight;
  for (const AbstractValue &value : values)
    source = std::max(source, value.source);
  while (isTooFine(dims, source, limit)) {
    size_t axis = pickAxis(dims, values);
    dims[axis] = 1;
    for (AbstractValue &value : values)
      value = value.merging(axis);
  }
  return dims;
}

//===----------------------------------------------------------------------===//
// Changes of shape
//===----------------------------------------------------------------------===//

AbstractValue AbstractValue::transposed(ArrayRef<int64_t> perm) const {
  assert(perm.size() == rank() && "one axis each");
  Dims dims;
  SmallVector<size_t> own = getSteps(groupDims, groupDims);
  SmallVector<size_t> steps;
  // Without axes of one group, the axes that stay in order move nothing.
  int64_t last = -1;
  bool moves = false;
  for (int64_t axis : perm) {
    dims.push_back(groupDims[axis]);
    steps.push_back(own[axis]);
    if (groupDims[axis] == 1)
      continue;
    moves |= axis < last;
    last = axis;
  }
  AbstractValue result = *this;
  if (moves)
    result.cells_ = cells().gathered(walk(dims, steps));
  result.groupDims = std::move(dims);
  auto follow = [&](auto &fact) {
    if (fact)
      fact->axis = std::distance(perm.begin(), llvm::find(perm, fact->axis));
  };
  follow(result.norm);
  follow(result.rowSum);
  return result;
}

AbstractValue AbstractValue::selected(int64_t axis,
                                      ArrayRef<int64_t> indices) const {
  AbstractValue result = *this;
  if (groupDims[axis] != 1) {
    Dims dims = groupDims;
    dims[axis] = indices.size();
    size_t inner = countGroups(ArrayRef(groupDims).drop_front(axis + 1));
    size_t outer = countGroups(ArrayRef(groupDims).take_front(axis));
    SmallVector<uint32_t> groups;
    groups.reserve(countGroups(dims));
    for (size_t i = 0; i < outer; ++i)
      for (int64_t index : indices) {
        size_t first = (i * groupDims[axis] + index) * inner;
        for (size_t k = 0; k < inner; ++k)
          groups.push_back(first + k);
      }
    result = withCells(*this, std::move(dims), cells().gathered(groups));
  }
  // A selection without repetitions has no larger norm; its sum is another.
  if (norm && norm->axis == axis)
    result.norm.reset();
  if (rowSum && rowSum->axis == axis)
    result.rowSum.reset();
  return result;
}
