//===- SavedTensors.cpp - What a forward pass keeps
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Adjoint/SavedTensors.h"

#include "FusedKernels.h"
#include "Layout.h"

#include "mpopt/Adjoint/SavingInterface.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"

#include "llvm/ADT/MapVector.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace mpopt;

double SavedTensors::bytes(double batch) const {
  double sum = 0;
  for (const SavedTensor &tensor : tensors)
    sum += double(tensor.bytes.value_or(0)) * (tensor.followsInput ? batch : 1);
  return sum;
}

unsigned SavedTensors::unknown() const {
  return llvm::count_if(
      tensors, [](const SavedTensor &tensor) { return !tensor.bytes; });
}

/// Booleans take a byte.
static std::optional<int64_t> bytesOf(std::optional<int64_t> elements,
                                      Type type) {
  if (!elements || !type || !type.isIntOrFloat())
    return std::nullopt;
  int64_t bytes;
  int64_t size = std::max(1u, type.getIntOrFloatBitWidth() / 8);
  return llvm::MulOverflow(*elements, size, bytes) ? std::nullopt
                                                   : std::optional(bytes);
}

static std::optional<int64_t> bytesOf(Value value) {
  return bytesOf(getNumElements(getShape(value)), getElementType(value));
}

/// The differences that make storages two: a value; the op that has a copy of
/// its own, which is null where all share it; the number of the copy.
using Key = std::tuple<void *, Operation *, unsigned>;

namespace {
/// The tensors saved in one block, and in bodies of its ops.
class Collector {
public:
  Collector(Layouts &layouts, const FusedKernels &composites)
      : layouts(layouts), composites(composites) {}

  void collect(ArrayRef<OpReads> reads);
  void add(const Key &key, SavedTensor tensor);

  /// Adds what `owner` saves of `value`, by a copy if it computes in another
  /// type.
  void keepValue(Value value, Operation *owner, Type computes = {});
  /// Each iteration has a tensor of its own.
  void repeat(SavedTensor &tensor) const;

  Layouts &layouts;
  const FusedKernels &composites;
  std::map<Key, size_t> places;
  std::vector<SavedTensor> tensors;
  /// The op of the main graph that is at hand.
  Operation *reader = nullptr;
  /// How often the body that is at hand runs.
  std::optional<int64_t> times = 1;
  /// The block is the main one.
  bool isMain = true;

private:
  void collectOp(const OpReads &read);
  void collectComposite(const FusedKernel &composite);
  void collectBodies(const OpReads &read);
};

class Context : public SavingContext {
public:
  Context(Collector &collector, Operation *op, ArrayRef<Value> reads)
      : SavingContext(op, reads), collector(collector) {}

  void keep(Value value) override {
    if (value)
      collector.keepValue(value, op());
  }
  void keepPacked(Value weights) override;
  void keepMerged(Value value, unsigned begin, unsigned end, bool transposed,
                  std::optional<int64_t> elements) override;
  void keepNew(std::optional<int64_t> elements, Type type) override;

private:
  Collector &collector;
  unsigned copies = 0;
};
} // namespace

void Collector::add(const Key &key, SavedTensor tensor) {
  auto [place, isNew] = places.try_emplace(key, tensors.size());
  if (isNew)
    tensors.push_back(std::move(tensor));
  SavedTensor &its = tensors[place->second];
  if (reader && !llvm::is_contained(its.readers, reader))
    its.readers.push_back(reader);
}

void Collector::repeat(SavedTensor &tensor) const {
  int64_t all;
  bool known =
      tensor.bytes && times && !llvm::MulOverflow(*tensor.bytes, *times, all);
  tensor.bytes = known ? std::optional(all) : std::nullopt;
}

/// A kernel over elements reads operands of several types as they are.
static bool promotesInPlace(Operation *op) {
  constexpr Role kOthers = Role::Contraction | Role::Reduction |
                           Role::Recurrent | Role::Attention | Role::Loss |
                           Role::Normalization | Role::Softmax;
  return !hasRole(op, kOthers);
}

