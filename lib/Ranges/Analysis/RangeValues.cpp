//===- RangeValues.cpp - What every value of a range analysis is held to
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever a transfer function says, a value is no more than its dtype, its
// shape, its elements and relations to other values allow. Constants are
// summarised when somebody asks: linear ops read the bytes of their weights
// themselves.
//
//===----------------------------------------------------------------------===//

#include "RangeDriver.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Relations/Relations.h"
#include "mpopt/Ranges/Weights/ConstantRange.h"
#include "mpopt/Ranges/Weights/Dequantized.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Limits a value to the range of its integer type, which holds whatever the
/// transfer function says.
static void fitInteger(AbstractValue &value, IntegerType type, Value of) {
  AbstractValue all = TransferContext::anything(of);
  const Cell &range = all.cell(0);
  bool wraps = value.mayBeNonFinite();
  for (const Cell &cell : value.cells())
    wraps |= !cell.empty() && (cell.lo < range.lo || cell.hi > range.hi);
  if (wraps) {
    LikelySource source = value.source;
    Cell likely = value.hull();
    value = all;
    // The estimate stays if it fits: wrapping is not what one expects.
    CellRef cell = value.mutableCells().front();
    if (source != LikelySource::Unknown && likely.likelyLo >= range.lo &&
        likely.likelyHi <= range.hi) {
      likely.lo = range.lo;
      likely.hi = range.hi;
      cell = likely;
      value.source = source;
    }
  }
  value.nan = value.posInf = value.negInf = false;
  value.integral = true;
}

/// Axes that the type does not have, or has in another size, are merged: a
/// transfer function need not know what type inference learnt elsewhere.
static void fitShape(AbstractValue &value, Value of) {
  MaybeShape shape = getShape(of);
  size_t rank = shape ? shape->size() : 0;
  if (rank == value.rank()) {
    for (size_t axis = 0; axis < rank; ++axis)
      if (value.dims()[axis] != 1 && (*shape)[axis] >= 0 &&
          value.dims()[axis] != (*shape)[axis])
        value = value.merging(axis);
    return;
  }
  AbstractValue merged(AbstractValue::Dims(rank, 1), value.hull());
  merged.copyFlags(value);
  value = std::move(merged);
}

/// Elements of small integer tensors that shape arithmetic follows are known
/// exactly, whatever a transfer function makes of them.
static void useElements(AbstractValue &pre, Value value,
                        const ShapeFacts &facts, size_t limit) {
  std::optional<SmallVector<int64_t>> known = facts.constants(value);
  MaybeShape shape = getShape(value);
  if (!known || known->empty() || known->size() > limit || !shape ||
      getNumElements(shape) != int64_t(known->size()))
    return;
  std::vector<Cell> cells;
  double least = std::numeric_limits<double>::max();
  for (int64_t element : *known) {
    if (std::abs(element) > (int64_t(1) << 53))
      return; // no double
    double number = element;
    cells.push_back(Cell{number, number, number, 0, number, number});
    if (element != 0)
      least = std::min(least, std::fabs(number));
  }
  pre = AbstractValue(AbstractValue::Dims(shape->begin(), shape->end()), cells);
  pre.integral = true;
  pre.minNonZero = least;
  pre.source = LikelySource::Weight;
}

/// True if the value is a step of a node that became several ops: a runtime's
/// kernel may keep it in a wider format, or store it as the ops do. A cast
/// counts if a precision inserted it at such a step.
bool RangeAnalysis::Driver::isStep(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || getNodeType(op).empty() || !getValueName(value).empty())
    return false;
  auto cast = dyn_cast<mp::CastOp>(op);
  return !cast || (cast.getOrigin() == mp::CastOrigin::Storage &&
                   !cast.getInput().getDefiningOp<mp::ConstantOp>() &&
                   isStep(cast.getInput()));
}

void RangeAnalysis::Driver::setValue(Value value, AbstractValue pre) {
  if (value.getDefiningOp<mp::DequantizeOp>())
    if (std::optional<WeightView> view = weights(value))
      pre = summarizeOnce(*view);
  if (auto cast = value.getDefiningOp<mp::CastOp>())
    if (ConstantLimits limits = limitsOf(cast))
      if (std::optional<WeightView> view = weights(cast.getInput())) {
        view->limits = limits;
        pre = summarizeOnce(*view);
      }
  constrain(value, pre);
  set(value, std::move(pre));
}

