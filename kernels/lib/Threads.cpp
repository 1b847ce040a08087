//===- Threads.cpp - The library's own threads
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pool is never destroyed: its threads sleep when the process ends, and the
// library stays loaded (it is linked with nodelete). After a fork the child has
// none of them and makes new ones.
//
//===----------------------------------------------------------------------===//

#include "Threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>

namespace {

struct Job {
  void (*task)(void *, size_t);
  void *data;
  size_t count;
  std::atomic<size_t> next{0};
  std::atomic<size_t> done{0};
};

/// The job is shared: a thread that wakes late must still find it.
class Pool {
public:
  /// False if the threads are busy with another caller's tasks.
  bool run(const std::shared_ptr<Job> &job) {
    std::unique_lock<std::mutex> turn(callers, std::try_to_lock);
    if (!turn)
      return false;
    {
      std::lock_guard<std::mutex> lock(mutex);
      start();
      current = job;
      ++generation;
    }
    wake.notify_all();
    work(*job);
    std::unique_lock<std::mutex> lock(mutex);
    finished.wait(lock, [&] { return job->done == job->count; });
    current.reset();
    return true;
  }

private:
  void start() {
    unsigned wanted = mpopt::kernels::threadCount() - 1;
    // A system that gives no more threads leaves the work to those there are.
    try {
      for (; threads < wanted; ++threads)
        std::thread([this] { loop(); }).detach();
    } catch (const std::system_error &) {
    }
  }

  void loop() {
    uint64_t seen = 0;
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock<std::mutex> lock(mutex);
        wake.wait(lock, [&] { return generation != seen; });
        seen = generation;
        job = current;
      }
      if (job)
        work(*job);
    }
  }

  void work(Job &job) {
    for (size_t i; (i = job.next++) < job.count;) {
      job.task(job.data, i);
      if (++job.done == job.count) {
        std::lock_guard<std::mutex> lock(mutex);
        finished.notify_all();
      }
    }
  }

  std::mutex callers, mutex;
  std::condition_variable wake, finished;
  std::shared_ptr<Job> current;
  uint64_t generation = 0;
  unsigned threads = 0;
};

} // namespace

static std::atomic<Pool *> thePool{nullptr};

static Pool &pool() {
  if (Pool *made = thePool)
    return *made;
  static std::mutex making;
  std::lock_guard<std::mutex> lock(making);
  if (!thePool) {
    static std::once_flag once;
    std::call_once(once, [] {
      pthread_atfork(nullptr, nullptr, [] { thePool = nullptr; });
    });
    thePool = new Pool;
  }
  return *thePool;
}

unsigned mpopt::kernels::threadCount() {
  static const unsigned count = [] {
    if (const char *text = std::getenv("MPOPT_THREADS"))
      if (int asked = std::atoi(text); asked > 0)
        return unsigned(std::min(asked, 1024));
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
      return unsigned(std::max(1, CPU_COUNT(&set)));
    return std::max(1u, std::thread::hardware_concurrency());
  }();
  return count;
}

void mpopt::kernels::runTasks(size_t count, void (*task)(void *, size_t),
                              void *data) {
  if (count > 1 && threadCount() > 1) {
    auto job = std::make_shared<Job>();
    job->task = task;
    job->data = data;
    job->count = count;
    if (pool().run(job))
      return;
  }
  for (size_t i = 0; i < count; ++i)
    task(data, i);
}
