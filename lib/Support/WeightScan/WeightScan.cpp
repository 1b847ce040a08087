//===- WeightScan.cpp - What a format does to a weight's values
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts the weights into tasks for the threads and tasks into blocks for the
// kernels. A block is small enough to be still in the cache when its channels
// are looked at one by one, which happens only where values flush at all.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Support/WeightScan.h"

#include "Kernels.h"

#include "llvm/ADT/APInt.h"
#include "llvm/Support/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

using namespace mpopt;
using llvm::APFloat;
using llvm::APInt;

static_assert(std::endian::native == std::endian::little,
              "weights are little-endian and are read in place");

/// Elements a task covers: some milliseconds, so that threads end together.
static constexpr uint64_t kTask = 1 << 20;
/// Below this many bytes in all, starting threads takes longer than the scan.
static constexpr uint64_t kThreadsFrom = 4 << 20;

namespace {
struct Task {
  size_t request;
  uint64_t begin, end;
};

struct TaskResult {
  scan::Tally tally;
  int64_t firstOverflow = -1, firstFlush = -1;
  uint64_t lostChannels = 0;
  int64_t firstLostChannel = -1;
  /// Counts by code, for 8- and 4-bit formats only.
  std::vector<uint64_t> histogram;
};
} // namespace

static double decode(const FloatFormat &format, uint64_t bits) {
  APFloat value(*format.semantics, APInt(format.bits, bits));
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

static uint64_t encode(const FloatFormat &format, double value,
                       llvm::RoundingMode mode) {
  APFloat result(value);
  bool inexact;
  result.convert(*format.semantics, mode, &inexact);
  return result.bitcastToAPInt().getZExtValue();
}

static scan::Edges makeEdges(const FloatFormat &source,
                             const FloatFormat &target) {
  scan::Edges edges;
  edges.infinity =
      APFloat::getInf(*source.semantics).bitcastToAPInt().getZExtValue();
  edges.overflowFrom =
      encode(source, target.overflowFrom, APFloat::rmTowardPositive);
  edges.flushAt = encode(source, target.flushAt, APFloat::rmTowardZero);
  edges.minNormal = encode(source, target.minNormal, APFloat::rmTowardPositive);
  return edges;
}

/// Has no Inf in the usual place and few enough patterns to count each.
static bool isCounted(const FloatFormat &format) { return format.bits <= 8; }

//===----------------------------------------------------------------------===//
// One task
//===----------------------------------------------------------------------===//

namespace {
class Scanner {
public:
  Scanner(const WeightRequest &request, TaskResult &result)
      : request(request), result(result),
        edges(makeEdges(*request.source, *request.target)),
        bits(request.source->bits) {}

  void run(uint64_t begin, uint64_t end);

private:
  scan::Tally tallyOf(uint64_t begin, uint64_t end) const;
  scan::Tally scanBlocks(uint64_t begin, uint64_t end);
  void scanChannels(uint64_t begin, uint64_t end);
  void judgeChannel(uint64_t begin, uint64_t end, const scan::Tally &tally);
  uint64_t magnitude(uint64_t index) const;

  const WeightRequest &request;
  TaskResult &result;
  scan::Edges edges;
  unsigned bits;
};
} // namespace

static void merge(scan::Tally &to, const scan::Tally &from) {
  to.zeros += from.zeros;
  to.nans += from.nans;
  to.infinities += from.infinities;
  to.overflows += from.overflows;
  to.flushes += from.flushes;
  to.subnormals += from.subnormals;
  to.maxPositive = std::max(to.maxPositive, from.maxPositive);
  to.maxNegative = std::max(to.maxNegative, from.maxNegative);
  to.minPositive = std::min(to.minPositive, from.minPositive);
  to.minNegative = std::min(to.minNegative, from.minNegative);
}

uint64_t Scanner::magnitude(uint64_t index) const {
  uint64_t pattern = 0;
  std::memcpy(&pattern, request.bytes.data() + index * (bits / 8), bits / 8);
  return pattern & ((uint64_t(1) << (bits - 1)) - 1);
}

scan::Tally Scanner::tallyOf(uint64_t begin, uint64_t end) const {
  scan::Tally tally;
  scan::tallyBlock(request.bytes.data() + begin * (bits / 8), end - begin, bits,
                   edges, tally);
  return tally;
}

scan::Tally Scanner::scanBlocks(uint64_t begin, uint64_t end) {
  scan::Tally total;
  for (uint64_t at = begin; at < end; at += scan::kBlock) {
    uint64_t stop = std::min(end, at + scan::kBlock);
    scan::Tally tally = tallyOf(at, stop);
    if (tally.overflows && result.firstOverflow < 0)
      for (uint64_t index = at; result.firstOverflow < 0; ++index)
        if (uint64_t value = magnitude(index);
            value >= edges.overflowFrom && value < edges.infinity)
          result.firstOverflow = int64_t(index);
    if (tally.flushes && result.firstFlush < 0)
      for (uint64_t index = at; result.firstFlush < 0; ++index)
        if (uint64_t value = magnitude(index);
            value != 0 && value <= edges.flushAt)
          result.firstFlush = int64_t(index);
    merge(total, tally);
  }
  merge(result.tally, total);
  return total;
}

void Scanner::judgeChannel(uint64_t begin, uint64_t end,
                           const scan::Tally &tally) {
  uint64_t nonZero = end - begin - tally.zeros - tally.nans - tally.infinities;
  if (nonZero < WeightStats::kMinLostChannel || tally.flushes != nonZero)
    return;
  if (result.lostChannels++ == 0)
    result.firstLostChannel = int64_t(begin / request.channel);
}

void Scanner::scanChannels(uint64_t begin, uint64_t end) {
  uint64_t channel = request.channel;
  // Whole channels to a block, if they are that small.
  uint64_t step = std::max(channel, scan::kBlock / channel * channel);
  for (uint64_t at = begin; at < end; at += step) {
    uint64_t stop = std::min(end, at + step);
    scan::Tally tally = scanBlocks(at, stop);
    if (stop - at <= channel) {
      judgeChannel(at, stop, tally);
      continue;
    }
    if (tally.flushes < WeightStats::kMinLostChannel)
      continue;
    for (uint64_t first = at; first < stop; first += channel)
      judgeChannel(first, first + channel, tallyOf(first, first + channel));
  }
}

void Scanner::run(uint64_t begin, uint64_t end) {
  if (isCounted(*request.source)) {
    result.histogram.assign(256, 0);
    uint64_t perByte = 8 / bits;
    scan::countBytes(request.bytes.data() + begin / perByte,
                     (end - begin + perByte - 1) / perByte,
                     result.histogram.data());
    return;
  }
  if (request.channel)
    scanChannels(begin, end);
  else
    scanBlocks(begin, end);
}

//===----------------------------------------------------------------------===//
// From patterns to numbers
//===----------------------------------------------------------------------===//

static void finish(const WeightRequest &request, const scan::Tally &tally,
                   WeightStats &stats) {
  stats.zeros = tally.zeros;
  stats.nans = tally.nans;
  stats.infinities = tally.infinities;
  stats.overflows = tally.overflows;
  stats.flushes = tally.flushes;
  stats.subnormals = tally.subnormals;
  auto value = [&](uint64_t bits) { return decode(*request.source, bits); };
  bool positive = tally.minPositive != ~0ull;
  bool negative = tally.minNegative != ~0ull;
  if (positive || negative || tally.zeros) {
    stats.max = positive      ? value(tally.maxPositive)
                : tally.zeros ? 0
                              : -value(tally.minNegative);
    stats.min = negative      ? -value(tally.maxNegative)
                : tally.zeros ? 0
                              : value(tally.minPositive);
  }
  stats.absMax = value(std::max(tally.maxPositive, tally.maxNegative));
  if (positive || negative)
    stats.minNonZero = value(std::min(tally.minPositive, tally.minNegative));
}

/// `count` values of one pattern.
static void countValue(WeightStats &stats, const FloatFormat &target,
                       double value, uint64_t count) {
  if (count == 0)
    return;
  if (std::isnan(value)) {
    stats.nans += count;
    return;
  }
  if (std::isinf(value)) {
    stats.infinities += count;
    return;
  }
  bool first = stats.min > stats.max;
  stats.min = first ? value : std::min(stats.min, value);
  stats.max = first ? value : std::max(stats.max, value);
  double magnitude = std::fabs(value);
  stats.absMax = std::max(stats.absMax, magnitude);
  if (magnitude == 0) {
    stats.zeros += count;
    return;
  }
  if (stats.minNonZero == 0 || magnitude < stats.minNonZero)
    stats.minNonZero = magnitude;
  stats.overflows += target.overflows(value) ? count : 0;
  stats.flushes += target.flushes(value) ? count : 0;
  stats.subnormals += target.becomesSubnormal(value) ? count : 0;
}

static void finishCounted(const WeightRequest &request,
                          llvm::ArrayRef<uint64_t> histogram,
                          WeightStats &stats) {
  unsigned bits = request.source->bits;
  unsigned mask = (1u << bits) - 1;
  uint64_t seen = 0;
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned shift = 0; shift < 8; shift += bits, seen += histogram[byte])
      countValue(stats, *request.target,
                 decode(*request.source, byte >> shift & mask),
                 histogram[byte]);
  // An odd number of 4-bit elements leaves a zero in the last byte.
  stats.zeros -= std::min(stats.zeros, seen - std::min(seen, request.count));
  if (!stats.overflows && !stats.flushes)
    return;
  for (uint64_t index = 0; index < request.count; ++index) {
    unsigned byte = uint8_t(request.bytes[index * bits / 8]);
    double value = decode(*request.source, byte >> (index * bits % 8) & mask);
    if (stats.firstOverflow < 0 && request.target->overflows(value))
      stats.firstOverflow = int64_t(index);
    if (stats.firstFlush < 0 && request.target->flushes(value))
      stats.firstFlush = int64_t(index);
    if ((!stats.overflows || stats.firstOverflow >= 0) &&
        (!stats.flushes || stats.firstFlush >= 0))
      return;
  }
}

