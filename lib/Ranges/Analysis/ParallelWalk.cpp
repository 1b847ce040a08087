//===- ParallelWalk.cpp - Ops of a function on several threads
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result depends on what its op reads, directly or through relations to ops
// in front of those, on the running statistics of a norm that reads it, and on
// nothing else: ops for which these are ready, as far as they come first in the
// program, are computed in any order, with the results of a walk in order. That
// does not hold for ops that share passes over large weights, where the first
// of several passes is kept; these, and ops with bodies, run alone. The lock is
// held for looking up and for setting values, never while one is computed.
//
//===----------------------------------------------------------------------===//

#include "RangeDriver.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Relations/RelationSupport.h"
#include "mpopt/Ranges/Value/ForwardingContext.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Parallel.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

using namespace mlir;
using namespace mpopt;

/// Ops that are scheduled together: between two sets rounded values give their
/// memory back.
static constexpr size_t kMostTogether = 256;
/// A thread for fewer ops would not pay for its start.
static constexpr size_t kOpsPerThread = 24;
/// Two were measured.
static constexpr unsigned kMostThreads = 4;
/// With fewer groups an op takes as long as its scheduling.
static constexpr size_t kLeastGroups = 1024;

/// The context of one thread, which computes one op at a time.
class RangeAnalysis::Driver::Worker : public ForwardingContext<> {
public:
  Worker(Driver &driver, std::mutex &lock)
      : ForwardingContext(driver), driver(driver), lock(lock) {}

  /// Computes the op; true if it loses track (RangeAnalysis::unknown).
  bool visit(Operation *op);

  const AbstractValue &of(Value value) override;
  const AbstractValue &preRounding(Value value) override {
    return get(value).pre;
  }
  unsigned jobs() const override { return 1; }
  void setArgument(BlockArgument, AbstractValue) override {
    llvm_unreachable("ops with bodies run alone");
  }
  void walk(Region &) override {
    llvm_unreachable("ops with bodies run alone");
  }

protected:
  void setValue(Value value, AbstractValue pre) override;

private:
  using Lock = std::lock_guard<std::mutex>;

  /// Null if it is not known yet; the lock is held.
  Entry *find(Value value) {
    auto known = driver.entries.find(value);
    return known == driver.entries.end() ? nullptr : known->second;
  }
  Entry &get(Value value);

  Driver &driver;
  std::mutex &lock;
};

// Two threads may compute the same constant or round the same value at once:
// both get the same, and the first one's stays.

RangeAnalysis::Driver::Entry &RangeAnalysis::Driver::Worker::get(Value value) {
  {
    Lock held(lock);
    if (Entry *known = find(value))
      return *known;
  }
  AbstractValue pre = driver.compute(value);
  Lock held(lock);
  Entry *known = find(value);
  return known ? *known : driver.set(value, std::move(pre));
}

const AbstractValue &RangeAnalysis::Driver::Worker::of(Value value) {
  Entry &entry = get(value);
  {
    Lock held(lock);
    if (entry.rounded)
      return *entry.rounded;
  }
  AbstractValue stored = round(value, entry.pre);
  Lock held(lock);
  if (!entry.rounded)
    driver.keepRounded(entry, std::move(stored));
  return *entry.rounded;
}

void RangeAnalysis::Driver::Worker::setValue(Value value, AbstractValue pre) {
  driver.constrain(value, pre, *this);
  Lock held(lock);
  driver.set(value, std::move(pre));
}

bool RangeAnalysis::Driver::Worker::visit(Operation *op) {
  current = op;
  auto transfer = dyn_cast<RangeOpInterface>(op);
  if (transfer)
    transfer.transfer(*this);
  auto isSet = [&](Value result) {
    Lock held(lock);
    return find(result) != nullptr;
  };
  for (Value result : op->getResults())
    if (!transfer || !isSet(result))
      setValue(result, anything(result));
  current = nullptr;
  return !transfer || losesTrack(op, *this);
}

