//===- Samples.cpp - Tensors of the evaluations of samples
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Samples.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Numerics/Tally.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::samples;

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

static int64_t product(ArrayRef<int64_t> dims) {
  int64_t size = 1;
  for (int64_t dim : dims)
    size *= dim;
  return size;
}

int64_t Array::size() const { return product(shape); }

int64_t Array::stride(size_t axis) const {
  return product(ArrayRef(shape).drop_front(axis + 1));
}

Array Array::zeros(int64_t count, Shape shape) {
  Array array{count, std::move(shape), {}};
  array.numbers.resize(size_t(count * array.size()));
  return array;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void Samples::readFrom(Samples &base,
                       const llvm::DenseMap<Value, Value> &originals) {
  this->base = &base;
  this->originals = &originals;
}

/// The samples of `mp.assume` as evaluations of an input of `shape`: with one
/// axis more in front, or one behind the other in the first axis.
static Result makeArray(DenseFPElementsAttr given, const Shape &shape) {
  Shape own(given.getType().getShape());
  Array array;
  if (own.size() == shape.size() + 1) {
    array.count = own.front();
    array.shape.assign(own.begin() + 1, own.end());
  } else if (own.size() == shape.size() && !own.empty()) {
    array.shape = own;
    array.shape.front() = std::max<int64_t>(shape.front(), 1);
    array.count = own.front() / array.shape.front();
  } else {
    return std::nullopt;
  }
  if (array.count < 1 || array.count * array.size() != given.getNumElements())
    return std::nullopt;
  for (auto [dim, wanted] : llvm::zip_equal(array.shape, shape))
    if (wanted >= 0 && dim != wanted)
      return std::nullopt;
  array.numbers.assign(given.value_begin<float>(), given.value_end<float>());
  return array;
}

void Samples::declare(BlockArgument argument) {
  DictionaryAttr assume = getAssumption(argument);
  MaybeShape shape = getShape(argument);
  auto given =
      assume ? assume.getAs<DenseFPElementsAttr>(kSamplesKey) : nullptr;
  if (!given || !shape || !given.getElementType().isF32())
    return;
  if (Result array = makeArray(given, *shape))
    arrays[argument] = std::make_unique<Array>(std::move(*array));
}

/// Those of this analysis, else those of the base.
const Array *Samples::lookUp(Value value) const {
  if (auto known = arrays.find(value); known != arrays.end())
    return known->second.get();
  Value original = base ? originals->lookup(value) : Value();
  return original ? base->lookUp(original) : nullptr;
}

const Array *Samples::find(Value value) {
  if (const Array *known = lookUp(value))
    return known;
  if (auto known = constants.find(value); known != constants.end())
    return known->second.get();
  if (Result window = makeWindow(value, ctx)) {
    auto &known = constants[value];
    known = std::make_unique<Array>(std::move(*window));
    return known.get();
  }
  std::optional<WeightView> view = ctx.weights(value);
  if (!view || !getFloatFormat(getElementType(value)) ||
      double(view->size()) > elements)
    return nullptr;
  std::vector<double> read(size_t(view->size()));
  view->read(0, read);
  if (!llvm::all_of(read, [](double number) { return std::isfinite(number); }))
    return nullptr;
  elements -= double(read.size());
  auto &known = constants[value];
  known = std::make_unique<Array>(
      Array{1, view->shape, std::vector<float>(read.begin(), read.end())});
  return known.get();
}

bool Samples::spend(double count) {
  if (count > products)
    return false;
  products -= count;
  return true;
}

const Array *Samples::evaluate(OpResult result) {
  Operation *op = result.getOwner();
  if (!getFloatFormat(getElementType(result)) || isa<mp::ConstantOp>(op) ||
      llvm::none_of(op->getOperands(),
                    [&](Value operand) { return isSampled(operand); }))
    return nullptr;
  // Inputs with different numbers of samples do not go together.
  int64_t count = 1;
  for (Value operand : op->getOperands())
    if (const Array *known = lookUp(operand)) {
      if (known->count != 1 && count != 1 && known->count != count)
        return nullptr;
      count = std::max(count, known->count);
    }
  Result made;
  for (auto *family : {evaluateView, evaluateProduct, evaluateTransform,
                       evaluateSum, evaluatePointwise})
    if ((made = family(result, *this)))
      break;
  auto &known = arrays[result];
  known.reset();
  MaybeShape shape = getShape(result);
  if (!made || !shape || shape->size() != made->shape.size() ||
      double(made->numbers.size()) > elements ||
      !llvm::all_of(made->numbers,
                    [](float number) { return std::isfinite(number); }))
    return nullptr;
  for (auto [dim, wanted] : llvm::zip_equal(made->shape, *shape))
    if (wanted >= 0 && dim != wanted)
      return nullptr;
  elements -= double(made->numbers.size());
  known = std::make_unique<Array>(std::move(*made));
  return known.get();
}

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

/// The elements of each half of the evaluations by the groups of a value, whose
/// axes are the array's.
static std::array<std::vector<Tally>, 2> tally(const Array &array,
                                               ArrayRef<int64_t> groups) {
  SmallVector<int64_t, 6> strides(groups.size(), 0), index(groups.size(), 0);
  int64_t stride = 1;
  for (size_t axis = groups.size(); axis-- > 0; stride *= groups[axis])
    strides[axis] = groups[axis] == 1 ? 0 : stride;
  std::array<std::vector<Tally>, 2> halves;
  for (std::vector<Tally> &half : halves)
    half.resize(size_t(stride));
  for (int64_t evaluation = 0; evaluation < array.count; ++evaluation) {
    int64_t group = 0;
    for (double number : array.evaluation(evaluation)) {
      halves[2 * evaluation >= array.count][size_t(group)].add(number);
      for (size_t axis = index.size(); axis-- > 0;) {
        group += strides[axis];
        if (++index[axis] < array.shape[axis])
          break;
        group -= strides[axis] * index[axis];
        index[axis] = 0;
      }
    }
  }
  return halves;
}

void samples::estimate(AbstractValue &value, const Array &array) {
  if (array.numbers.empty() || value.rank() != array.shape.size())
    return;
  for (auto [kept, dim] : llvm::zip_equal(value.dims(), array.shape))
    if (kept != 1 && kept != dim)
      return;
  auto [first, second] = tally(array, value.dims());
  // A tone is in another bin in the next sample.
  std::optional<double> gain = gainOfGroups(first, second);
  bool differ = first.size() > 1 && gain && *gain > 0;
  if (first.size() > 1 && !gain)
    return;
  Tally all;
  for (auto [own, other] : llvm::zip_equal(first, second)) {
    own.add(other);
    all.add(own);
  }
  for (auto [cell, own] : llvm::zip_equal(value.mutableCells(), first)) {
    const Tally &seen = differ ? own : all;
    Likely likely{seen.mean(), seen.variance(), seen.hull.lo, seen.hull.hi};
    if (!cell.empty())
      cells::setLikely(cell, likely.within(cells::bound(cell)));
  }
  value.source = LikelySource::Propagated;
}