//===----------------------------------------------------------------------===//
// All requests
//===----------------------------------------------------------------------===//

static void makeTasks(const WeightRequest &request, size_t index,
                      std::vector<Task> &tasks) {
  uint64_t step = kTask;
  // A task ends where a channel does; a channel longer than a task is one.
  if (request.channel)
    step = std::max(request.channel, step / request.channel * request.channel);
  for (uint64_t begin = 0; begin < request.count; begin += step)
    tasks.push_back({index, begin, std::min(request.count, begin + step)});
}

std::vector<WeightStats>
mpopt::scanWeights(llvm::ArrayRef<WeightRequest> requests, unsigned jobs) {
  std::vector<WeightRequest> wanted(requests.begin(), requests.end());
  std::vector<Task> tasks;
  uint64_t bytes = 0;
  for (auto [index, request] : llvm::enumerate(wanted)) {
    assert((request.count * request.source->bits + 7) / 8 <=
               request.bytes.size() &&
           "fewer bytes than elements");
    // Several channels or none: a single one is the tensor.
    if (request.channel >= request.count || isCounted(*request.source) ||
        request.count % std::max<uint64_t>(request.channel, 1) != 0)
      request.channel = 0;
    makeTasks(request, index, tasks);
    bytes += request.bytes.size();
  }

  std::vector<TaskResult> results(tasks.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t task; (task = next++) < tasks.size();)
      Scanner(wanted[tasks[task].request], results[task])
          .run(tasks[task].begin, tasks[task].end);
  };
  if (jobs == 1 || bytes < kThreadsFrom || tasks.size() < 2) {
    work();
  } else {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(jobs));
    for (unsigned thread = 0; thread < pool.getMaxConcurrency(); ++thread)
      pool.async(work);
    pool.wait();
  }

  std::vector<WeightStats> stats(wanted.size());
  std::vector<TaskResult> totals(wanted.size());
  for (auto [task, result] : llvm::zip(tasks, results)) {
    TaskResult &total = totals[task.request];
    merge(total.tally, result.tally);
    if (total.histogram.empty())
      total.histogram = std::move(result.histogram);
    else
      for (auto [to, from] : llvm::zip(total.histogram, result.histogram))
        to += from;
    WeightStats &stat = stats[task.request];
    stat.lostChannels += result.lostChannels;
    // Tasks come in the order of their elements.
    auto keepFirst = [](int64_t &to, int64_t from) {
      if (to < 0)
        to = from;
    };
    keepFirst(stat.firstOverflow, result.firstOverflow);
    keepFirst(stat.firstFlush, result.firstFlush);
    keepFirst(stat.firstLostChannel, result.firstLostChannel);
  }
  for (auto [request, total, stat] : llvm::zip(wanted, totals, stats)) {
    stat.elements = request.count;
    if (isCounted(*request.source) && !total.histogram.empty())
      finishCounted(request, total.histogram, stat);
    else
      finish(request, total.tally, stat);
  }
  return stats;
}