void Collector::keepValue(Value value, Operation *owner, Type computes) {
  Peel through = Peel::Identities;
  if (computes)
    through = through | Peel::InsertedCasts;
  else if (promotesInPlace(owner))
    through = through | Peel::PromotionCasts;
  value = peel(value, through);
  if (!isa<TensorType>(value.getType()))
    return;
  Value storage = layouts.get(value).storage;
  // Numbers, sizes and indices of the model's code are no tensors.
  bool isNumber =
      layouts.isFixed(value) &&
      (getElementType(value).isIndex() || getElementType(value).isInteger(64) ||
       getNumElements(getShape(value)) == 1);
  if (layouts.isStored(value) || isNumber)
    return;
  SavedTensor tensor;
  tensor.value = storage;
  tensor.elementType = getElementType(storage);
  tensor.followsInput = !layouts.isFixed(storage);
  // Autocast casts for each op anew, but for parameters.
  Operation *maker = storage.getDefiningOp();
  auto cast = dyn_cast_or_null<mp::CastOp>(maker);
  bool ofPolicy = cast && cast.getOrigin() == mp::CastOrigin::Policy;
  Operation *copyFor =
      ofPolicy && !layouts.isStored(cast.getInput()) ? owner : nullptr;
  // A kernel that computes in another type casts by itself.
  unsigned copy = 0;
  if (computes && isa<FloatType>(tensor.elementType) &&
      computes != tensor.elementType && isa<FloatType>(computes)) {
    tensor.elementType = computes;
    copyFor = owner;
    copy = 1;
    tensor.bytes = bytesOf(getNumElements(getShape(value)), computes);
    tensor.value = value;
  } else {
    tensor.bytes = bytesOf(storage);
  }
  // A value from outside of a loop is there once.
  if (!isMain && storage.getParentBlock() != reader->getBlock())
    repeat(tensor);
  add({storage.getAsOpaquePointer(), copyFor, copy}, std::move(tensor));
}

/// True if the dims from `begin` to `end` lie so that they can be one.
static bool canMerge(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                     unsigned begin, unsigned end) {
  Shape merged(shape.begin(), shape.begin() + begin);
  int64_t product = 1;
  for (unsigned i = begin; i < end; ++i)
    product *= shape[i];
  merged.push_back(product);
  merged.append(shape.begin() + end, shape.end());
  return reshapeStrides(shape, strides, merged).has_value();
}

void Context::keepPacked(Value weights) {
  Operation *maker = getMaker(weights, Peel::Identities);
  auto cast = dyn_cast_or_null<mp::CastOp>(maker);
  if (!collector.layouts.isFixed(weights) || (cast && isInserted(cast)))
    keep(weights);
}

void Context::keepMerged(Value value, unsigned begin, unsigned end,
                         bool transposed, std::optional<int64_t> elements) {
  MaybeShape shape = getShape(value);
  std::optional<int64_t> all = getNumElements(shape);
  Layout layout = collector.layouts.get(value);
  if (!all || !layout.strides || layout.strides->size() != shape->size() ||
      end <= begin + 1)
    return keep(value);
  Strides strides = *layout.strides;
  size_t rank = shape->size();
  if (transposed && rank >= 2) {
    std::swap((*shape)[rank - 1], (*shape)[rank - 2]);
    std::swap(strides[rank - 1], strides[rank - 2]);
  }
  bool repeats = elements && *elements != *all;
  // All of a batch that is one matrix repeated is that matrix.
  bool isMatrix = repeats && llvm::all_of(ArrayRef(*shape).drop_back(2),
                                          [](int64_t dim) { return dim == 1; });
  if (isMatrix || (!repeats && canMerge(*shape, strides, begin, end)))
    return keep(value);
  SavedTensor tensor;
  tensor.value = value;
  tensor.elementType = getElementType(value);
  tensor.bytes = bytesOf(repeats ? elements : all, tensor.elementType);
  collector.repeat(tensor);
  tensor.isValue = false;
  tensor.followsInput = !collector.layouts.isFixed(value);
  collector.add({value.getAsOpaquePointer(), op(), ++copies},
                std::move(tensor));
}

