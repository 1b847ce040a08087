//===- EmulatedKernels.cpp - The CUDA kernels themselves, on the CPU
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulated.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <ucontext.h>
#include <utility>
#include <vector>

#include "../cuda/Axes.cu"
#include "../cuda/Channels.cu"
#include "../cuda/Dense.cu"
#include "../cuda/Snapshot.cu"

using namespace mpopt::kernels;

emulated::Index threadIdx, blockIdx, gridDim;

namespace {

constexpr size_t kStack = 64 << 10;

struct Thread {
  enum State { Ready, AtWarp, AtBlock, Done } state;
  bool begun;
  ucontext_t context; // for its beginning
  jmp_buf place;      // later: changes without a call of the system
  std::unique_ptr<char[]> stack{new char[kStack]};
  uint64_t word;
};

/// One block.
struct Block {
  std::vector<Thread> threads;
  jmp_buf scheduler;
  const std::function<void()> *body;
  std::mt19937 random;

  Thread &current() { return threads[threadIdx.x]; }

  void wait(Thread::State state) {
    current().state = state;
    if (!_setjmp(current().place))
      _longjmp(scheduler, 1);
  }

  void resume(unsigned number) {
    threadIdx.x = number;
    Thread &thread = threads[number];
    if (_setjmp(scheduler))
      return;
    if (std::exchange(thread.begun, true))
      _longjmp(thread.place, 1);
    setcontext(&thread.context);
  }

  void begin() {
    for (Thread &thread : threads) {
      getcontext(&thread.context);
      thread.context.uc_stack = {thread.stack.get(), 0, kStack};
      thread.context.uc_link = nullptr;
      makecontext(&thread.context, main, 0);
      thread.state = Thread::Ready;
      thread.begun = false;
    }
  }
  static void main();

  /// Lets threads go on that wait for the same; false if none is left.
  bool release() {
    bool any = false, left = false;
    for (size_t warp = 0; warp < threads.size(); warp += 32)
      if (all(warp, warp + 32, Thread::AtWarp))
        any = true;
    for (Thread &thread : threads)
      left |= thread.state != Thread::Done;
    if (any || !left)
      return any;
    if (!all(0, threads.size(), Thread::AtBlock)) {
      std::fprintf(stderr, "threads wait for different things\n");
      std::abort();
    }
    return true;
  }

  /// True if all unfinished threads of the range wait in `state`; if so, lets
  /// them go on.
  bool all(size_t from, size_t to, Thread::State state) {
    size_t waiting = 0;
    for (size_t i = from; i < to; ++i) {
      if (threads[i].state != state && threads[i].state != Thread::Done)
        return false;
      waiting += threads[i].state == state;
    }
    for (size_t i = from; i < to; ++i)
      if (threads[i].state == state)
        threads[i].state = Thread::Ready;
    return waiting != 0;
  }

  void run() {
    begin();
    std::vector<unsigned> order;
    do {
      order.clear();
      for (unsigned i = 0; i < threads.size(); ++i)
        if (threads[i].state == Thread::Ready)
          order.push_back(i);
      std::shuffle(order.begin(), order.end(), random);
      for (unsigned i : order)
        resume(i);
    } while (release());
  }
};

} // namespace

static Block &block() {
  static Block *one = new Block;
  return *one;
}

void Block::main() {
  (*block().body)();
  block().wait(Thread::Done);
}

void emulated::run(unsigned blocks, unsigned threads,
                   const std::function<void()> &body) {
  if (block().threads.size() != threads)
    block().threads = std::vector<Thread>(threads);
  block().body = &body;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    block().run();
}

void emulated::waitForBlock() { block().wait(Thread::AtBlock); }
void emulated::waitForWarp() { block().wait(Thread::AtWarp); }
uint64_t &emulated::wordOf(unsigned lane) {
  return block().threads[threadIdx.x / 32 * 32 + lane].word;
}
