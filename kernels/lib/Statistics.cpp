//===- Statistics.cpp - One tensor into one record
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Kernels/Statistics.h"
#include "Channels.h"
#include "FloatingPoint.h"
#include "Layout.h"
#include "Observe.h"
#include "Partial.h"
#include "Squares.h"
#include "Sums.h"
#include "Threads.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

using namespace mpopt::kernels;

/// Blocks that one worker takes at a time: whole tiles.
static constexpr uint64_t kLeastUnit = kTile / kBlock, kMostUnit = 64;
/// Tensors below are read by the caller's thread alone: waking others costs
/// some ten microseconds, less where a runtime's own threads wait by spinning.
static constexpr uint64_t kParallelBytes = 1 << 20, kSharedBytes = 1 << 18;

Isa mpopt::kernels::processorIsa() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c"))
    return Isa::Portable;
  bool wide =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return wide ? Isa::Avx512 : Isa::Avx2;
#else
  return Isa::Portable;
#endif
}

static constexpr const char *kIsaNames[] = {"portable", "avx2", "avx512"};

Isa mpopt::kernels::chosenIsa() {
  static const Isa chosen = [] {
    Isa best = processorIsa();
    const char *wish = std::getenv("MPOPT_ISA");
    for (int i = 0; wish && i < int(best); ++i)
      if (!std::strcmp(wish, kIsaNames[i]))
        return Isa(i);
    return best;
  }();
  return chosen;
}

const char *mpopt_statistics_isa(void) { return kIsaNames[int(chosenIsa())]; }

DtypeKernel mpopt::kernels::dtypeKernel(uint32_t dtype) {
#if defined(__x86_64__)
  if (chosenIsa() == Isa::Avx512)
    if (DtypeKernel kernel = avx512Kernel(dtype); kernel.block)
      return kernel;
  if (chosenIsa() != Isa::Portable)
    if (DtypeKernel kernel = avx2Kernel(dtype); kernel.block)
      return kernel;
#endif
  return portableKernel(dtype);
}

namespace {

/// State shared by the workers of one tensor.
struct Reading {
  const Layout &layout;
  const char *data;
  DtypeKernel kernel;
  uint32_t dtype;
  mpopt_record *record; // null: only squares are wanted
  Channels channels;    // count 0: none to keep
  mpopt_channel_range *ranges;
  const mpopt_squares *squares; // null: not wanted
  uint64_t unit = kMostUnit;
  std::atomic<uint64_t> nextUnit{0};
  std::mutex mutex{};
};

} // namespace

static void readBlocks(Reading &reading, uint64_t first, uint64_t last,
                       Partial &partial, mpopt_channel_range *ranges,
                       const mpopt_squares &squares) {
  const Layout &layout = reading.layout;
  unsigned bytes = reading.kernel.bytes;
  alignas(32) char gathered[kBlock * 8];
  uint64_t end = std::min(last * kBlock, layout.elements());
  size_t step = layout.contiguous() && !ranges ? reading.kernel.tile : kBlock;
  for (uint64_t from = first * kBlock; from < end; from += step) {
    size_t count = std::min<uint64_t>(step, end - from);
    const void *words = gathered;
    if (layout.contiguous())
      words = reading.data + from * bytes;
    else
      layout.gather(reading.data, bytes, from, count, gathered);
    if (reading.record)
      reading.kernel.block(words, count, partial);
    if (reading.squares)
      addSquares(words, reading.dtype, from, count, squares);
    if (ranges)
      widenChannels(words, reading.dtype, from, count, reading.channels,
                    ranges);
    // Well before a 32-bit table entry could wrap.
    if (partial.unfolded >= 1u << 31)
      partial.fold(reading.kernel);
  }
}

static std::vector<mpopt_channel_range> emptyRanges(uint32_t count) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  return std::vector<mpopt_channel_range>(count, {inf, -inf});
}

static void work(void *data, size_t) {
  Reading &reading = *static_cast<Reading *>(data);
  uint64_t blocks = (reading.layout.elements() + kBlock - 1) / kBlock;
  uint64_t unit = reading.nextUnit++;
  if (unit * reading.unit >= blocks)
    return;
  PlainFloatingPoint plain;
  // Kept for the thread's next tensor: clearing all of it would take longer
  // than reading a small tensor.
  static thread_local std::unique_ptr<Partial> kept;
  if (!kept)
    kept = std::make_unique<Partial>();
  Partial &partial = *kept;
  partial.reset();
  std::vector<mpopt_channel_range> ranges = emptyRanges(reading.channels.count);
  static thread_local std::vector<double> sums;
  mpopt_squares squares = {};
  if (reading.squares) {
    squares = *reading.squares;
    sums.assign(squares.channels, 0.0);
    squares.sums = sums.data();
  }
  for (; unit * reading.unit < blocks; unit = reading.nextUnit++)
    readBlocks(reading, unit * reading.unit,
               std::min(blocks, (unit + 1) * reading.unit), partial,
               ranges.empty() ? nullptr : ranges.data(), squares);
  partial.fold(reading.kernel);
  std::lock_guard<std::mutex> lock(reading.mutex);
  for (uint64_t i = 0; i < squares.channels; ++i)
    reading.squares->sums[i] += sums[i];
  if (!reading.record)
    return;
  partial.addTo(*reading.record);
  mpopt_channels_merge(reading.ranges, ranges.data(), uint32_t(ranges.size()));
}