void RangeAnalysis::Driver::constrain(Value value, AbstractValue &pre) {
  if (isa<IntegerType>(getElementType(value)))
    useElements(pre, value, shapes(), limit.most);
  fitShape(pre, value);
  pre = pre.limited(limit);
  Type element = getElementType(value);
  if (auto integer = dyn_cast<IntegerType>(element))
    fitInteger(pre, integer, value);
  refineByRelations(value, pre, *this);
  if (auto result = dyn_cast<OpResult>(value);
      result && result.getOwner() == current)
    relaxation.refine(result, pre);
  pre.fit(getFloatFormat(element), isStep(value));
}

/// Large weights are read once for all analyses of a context.
AbstractValue RangeAnalysis::Driver::summarizeOnce(const WeightView &view) {
  if (!shared.memo || view.data.size() < Memo::kLeastWeight)
    return summarizeWeights(view, limit.most);
  MemoKey key;
  key.add('A');
  key.add(view.data.data());
  key.add(view.data.size());
  key.add(view.splat);
  key.add(view.elementType.getAsOpaquePointer());
  key.addAll(ArrayRef<int64_t>(view.shape));
  key.addAll(ArrayRef<const FloatFormat *>(view.roundings));
  key.add(view.limits.least);
  key.add(view.limits.most);
  key.add(limit.most);
  if (auto known = shared.memo->find<AbstractValue>(key))
    return *known;
  auto value = std::make_shared<const AbstractValue>(
      summarizeWeights(view, limit.most, {lowFormat, shared.memo}));
  shared.memo->keep(key, value, value->groups() * sizeof(Cell));
  return *value;
}

AbstractValue RangeAnalysis::Driver::summarize(mp::ConstantOp constant) {
  Value value = constant.getResult();
  Type element = getElementType(value);
  std::optional<WeightView> view = weights(value);
  AbstractValue pre = view ? summarizeOnce(*view) : anything(value);
  if (isa<IntegerType>(element))
    pre.integral = true;
  pre.fit(getFloatFormat(element));
  return pre;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

RangeAnalysis::Driver::Entry &RangeAnalysis::Driver::set(Value value,
                                                         AbstractValue pre) {
  recent = {};
  Entry *&known = entries[value];
  if (known)
    known->rounded.reset();
  else if (!unused.empty())
    known = unused.pop_back_val();
  else
    known = new (storage.Allocate()) Entry;
  known->pre = std::move(pre);
  known->spread = {};
  known->knowsSpread = false;
  known->magnitudes.reset();
  return *known;
}

void RangeAnalysis::Driver::forget(Value value) {
  recent = {};
  auto known = entries.find(value);
  if (known == entries.end())
    return;
  known->second->rounded.reset();
  relaxation.forget();
  unused.push_back(known->second);
  entries.erase(known);
}

RangeAnalysis::Driver::Entry &RangeAnalysis::Driver::find(Value value) {
  if (auto known = entries.find(value); known != entries.end())
    return *known->second;
  if (Value original = findInBase(value))
    return base->get(original);
  return set(value, compute(value));
}

Value RangeAnalysis::Driver::findInBase(Value value) const {
  if (!base || computes(value))
    return {};
  return originals ? originals->lookup(value) : value;
}

AbstractValue RangeAnalysis::Driver::compute(Value value) {
  if (auto constant = value.getDefiningOp<mp::ConstantOp>())
    return summarize(constant);
  // Never computed: a body that nobody walks.
  return anything(value);
}

AbstractValue RangeAnalysis::Driver::round(Value value,
                                           const AbstractValue &pre) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  AbstractValue stored = pre.stored(format);
  if (format && isStep(value))
    stored.admitUnrounded(pre);
  return stored;
}

void RangeAnalysis::Driver::keepRounded(Entry &entry, AbstractValue stored) {
  entry.rounded = std::make_unique<AbstractValue>(std::move(stored));
  // Weights, few and large, are asked for again and again.
  if (entry.pre.source != LikelySource::Weight)
    rounded.push_back(&entry);
}

const AbstractValue &RangeAnalysis::Driver::of(Value value) {
  Entry &entry = get(value);
  if (!entry.rounded) {
    // Each driver gives back what it has rounded.
    if (Value original = findInBase(value))
      return base->of(original);
    keepRounded(entry, round(value, entry.pre));
  }
  return *entry.rounded;
}

/// Rounded values are kept for the ops that follow.
static constexpr size_t kMostRounded = 256;