void Context::keepNew(std::optional<int64_t> elements, Type type) {
  SavedTensor tensor;
  tensor.value = op()->getResult(0);
  tensor.elementType = type;
  tensor.bytes = bytesOf(elements, type);
  collector.repeat(tensor);
  tensor.isValue = false;
  collector.add({nullptr, op(), ++copies}, std::move(tensor));
}

void Collector::collectComposite(const FusedKernel &composite) {
  Operation *owner = composite.members.front();
  for (Value value : composite.saved)
    keepValue(value, owner, composite.computes);
  // A causal mask is an option of the kernel.
  if (composite.mask && !layouts.isFixed(composite.mask))
    keepValue(composite.mask, owner, composite.computes);
  if (!composite.statistics)
    return;
  MaybeShape shape = getShape(composite.counted);
  std::optional<int64_t> count;
  if (shape && shape->size() >= composite.dims)
    count =
        getNumElements(Shape(shape->begin(), shape->begin() + composite.dims));
  Context context(*this, owner, {});
  context.keepNew(count ? std::optional(*count * composite.statistics)
                        : std::nullopt,
                  Builder(owner).getF32Type());
}

/// The number of iterations of the loop, 1 of a branch.
static std::optional<int64_t> getIterations(Operation *op) {
  ShapeFacts facts;
  if (auto loop = dyn_cast<mp::LoopOp>(op))
    return loop.getKnownTripCount(facts);
  auto scan = dyn_cast<mp::ScanOp>(op);
  if (!scan)
    return 1;
  MaybeShape shape = getShape(scan.getInputs().front());
  int64_t axis = scan.getInputAxes() && !scan.getInputAxes()->empty()
                     ? scan.getInputAxes()->front()
                     : 0;
  std::optional<int64_t> place =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  return place && (*shape)[*place] >= 0 ? std::optional((*shape)[*place])
                                        : std::nullopt;
}

/// Autograd saves what each iteration does; of branches the one that saves more
/// counts.
void Collector::collectBodies(const OpReads &read) {
  std::optional<int64_t> iterations = getIterations(read.op);
  std::optional<Collector> most;
  double mostBytes = -1;
  for (const std::vector<OpReads> &body : read.bodies) {
    Collector inner(layouts, composites);
    inner.isMain = false;
    inner.reader = reader;
    int64_t all;
    bool known =
        times && iterations && !llvm::MulOverflow(*times, *iterations, all);
    inner.times = known ? std::optional(all) : std::nullopt;
    inner.collect(body);
    double bytes = SavedTensors{inner.tensors}.bytes();
    if (bytes > mostBytes) {
      mostBytes = bytes;
      most.emplace(std::move(inner));
    }
  }
  if (!most)
    return;
  for (auto &[key, place] : most->places)
    add(key, std::move(most->tensors[place]));
}

void Collector::collectOp(const OpReads &read) {
  if (!read.bodies.empty())
    return collectBodies(read);
  if (const FusedKernel *composite = composites.get(read.op))
    return collectComposite(*composite);
  Context context(*this, read.op, read.values);
  if (auto saving = dyn_cast<SavingOpInterface>(read.op))
    saving.save(context);
  else
    context.keepReads();
}

void Collector::collect(ArrayRef<OpReads> reads) {
  for (const OpReads &read : reads) {
    if (isMain)
      reader = read.op;
    collectOp(read);
  }
}

SavedTensors mpopt::findSavedTensors(Block &block, ArrayRef<OpReads> reads) {
  Layouts layouts;
  FusedKernels composites(block);
  for (const FusedKernel &composite : composites.all)
    if (composite.attended)
      layouts.setAttention(composite.attended);
  // In this order no value is followed far.
  for (Operation &op : block)
    for (Value result : op.getResults()) {
      layouts.get(result);
      layouts.isFixed(result);
    }
  Collector collector(layouts, composites);
  collector.collect(reads);
  return {std::move(collector.tensors)};
}