namespace {
/// Ops of a block, by what they wait for.
class Schedule {
public:
  explicit Schedule(ArrayRef<Operation *> ops);

  /// Takes ops until none is left; every thread calls it.
  void work(llvm::function_ref<void(size_t)> visit);

private:
  std::vector<SmallVector<unsigned, 2>> readers;
  std::vector<unsigned> missing;
  /// Those that can be computed, the first in program order first.
  std::set<size_t> ready;
  size_t left;
  std::mutex lock;
  std::condition_variable more;
};
} // namespace

Schedule::Schedule(ArrayRef<Operation *> ops)
    : readers(ops.size()), missing(ops.size(), 0), left(ops.size()) {
  llvm::DenseMap<Operation *, size_t> places;
  for (auto [place, op] : llvm::enumerate(ops)) {
    SmallVector<Value> read(op->getOperands());
    for (Value result : op->getResults())
      llvm::append_range(read, relations::getStatistics(result));
    for (Value value : read)
      if (auto maker = places.find(value.getDefiningOp());
          maker != places.end()) {
        readers[maker->second].push_back(place);
        ++missing[place];
      }
    if (missing[place] == 0)
      ready.insert(place);
    places[op] = place;
  }
}

void Schedule::work(llvm::function_ref<void(size_t)> visit) {
  std::unique_lock<std::mutex> held(lock);
  while (true) {
    more.wait(held, [&] { return left == 0 || !ready.empty(); });
    if (left == 0)
      return;
    size_t place = *ready.begin();
    ready.erase(ready.begin());
    held.unlock();
    visit(place);
    held.lock();
    for (unsigned reader : readers[place])
      if (--missing[reader] == 0)
        ready.insert(reader);
    if (--left == 0)
      more.notify_all();
    // This thread takes one itself.
    else if (ready.size() > 1)
      more.notify_one();
  }
}

/// True if the op reads a weight whose passes are shared.
bool RangeAnalysis::Driver::readsLargeWeight(Operation *op) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    bool swapped;
    std::optional<WeightView> view = matrixWeights(operand, swapped);
    return view && view->data.size() >= Memo::kLeastWeight;
  });
}

void RangeAnalysis::Driver::visitTogether(ArrayRef<Operation *> ops,
                                          unsigned most) {
  most = std::min<size_t>(most, ops.size() / kOpsPerThread);
  if (most < 2) {
    for (Operation *op : ops)
      visit(op);
    return;
  }
  // Accessors of ops may make attributes.
  MLIRContext *context = ops.front()->getContext();
  bool isThreaded = context->isMultithreadingEnabled();
  context->enableMultithreading();
  for (Operation *op : ops)
    inferElements(op);
  Schedule schedule(ops);
  std::mutex lock;
  std::vector<char> lost(ops.size());
  auto work = [&] {
    Worker worker(*this, lock);
    schedule.work(
        [&](size_t place) { lost[place] = worker.visit(ops[place]); });
  };
  std::vector<std::thread> others;
  for (unsigned thread = 1; thread < most; ++thread)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
  context->enableMultithreading(isThreaded);
  for (auto [op, isLost] : llvm::zip_equal(ops, lost))
    if (isLost && counted.insert(op).second)
      unknown.push_back(op);
  limitRounded();
}

void RangeAnalysis::Driver::walkTogether(Region &body) {
  unsigned most =
      threads ? threads : llvm::parallel::strategy.compute_thread_count();
  most = std::min(most, kMostThreads);
  if (most < 2 || shared.nearly || limit.most < kLeastGroups)
    return walk(body);
  std::vector<Operation *> together;
  auto flush = [&] {
    visitTogether(together, most);
    together.clear();
  };
  for (Operation &op : body.getOps()) {
    if (isa<mp::ConstantOp>(op) || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (op.getNumRegions() || readsLargeWeight(&op)) {
      flush();
      visit(&op);
      continue;
    }
    together.push_back(&op);
    if (together.size() == kMostTogether)
      flush();
  }
  flush();
}
