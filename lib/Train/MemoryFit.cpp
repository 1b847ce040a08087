//===- MemoryFit.cpp - How a training step fits a memory
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Train/MemoryFit.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;

// Ranks are tried up to it: a pod of TPUs or 128 machines of eight GPUs.
static constexpr int64_t kMostRanks = 1024;

namespace {
/// Changes in the order in which they are preferred: by what they cost of a
/// step's time. Passes of fewer samples cost launches, checkpointing a third
/// forward pass, 8 bits precision of the state, ranks money.
enum Change : unsigned { Passes = 1, Checkpoints = 2, State = 4, Ranks = 8 };

/// A way to run the step.
struct Setup {
  int64_t samples;
  bool checkpoints;
  ShardingScheme scheme;
  TrainConfig config;
};

class Fitting {
public:
  Fitting(const StepMemory &step, double budget) : step(step), budget(budget) {}

  MemoryFit find();

private:
  Setup configured() const {
    return {step.samples, step.config.sharding.checkpointing.value_or(false),
            getScheme(step.config), step.config};
  }
  double total(const Setup &setup) const;
  bool fits(const Setup &setup) const { return total(setup) <= budget; }
  bool shrinkPasses(Setup &setup) const;
  bool addRanks(Setup &setup, bool shrinks) const;
  std::optional<Setup> apply(unsigned changes) const;
  std::vector<std::string> describe(unsigned changes, const Setup &setup) const;
  std::optional<int64_t> findMost(bool checkpoints) const;

  const StepMemory &step;
  double budget;
};
} // namespace

double Fitting::total(const Setup &setup) const {
  const ActivationBytes &saved =
      setup.checkpoints && step.checkpointed ? *step.checkpointed : step.saved;
  return computeMemory(setup.scheme, step.parameters, setup.config).total() +
         step.constants + saved.of(setup.samples);
}

/// The longest passes that fit and divide the samples, so that the step stays
/// the same.
bool Fitting::shrinkPasses(Setup &setup) const {
  for (int64_t passes = 2; passes <= step.samples; ++passes) {
    if (step.samples % passes)
      continue;
    setup.samples = step.samples / passes;
    setup.config.batch.accumulate =
        step.config.batch.accumulate.value_or(1) * passes;
    if (fits(setup))
      return true;
  }
  return false;
}

/// The fewest ranks, and of these the scheme that sends least.
bool Fitting::addRanks(Setup &setup, bool shrinks) const {
  int64_t now = step.config.batch.world.value_or(1);
  bool isFsdp = step.config.sharding.kind == ShardingKind::Fsdp;
  for (int64_t ranks = std::max<int64_t>(now, 2); ranks <= kMostRanks;
       ranks *= 2)
    for (ShardingScheme scheme :
         {ShardingScheme::Zero1, ShardingScheme::Zero2,
          isFsdp ? ShardingScheme::Fsdp : ShardingScheme::Zero3}) {
      Setup tried = setup;
      tried.scheme = scheme;
      tried.config.batch.world = ranks;
      if (shrinks ? shrinkPasses(tried) : fits(tried)) {
        setup = tried;
        return true;
      }
    }
  return false;
}

std::optional<Setup> Fitting::apply(unsigned changes) const {
  Setup setup = configured();
  if (changes & Checkpoints) {
    if (setup.checkpoints || !step.checkpointed)
      return std::nullopt;
    setup.checkpoints = true;
  }
  if (changes & State) {
    bool isSmall = step.config.optimizer.state &&
                   getBytes(*step.config.optimizer.state) <= 1;
    if (!step.config.optimizer.name || isSmall)
      return std::nullopt;
    setup.config.optimizer.state = TrainType::Int8;
  }
  bool shrinks = changes & Passes;
  bool found = changes & Ranks ? addRanks(setup, shrinks)
               : shrinks       ? shrinkPasses(setup)
                               : fits(setup);
  return found ? std::optional(setup) : std::nullopt;
}

std::vector<std::string> Fitting::describe(unsigned changes,
                                           const Setup &setup) const {
  std::vector<std::string> words;
  if (changes & Passes)
    words.push_back(
        "passes of " + std::to_string(setup.samples) +
        (setup.samples == 1 ? " sample" : " samples") +
        " (accumulate=" + std::to_string(*setup.config.batch.accumulate) + ")");
  if (changes & Checkpoints)
    words.push_back("activation checkpointing");
  if (changes & State)
    words.push_back("optimizer state in 8 bits (state=int8)");
  if (changes & Ranks)
    words.push_back(toString(setup.scheme).str() + " over " +
                    std::to_string(*setup.config.batch.world) + " ranks");
  return words;
}

std::optional<int64_t> Fitting::findMost(bool checkpoints) const {
  const ActivationBytes &saved = checkpoints ? *step.checkpointed : step.saved;
  if (saved.perSample <= 0)
    return std::nullopt;
  Setup setup = configured();
  setup.checkpoints = checkpoints;
  setup.samples = 0;
  double rest = budget - total(setup);
  return std::max<int64_t>(0, int64_t(std::floor(rest / saved.perSample)));
}

MemoryFit Fitting::find() {
  MemoryFit fit;
  Setup now = configured();
  fit.budget = budget;
  fit.needed = total(now);
  fit.fits = fit.needed <= budget;
  fit.most = findMost(now.checkpoints && step.checkpointed);
  if (!now.checkpoints && step.checkpointed)
    fit.mostCheckpointed = findMost(true);
  if (fit.fits)
    return fit;
  // All that one machine can do comes before more machines.
  constexpr unsigned kOwn = Passes | Checkpoints | State;
  for (unsigned ranks : {0u, unsigned(Ranks)})
    for (int count = ranks ? 0 : 1; count <= llvm::popcount(kOwn); ++count)
      for (unsigned own = 0; own <= kOwn; ++own) {
        if (llvm::popcount(own) != count)
          continue;
        std::optional<Setup> setup = apply(own | ranks);
        if (!setup)
          continue;
        fit.changes = describe(own | ranks, *setup);
        fit.changed = total(*setup);
        return fit;
      }
  return fit;
}

MemoryFit mpopt::fitMemory(const StepMemory &step, double budget) {
  return Fitting(step, budget).find();
}

std::optional<double> mpopt::parseBytes(StringRef text) {
  size_t end = text.find_last_of("0123456789.");
  if (end == StringRef::npos)
    return std::nullopt;
  double number;
  StringRef digits = text.take_front(end + 1),
            unit = text.drop_front(end + 1).trim();
  double factor = llvm::StringSwitch<double>(unit)
                      .CasesLower({"", "b"}, 1)
                      .CasesLower({"kb"}, 1e3)
                      .CasesLower({"mb"}, 1e6)
                      .CasesLower({"gb", "g"}, 1e9)
                      .CasesLower({"tb"}, 1e12)
                      .CaseLower("kib", 0x1p10)
                      .CaseLower("mib", 0x1p20)
                      .CaseLower("gib", 0x1p30)
                      .CaseLower("tib", 0x1p40)
                      .Default(0);
  if (digits.getAsDouble(number) || !std::isfinite(number * factor) ||
      !(number * factor > 0))
    return std::nullopt;
  return number * factor;
}