static void readTensor(Reading &reading, const mpopt_parallel *parallel) {
  uint64_t elements = reading.layout.elements();
  unsigned threads =
      parallel && parallel->threads ? parallel->threads : threadCount();
  bool shared = parallel && parallel->run;
  uint64_t blocks = (elements + kBlock - 1) / kBlock;
  // Two units for each, so that a slow thread holds up little.
  uint64_t unit = blocks / (2 * threads) / kLeastUnit * kLeastUnit;
  reading.unit = std::clamp(unit, kLeastUnit, kMostUnit);
  size_t tasks =
      std::min<uint64_t>(threads, (blocks + reading.unit - 1) / reading.unit);
  if (elements * reading.kernel.bytes <
          (shared ? kSharedBytes : kParallelBytes) ||
      tasks < 2)
    work(&reading, 0);
  else if (shared)
    parallel->run(parallel->pool, tasks, work, &reading);
  else
    runTasks(tasks, work, &reading);
}

static void setSteps(mpopt_record &record, uint64_t step) {
  record.first_step = record.last_step = step;
  if (record.nan)
    record.first_nan_step = step;
  if (record.pos_inf || record.neg_inf)
    record.first_inf_step = step;
  // Without a finite value that was looked at.
  if (record.min > record.max)
    return;
  record.absmax_step = step;
  if (std::isfinite(record.min_nonzero))
    record.min_nonzero_step = step;
  for (int i = 0; i < MPOPT_FORMATS; ++i) {
    mpopt_format_edges edges = mpopt_format_edges_of(i);
    if (record.absmax >= edges.not_finite_from)
      record.first_overflow_step[i] = step;
    if (record.min_nonzero <= edges.zero_at)
      record.first_flush_step[i] = step;
  }
}

static bool wellFormed(const mpopt_tensor &tensor) {
  if (tensor.rank && !tensor.dims)
    return false;
  uint64_t elements = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    if (tensor.dims[i] < 0 ||
        __builtin_mul_overflow(elements, uint64_t(tensor.dims[i]), &elements))
      return false;
  return tensor.data || !elements;
}

/// Chooses the channels of this call that are kept, and records the choice.
static Channels keptChannels(const mpopt_tensor &tensor,
                             const mpopt_channel_range *ranges,
                             const mpopt_record &into, mpopt_record &record) {
  Channels channels = channelsOf(tensor);
  if (!channels.count)
    return {};
  if (channels.count > MPOPT_MAX_CHANNELS || !ranges) {
    record.flags |= MPOPT_CHANNELS_DROPPED;
    return {};
  }
  record.channels = channels.count;
  // The merge will drop the channels of both.
  if ((into.flags & MPOPT_CHANNELS_DROPPED) ||
      (into.calls && into.channels != channels.count))
    return {};
  return channels;
}

bool mpopt::kernels::observeCall(mpopt_record &record,
                                 mpopt_channel_range *channels,
                                 const mpopt_record &into,
                                 const mpopt_tensor &tensor, uint64_t step,
                                 const mpopt_parallel *parallel,
                                 const mpopt_squares *squares) {
  if (!wellFormed(tensor))
    return false;
  Layout layout(tensor);
  DtypeKernel kernel = dtypeKernel(tensor.dtype);
  mpopt_record_init(&record, into.probe, into.kind);
  record.calls = 1;
  record.dtype = tensor.dtype;
  record.rank = tensor.rank;
  for (uint32_t i = 0; i < std::min<uint32_t>(tensor.rank, MPOPT_MAX_DIMS); ++i)
    record.dim_min[i] = record.dim_max[i] = tensor.dims[i];
  record.count = layout.elements();
  if (!kernel.block) {
    record.flags |= MPOPT_COUNT_ONLY;
  } else {
    Channels kept = keptChannels(tensor, channels, into, record);
    Reading reading{layout,   static_cast<const char *>(tensor.data),
                    kernel,   tensor.dtype,
                    &record,  kept,
                    channels, kernel.isFloat ? squares : nullptr};
    if (record.count)
      readTensor(reading, parallel);
  }
  if (record.min <= record.max)
    record.absmax = std::max(std::fabs(record.min), std::fabs(record.max));
  setSteps(record, step);
  return true;
}

int mpopt_record_observe(mpopt_record *into, mpopt_channel_range *channels,
                         const mpopt_tensor *tensor, uint64_t step,
                         const mpopt_parallel *parallel) {
  mpopt_record record;
  return observeCall(record, channels, *into, *tensor, step, parallel) &&
         mpopt_record_merge(into, &record);
}

int mpopt_add_squares(const mpopt_tensor *tensor, const mpopt_squares *squares,
                      const mpopt_parallel *parallel) {
  DtypeKernel kernel = dtypeKernel(tensor->dtype);
  if (!wellFormed(*tensor) || !kernel.isFloat)
    return false;
  Layout layout(*tensor);
  Reading reading{layout,  static_cast<const char *>(tensor->data),
                  kernel,  tensor->dtype,
                  nullptr, {},
                  nullptr, squares};
  if (layout.elements())
    readTensor(reading, parallel);
  return true;
}
