//===- Checkpoints.cpp - What a forward pass keeps with checkpointing
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters tell which ops are of a block; those between two blocks are dealt
// out where the least crosses from one to the other, which is where a module
// ends and the next begins.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Adjoint/SavedTensors.h"

#include "Layout.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Settings.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace mpopt;

/// The first component that is a number, or ends in `_` and one, with all in
/// front of it: `layers.3`, `encoder/block_3`.
std::string mpopt::getBlockName(StringRef parameter) {
  for (size_t begin = 0; begin < parameter.size();) {
    size_t end = parameter.find_first_of("./", begin);
    if (end == StringRef::npos)
      break; // The parameter's own name.
    StringRef part = parameter.slice(begin, end);
    StringRef number = part.contains('_') ? part.rsplit('_').second : part;
    if (!number.empty() && llvm::all_of(number, llvm::isDigit))
      return parameter.take_front(end).str();
    begin = end + 1;
  }
  return {};
}

/// `layers` of `layers.3`: blocks of one series differ in the number.
static StringRef getSeries(StringRef block) {
  return block.rtrim("0123456789");
}

namespace {
/// Ops of the main graph by number.
struct Range {
  std::string name;
  unsigned first = 0, last = 0;
};

class Checkpointer {
public:
  Checkpointer(mlir::Block &block, const SavedTensors &saved, double batch,
               llvm::function_ref<StringRef(Value)> nameOf)
      : block(block), saved(saved), batch(batch), nameOf(nameOf) {}

  std::optional<Checkpoints> run();

private:
  void numberOps();
  bool findRanges();
  void findCrossing();
  void widenRanges();
  double sizeOf(Value storage) const;
  const Range *rangeOf(Operation *op) const;

  mlir::Block &block;
  const SavedTensors &saved;
  double batch;
  llvm::function_ref<StringRef(Value)> nameOf;
  Layouts layouts;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> numbers;
  /// The block, or the name of the parameter outside of blocks, that an op
  /// reads; empty for others.
  std::vector<std::string> labels;
  std::vector<Range> ranges;
  /// Bytes that are made before the op and read by it or behind it.
  std::vector<double> crossing;
};
} // namespace

/// The forward ops, with the parameters that they read, through what is
/// computed of parameters alone.
void Checkpointer::numberOps() {
  llvm::DenseMap<Value, std::string> names;
  for (Operation &op : block) {
    if (op.hasAttr(kBackwardAttr) || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    std::string label;
    for (Value operand : op.getOperands())
      if (auto found = names.find(operand);
          found != names.end() && label.empty())
        label = found->second;
    for (Value result : op.getResults()) {
      if (!layouts.isFixed(result))
        continue;
      StringRef name = nameOf(result);
      if (!name.empty() || !label.empty())
        names[result] = name.empty() ? label : name.str();
    }
    if (op.getNumResults() && layouts.isFixed(op.getResult(0)))
      continue;
    numbers[&op] = ops.size();
    ops.push_back(&op);
    labels.push_back(label);
  }
}

/// The ops that read parameters of each block. False if no block repeats, or if
/// two overlap.
bool Checkpointer::findRanges() {
  std::map<std::string, unsigned> members;
  llvm::SmallSetVector<StringRef, 16> blocks;
  std::vector<std::string> names;
  for (const std::string &label : labels)
    names.push_back(getBlockName(label));
  for (const std::string &name : names)
    if (!name.empty() && blocks.insert(name))
      ++members[getSeries(name).str()];
  for (auto [number, name] : llvm::enumerate(names)) {
    if (name.empty() || members[getSeries(name).str()] < 2)
      continue;
    auto range = llvm::find_if(
        ranges, [&](const Range &other) { return other.name == name; });
    if (range == ranges.end())
      range = ranges.insert(ranges.end(), {name, unsigned(number), 0});
    range->last = number;
  }
  llvm::sort(ranges, [](const Range &lhs, const Range &rhs) {
    return lhs.first < rhs.first;
  });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first <= ranges[i - 1].last)
      return false;
  return !ranges.empty();
}

double Checkpointer::sizeOf(Value storage) const {
  std::optional<int64_t> count = getNumElements(getShape(storage));
  Type type = getElementType(storage);
  if (!count || !type.isIntOrFloat())
    return 0;
  return double(*count) * std::max(1u, type.getIntOrFloatBitWidth() / 8);
}