void RangeAnalysis::Driver::limitRounded() {
  if (base)
    base->limitRounded();
  if (rounded.size() < kMostRounded)
    return;
  for (Entry *entry : rounded)
    entry->rounded.reset();
  rounded.clear();
}

const Magnitudes &RangeAnalysis::Driver::magnitudes(Value value) {
  Entry &entry = get(value);
  if (!entry.magnitudes)
    entry.magnitudes = entry.pre.magnitudes();
  return *entry.magnitudes;
}

/// True if the op swaps the axes of a matrix.
static bool swapsMatrix(Operation *op) {
  auto transpose = dyn_cast<mp::TransposeOp>(op);
  if (!transpose || TransferContext::rankOf(transpose.getInput()) != 2)
    return false;
  auto perm = transpose.getPerm();
  return !perm || (perm->size() == 2 && (*perm)[0] == 1 && (*perm)[1] == 0);
}

/// True if the op gives the elements another shape and keeps their order.
static bool onlyReshapes(Operation *op) {
  return isa<mp::ReshapeOp, mp::FlattenOp, mp::SqueezeOp, mp::UnsqueezeOp>(op);
}

/// What `make` computes of a constant, its scales and its zero points, computed
/// once; `kind` tells apart what is made of the same constants.
std::optional<WeightView> RangeAnalysis::Driver::scaledWeights(
    char kind, ScaledConstant of, const StorageFormat &format, WeightView view,
    const MaybeShape &shape, decltype(dequantize) make) {
  std::optional<WeightView> elements = findWeights(of.elements, nullptr),
                            scales = findWeights(of.scale, nullptr), zeros;
  if (of.zeroPoint)
    zeros = findWeights(of.zeroPoint, nullptr);
  if (!shared.memo || !elements || !scales || elements->splat ||
      (of.zeroPoint && !zeros))
    return std::nullopt;
  MemoKey key;
  key.add(kind);
  for (const WeightView *part :
       {&*elements, &*scales, zeros ? &*zeros : nullptr}) {
    key.add(part ? part->data.data() : nullptr);
    key.add(part ? part->data.size() : size_t(0));
  }
  key.add(format.axis.value_or(0));
  key.add(format.block);
  key.add(format.codes.lo);
  key.add(format.codes.hi);
  auto numbers = shared.memo->find<std::vector<float>>(key);
  if (!numbers) {
    auto made = std::make_shared<const std::vector<float>>(
        make(*elements, *scales, zeros, format));
    shared.memo->keep(key, made, made->size() * sizeof(float));
    // A view needs numbers that live on.
    numbers = shared.memo->find<std::vector<float>>(key);
  }
  if (!numbers || numbers->empty())
    return std::nullopt;
  view.data = {reinterpret_cast<const char *>(numbers->data()),
               numbers->size() * sizeof(float)};
  view.elementType = Float32Type::get(of.elements.getContext());
  view.shape = shape ? *shape : elements->shape;
  return view;
}

/// The numbers for which the codes of the file stand.
std::optional<WeightView>
RangeAnalysis::Driver::dequantizedWeights(mp::DequantizeOp op, WeightView view,
                                          const MaybeShape &shape) {
  auto format = storageFormatOf(op);
  const FloatFormat *type = getFloatFormat(getElementType(op.getResult()));
  // A kernel of one node may not round the numbers to the dtype between.
  auto isNarrow = [](const FloatFormat *format) {
    return format && format->digits < FloatFormat::f32().digits;
  };
  bool isKept = isStep(op.getResult()) &&
                (isNarrow(type) || llvm::any_of(view.roundings, isNarrow));
  if (!format || !type || isKept)
    return std::nullopt;
  if (type->digits < FloatFormat::f32().digits)
    view.roundings.insert(view.roundings.begin(), type);
  return scaledWeights('Q', {op.getInput(), op.getScale(), op.getZeroPoint()},
                       *format, std::move(view), shape, dequantize);
}

/// The codes of a weight that the model quantises itself, as models that are
/// exported for engines do, or their numbers; nothing that is rounded on the
/// way.
template <typename Op>
std::optional<WeightView>
RangeAnalysis::Driver::quantizedWeights(Op op, WeightView view,
                                        const MaybeShape &shape) {
  // Numbers, not codes.
  constexpr bool kIsFake = std::is_same_v<Op, mp::FakeQuantizeOp>;
  auto format = storageFormatOf(op);
  if (!format || !getElementType(op.getInput()).isF32() ||
      (!kIsFake && !view.roundings.empty()))
    return std::nullopt;
  return scaledWeights(
      kIsFake ? 'F' : 'C', {op.getInput(), op.getScale(), op.getZeroPoint()},
      *format, std::move(view), shape, kIsFake ? fakeQuantize : quantize);
}

