//===- Runs.cpp - Which run of the model a call belongs to ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Runs.h"
#include "mpopt/Kernels/Record.h"

#include <iterator>

using namespace mpopt::kernels;

static_assert(MPOPT_NEVER == UINT64_MAX, "no run, and one more is run 0");

namespace {

/// The models that a thread ran last. For a model that it dropped, it counts as
/// a thread that announced nothing.
struct Remembered {
  const Runs *runs = nullptr;
  uint64_t age = 0, run = 0;
};

struct Thread {
  Remembered models[4];
  size_t oldest = 0;
  uint64_t number = 0;

  Remembered *find(const Runs *runs) {
    for (Remembered &model : models)
      if (model.runs == runs)
        return &model;
    return nullptr;
  }
};

} // namespace

static thread_local Thread thisThread;

static uint64_t getThreadNumber() {
  static std::atomic<uint64_t> threads{0};
  if (!thisThread.number)
    thisThread.number = ++threads;
  return thisThread.number;
}

void Runs::begin(bool here) {
  uint64_t own = here ? getThreadNumber() : several, nobody = 0;
  if (!announcer.compare_exchange_strong(nobody, own) && nobody != own)
    announcer = several;
  // After that: who sees the new number sees who announced it, too.
  uint64_t run = ++last;
  if (!here)
    return;
  Remembered *model = thisThread.find(this);
  if (!model) {
    model = &thisThread.models[thisThread.oldest];
    thisThread.oldest = (thisThread.oldest + 1) % std::size(thisThread.models);
  }
  *model = {this, age, run};
}

uint64_t Runs::find() const {
  const Remembered *model = thisThread.find(this);
  if (model && model->age == age)
    return model->run;
  uint64_t run = last;
  return announcer == several ? MPOPT_NEVER : run;
}

void Runs::restart() {
  ++age;
  announcer = 0;
  last = MPOPT_NEVER;
}