void Checkpointer::findCrossing() {
  std::vector<double> change(ops.size() + 2, 0);
  llvm::MapVector<Value, std::pair<unsigned, unsigned>> lives;
  for (auto [number, op] : llvm::enumerate(ops)) {
    op->walk([&, number = number](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (!isa<TensorType>(operand.getType()) || layouts.isFixed(operand))
          continue;
        Value storage = layouts.get(operand).storage;
        Operation *maker = storage.getDefiningOp();
        auto made = maker ? numbers.find(maker) : numbers.end();
        unsigned from = made == numbers.end() ? 0 : made->second + 1;
        auto [life, isNew] = lives.insert({storage, {from, unsigned(number)}});
        life->second.second = std::max<unsigned>(life->second.second, number);
      }
    });
  }
  for (auto &[storage, life] : lives)
    if (life.first <= life.second) {
      change[life.first] += sizeOf(storage);
      change[life.second + 1] -= sizeOf(storage);
    }
  crossing.assign(ops.size() + 1, 0);
  double sum = 0;
  for (size_t i = 0; i < crossing.size(); ++i)
    crossing[i] = sum += change[i];
}

/// Moves the ends of ranges to where the least crosses, between the ops that
/// read parameters of others. Where it is the same, what is behind an op that
/// reads parameters goes with it. Behind the last block there is none to begin:
/// it ends where no more crosses than where it began.
void Checkpointer::widenRanges() {
  auto last = [&](unsigned from, unsigned to) {
    unsigned best = to;
    for (unsigned i = to; i > from; --i)
      if (crossing[i] < crossing[best])
        best = i;
    return best;
  };
  auto end = [&](unsigned start, unsigned from, unsigned to) {
    for (unsigned i = from; i <= to; ++i)
      if (crossing[i] <= crossing[start])
        return i;
    return from;
  };
  auto isForeign = [&](unsigned number) {
    return !labels[number].empty() || ops[number]->hasAttr(kLossPartAttr);
  };
  for (size_t i = 0; i < ranges.size(); ++i) {
    unsigned from = ranges[i].first;
    while (from > 0 && !isForeign(from - 1))
      --from;
    unsigned start = last(from, ranges[i].first);
    if (i > 0 && start > 0 && from == ranges[i - 1].last + 1)
      ranges[i - 1].last = start - 1;
    ranges[i].first = start;
    unsigned to = ranges[i].last + 1;
    while (to < ops.size() && !isForeign(to))
      ++to;
    bool meetsNext = i + 1 < ranges.size() && ranges[i + 1].first == to;
    if (!meetsNext)
      ranges[i].last = end(start, ranges[i].last + 1, to) - 1;
  }
}

const Range *Checkpointer::rangeOf(Operation *op) const {
  auto number = numbers.find(op);
  if (number == numbers.end())
    return nullptr;
  for (const Range &range : ranges)
    if (number->second >= range.first && number->second <= range.last)
      return &range;
  return nullptr;
}

std::optional<Checkpoints> Checkpointer::run() {
  numberOps();
  if (!findRanges())
    return std::nullopt;
  findCrossing();
  widenRanges();

  // The inputs of blocks are kept for them.
  llvm::DenseSet<Value> entering;
  for (const Range &range : ranges)
    for (unsigned i = range.first; i <= range.last; ++i)
      ops[i]->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands()) {
          if (!isa<TensorType>(operand.getType()) || layouts.isFixed(operand))
            continue;
          Value storage = layouts.get(operand).storage;
          Operation *maker = storage.getDefiningOp();
          if (!maker || rangeOf(maker) != &range)
            entering.insert(storage);
        }
      });
  Checkpoints result;
  for (Value storage : entering)
    result.kept += sizeOf(storage) * batch;
  llvm::DenseMap<const Range *, double> inside;
  for (const SavedTensor &tensor : saved.tensors) {
    if (tensor.isValue && entering.contains(tensor.value))
      continue;
    double bytes =
        double(tensor.bytes.value_or(0)) * (tensor.followsInput ? batch : 1);
    llvm::SmallSetVector<const Range *, 4> readers;
    for (Operation *reader : tensor.readers)
      readers.insert(rangeOf(reader));
    if (readers.contains(nullptr)) {
      result.kept += bytes;
      continue;
    }
    for (const Range *range : readers)
      inside[range] += bytes;
  }
  double most = 0;
  for (const Range &range : ranges) {
    result.blocks.push_back({range.name, inside.lookup(&range)});
    most = std::max(most, result.blocks.back().bytes);
  }
  result.peak = result.kept + most;
  return result;
}

std::optional<Checkpoints>
mpopt::findCheckpoints(mlir::Block &block, const SavedTensors &saved,
                       double batch,
                       llvm::function_ref<StringRef(Value)> nameOf) {
  return Checkpointer(block, saved, batch, nameOf).run();
}