/// Truth values and dense integers of fewer than 8 bits, of which MLIR has no
/// bytes to read, as those of 8 bits that they are equal to.
std::optional<WeightView>
RangeAnalysis::Driver::widenedWeights(mp::ConstantOp constant,
                                      WeightView view) {
  auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  auto type = dyn_cast<IntegerType>(view.elementType);
  if (!shared.memo || !dense || !type)
    return std::nullopt;
  bool isUnsigned = type.isUnsigned() || type.getWidth() == 1;
  MemoKey key;
  key.add('N');
  key.add(dense.getAsOpaquePointer());
  auto bytes = shared.memo->find<std::vector<char>>(key);
  if (!bytes) {
    std::vector<char> wide;
    auto widen = [&](const APInt &x) {
      wide.push_back(char(isUnsigned ? x.getZExtValue() : x.getSExtValue()));
    };
    if (dense.isSplat())
      widen(dense.getSplatValue<APInt>());
    else
      llvm::for_each(dense.getValues<APInt>(), widen);
    auto made = std::make_shared<const std::vector<char>>(std::move(wide));
    shared.memo->keep(key, made, made->size());
    bytes = shared.memo->find<std::vector<char>>(key);
  }
  if (!bytes)
    return std::nullopt;
  view.elementType =
      IntegerType::get(type.getContext(), 8, type.getSignedness());
  view.data = *bytes;
  view.splat = dense.isSplat();
  return view;
}

/// The constant behind casts, identities, other shapes of it and, where
/// `swapped` is asked for, transpositions of a matrix; or numbers for which a
/// constant's codes stand.
std::optional<WeightView> RangeAnalysis::Driver::findWeights(Value value,
                                                             bool *swapped) {
  WeightView view;
  // The shape that the caller sees; a transposed one has another order.
  MaybeShape shape;
  bool transposed = false;
  while (Operation *op = value.getDefiningOp()) {
    if (swapped && !shape && swapsMatrix(op)) {
      *swapped = !*swapped;
      transposed = true;
    } else if (!transposed && onlyReshapes(op)) {
      if (!shape)
        shape = getShape(op->getResult(0));
      if (!shape || llvm::is_contained(*shape, kDynamic))
        return std::nullopt;
    } else if (auto cast = dyn_cast<mp::CastOp>(op)) {
      const FloatFormat *to = getFloatFormat(getElementType(cast.getResult()));
      if (!to || cast.getSaturate() || cast.getRoundMode() ||
          !getFloatFormat(getElementType(cast.getInput())))
        return std::nullopt;
      // The weights know the errors of their scales (ScaledWeights.h).
      if (!cast->hasAttr(kScaledAttr))
        view.roundings.insert(view.roundings.begin(), to);
      // Only casts of constants have some: the first one that is applied.
      if (ConstantLimits limits = limitsOf(cast))
        view.limits = limits;
    } else if (!isa<mp::IdentityOp>(op)) {
      break;
    }
    value = op->getOperand(0);
  }
  if (auto codes = value.getDefiningOp<mp::DequantizeOp>())
    return dequantizedWeights(codes, std::move(view), shape);
  if (auto numbers = value.getDefiningOp<mp::QuantizeOp>())
    return quantizedWeights(numbers, std::move(view), shape);
  if (auto fake = value.getDefiningOp<mp::FakeQuantizeOp>())
    return quantizedWeights(fake, std::move(view), shape);
  auto constant = value.getDefiningOp<mp::ConstantOp>();
  if (!constant)
    return std::nullopt;
  Type element = getElementType(value);
  if (!isa<FloatType>(element) && !isa<IntegerType>(element))
    return std::nullopt;
  view.elementType = element;
  view.shape = shape ? *shape : *getShape(value);
  std::optional<ConstantBytes> bytes = getConstantBytes(constant);
  if (!bytes)
    return widenedWeights(constant, std::move(view));
  view.data = bytes->data;
  view.splat = bytes->splat;
  return view;
}

std::optional<WeightView> RangeAnalysis::Driver::weights(Value value) {
  return findWeights(value, /*swapped=*/nullptr);
}
std::optional<WeightView> RangeAnalysis::Driver::matrixWeights(Value value,
                                                               bool &swapped) {
  swapped = false;
  return findWeights(value, &swapped);
}
