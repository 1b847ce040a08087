//===- Summary.cpp - One pass over a weight
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks are looked at where they lie or, where something is to be done to each
// weight first, in a tile; once by loops that gather everything.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/Kernels/Summary.h"

#include "Losses.h"
#include "Reader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <cmath>
#include <memory>

using namespace mpopt;
using namespace mpopt::kernels;
using llvm::ArrayRef;

/// Weights of a task: some milliseconds, so that threads end together.
static constexpr uint64_t kTask = 1 << 21;
/// Longer rows are cut into pieces.
static constexpr uint64_t kPiece = 1 << 16;
static constexpr size_t kTileColumns = 512;

namespace {
/// Statistics of groups, list after list.
struct Statistics {
  Statistics() = default;
  explicit Statistics(size_t groups)
      : stride(padded(groups)), values(kStatistics * stride) {
    reset(0, stride);
  }
  void reset(size_t begin, size_t end) {
    for (auto [statistic, start] : {std::pair(Minimum, kInfinity),
                                    {Maximum, -kInfinity},
                                    {Total, 0.0},
                                    {TotalSquares, 0.0}})
      std::fill(of(statistic) + begin, of(statistic) + end, start);
  }
  double *of(Statistic statistic) { return values.data() + statistic * stride; }
  /// Adds `from`'s group to the group `to`.
  void merge(size_t to, Statistics &other, size_t from) {
    of(Minimum)[to] = std::min(of(Minimum)[to], other.of(Minimum)[from]);
    of(Maximum)[to] = std::max(of(Maximum)[to], other.of(Maximum)[from]);
    of(Total)[to] += other.of(Total)[from];
    of(TotalSquares)[to] += other.of(TotalSquares)[from];
  }
  bool areFinite(size_t begin, size_t end) {
    return std::all_of(of(TotalSquares) + begin, of(TotalSquares) + end,
                       [](double sum) { return std::isfinite(sum); });
  }
  GroupStats finish(size_t group, uint64_t count);

  size_t stride = 0;
  std::vector<double> values;
};

template <typename T> class SummaryPass {
public:
  SummaryPass(const SummaryRequest &request, const WeightReader &reader);

  void run(WeightSummary &summary);

private:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  /// Rows, or pieces of long ones.
  struct Task {
    uint64_t begin, end;
    Tally<T> tally;
    /// The elements of the first block that has some that are lost.
    Range overflow, flush;
    uint8_t flags = 0;
    /// If the groups are columns.
    Statistics columns;
  };

  /// The first element of a row or piece.
  uint64_t elementAt(uint64_t unit) const {
    return unit / pieces * request.columns + unit % pieces * kPiece;
  }
  uint64_t elementSize() const { return request.weights.bits() / 8; }
  void scan(Task &task, const SumLoops<T> *direct);
  void scanBlock(Task &task, const SumLoops<T> *direct, uint64_t index,
                 uint64_t rows, uint64_t columns, double *statistics,
                 size_t stride);
  void countLosses(ArrayRef<Task> tasks, WeightSummary &summary) const;

  const SummaryRequest &request;
  const WeightReader &reader;
  /// For weights that need no tile, or null.
  const SumLoops<T> *direct;
  uint64_t pieces;
  Tally<T> edges;
  /// By row or piece, if the groups are rows.
  Statistics rowPieces;
};
} // namespace

GroupStats Statistics::finish(size_t group, uint64_t count) {
  GroupStats stats;
  if (count == 0)
    return stats;
  stats.range = {of(Minimum)[group], of(Maximum)[group]};
  stats.mean = of(Total)[group] / double(count);
  stats.variance = std::max(0.0, of(TotalSquares)[group] / double(count) -
                                     stats.mean * stats.mean);
  return stats;
}

template <typename T>
SummaryPass<T>::SummaryPass(const SummaryRequest &request,
                            const WeightReader &reader)
    : request(request), reader(reader), direct(nullptr),
      pieces(request.byColumn ? 1 : llvm::divideCeil(request.columns, kPiece)) {
  if constexpr (std::is_same_v<T, float>)
    if (request.weights.zeroPoints.empty())
      direct = reader.direct();
  if (const FloatFormat *target = request.target) {
    // Magnitudes are Ts: comparing with rounded thresholds is exact.
    edges.counts = true;
    edges.overflowFrom = roundedUp<T>(target->overflowFrom);
    edges.minNormal = roundedUp<T>(target->minNormal);
    edges.flushAt = -roundedUp<T>(-target->flushAt);
  }
}

template <typename T>
void SummaryPass<T>::scanBlock(Task &task, const SumLoops<T> *direct,
                               uint64_t index, uint64_t rows, uint64_t columns,
                               double *statistics, size_t stride) {
  auto pick = [&](const SumLoops<T> &loops) {
    return request.byColumn ? loops.columnStatistics : loops.rowStatistics;
  };
  if (direct)
    return pick(*direct)(
        request.weights.bytes.data() + index * (request.weights.bits() / 8),
        request.columns, rows, columns, statistics, stride, task.tally);
  auto tile = std::make_unique_for_overwrite<T[]>(rows * kTileColumns);
  for (uint64_t first = 0; first < columns; first += kTileColumns) {
    size_t count = std::min<uint64_t>(kTileColumns, columns - first);
    for (uint64_t row = 0; row < rows; ++row) {
      T *to = tile.get() + row * kTileColumns;
      reader.read(index + row * request.columns + first, count, to,
                  [&](size_t, uint8_t flag) { task.flags |= flag; });
      if (!request.weights.zeroPoints.empty())
        for (size_t at = 0; at < count; ++at)
          to[at] -= T(request.weights.zeroPoints.front());
    }
    pick(tileLoops<T>())(tile.get(), kTileColumns, rows, count,
                         statistics + (request.byColumn ? first : 0), stride,
                         task.tally);
  }
}

template <typename T>
void SummaryPass<T>::scan(Task &task, const SumLoops<T> *direct) {
  if (direct)
    mapPages(request.weights.bytes.slice(
        elementAt(task.begin) * elementSize(),
        (elementAt(task.end) - elementAt(task.begin)) * elementSize()));
  task.tally = edges;
  task.overflow = task.flush = {};
  if (request.byColumn)
    task.columns = Statistics(request.columns);
  else
    rowPieces.reset(task.begin, task.end);
  for (uint64_t at = task.begin, rows; at < task.end; at += rows) {
    rows = pieces > 1 ? 1 : std::min<uint64_t>(kBlockRows, task.end - at);
    uint64_t index = elementAt(at);
    uint64_t columns = pieces > 1 ? elementAt(at + 1) - index : request.columns;
    uint64_t overflows = task.tally.overflows;
    uint64_t flushes = task.tally.flushes - task.tally.zeros;
    scanBlock(task, direct, index, rows, columns,
              request.byColumn ? task.columns.values.data()
                               : rowPieces.values.data() + at,
              request.byColumn ? task.columns.stride : rowPieces.stride);
    Range block = {index, index + (rows - 1) * request.columns + columns};
    if (overflows == 0 && task.tally.overflows != 0)
      task.overflow = block;
    if (flushes == 0 && task.tally.flushes != task.tally.zeros)
      task.flush = block;
  }
  // Which weights are not finite, a second look tells.
  if (direct && !(request.byColumn ? task.columns.areFinite(0, request.columns)
                                   : rowPieces.areFinite(task.begin, task.end)))
    scan(task, nullptr);
}

template <typename T>
void SummaryPass<T>::countLosses(ArrayRef<Task> tasks,
                                 WeightSummary &summary) const {
  WeightStats &stats = summary.losses;
  const FloatFormat &target = *request.target;
  stats.minNonZero = std::isinf(summary.minNonZero) ? 0 : summary.minNonZero;
  for (const GroupStats &group : summary.groups) {
    if (group.range.isEmpty())
      continue;
    bool first = stats.min > stats.max;
    stats.min = first ? group.range.lo : std::min(stats.min, group.range.lo);
    stats.max = first ? group.range.hi : std::max(stats.max, group.range.hi);
  }
  if (stats.min <= stats.max)
    stats.absMax = std::max(std::fabs(stats.min), std::fabs(stats.max));
  Elements elements(reader);
  auto overflows = [&](double value) { return target.overflows(value); };
  auto flushes = [&](double value) { return target.flushes(value); };
  for (const Task &task : tasks) {
    stats.zeros += task.tally.zeros;
    stats.overflows += task.tally.overflows;
    stats.flushes += task.tally.flushes - task.tally.zeros;
    stats.subnormals += task.tally.small - task.tally.flushes;
    if (stats.firstOverflow < 0)
      stats.firstOverflow =
          elements.find(task.overflow.begin, task.overflow.end, overflows);
    if (stats.firstFlush < 0)
      stats.firstFlush =
          elements.find(task.flush.begin, task.flush.end, flushes);
  }
}

template <typename T> void SummaryPass<T>::run(WeightSummary &summary) {
  uint64_t units = request.rows * pieces;
  uint64_t width = pieces > 1 ? kPiece : request.columns;
  uint64_t step = std::max<uint64_t>(1, kTask / width);
  // Blocks end at lines of the cache that no other thread writes.
  step = llvm::alignTo(step, kBlockRows);
  std::vector<Task> tasks;
  for (uint64_t unit = 0; unit < units; unit += step)
    tasks.push_back({unit, std::min(units, unit + step), {}, {}, {}, 0, {}});
  if (!request.byColumn)
    rowPieces = Statistics(units);
  forEachTask(tasks.size(), request.size() * request.weights.bits() / 8,
              [&](size_t index) { scan(tasks[index], direct); });

  // In the tasks' order, so that the result does not depend on the threads.
  Statistics groups(request.byColumn ? request.columns : request.rows);
  for (Task &task : tasks) {
    summary.flags |= task.flags;
    summary.minNonZero = std::min(summary.minNonZero, double(task.tally.least));
    summary.integral &= task.tally.integral;
    for (uint64_t column = 0; request.byColumn && column < request.columns;
         ++column)
      groups.merge(column, task.columns, column);
  }
  for (uint64_t unit = 0; !request.byColumn && unit < units; ++unit)
    groups.merge(unit / pieces, rowPieces, unit);
  for (auto [index, group] : llvm::enumerate(summary.groups))
    group =
        groups.finish(index, request.byColumn ? request.rows : request.columns);
  if (request.target)
    countLosses(tasks, summary);
}

uint64_t mpopt::channelOf(ArrayRef<int64_t> shape) {
  if (shape.size() < 2 || shape.front() <= 1)
    return 0;
  uint64_t elements = 1;
  for (int64_t dim : shape.drop_front())
    elements *= dim;
  return elements;
}

WeightSummary mpopt::summarizeWeight(const SummaryRequest &request) {
  assert((request.size() * request.weights.bits() + 7) / 8 <=
             request.weights.bytes.size() &&
         "fewer bytes than elements");
  WeightSummary summary;
  summary.groups.resize(request.byColumn ? request.columns : request.rows);
  if (request.size() == 0)
    return summary;
  WeightReader reader(request.weights);
  if (reader.fitsFloat())
    SummaryPass<float>(request, reader).run(summary);
  else
    SummaryPass<double>(request, reader).run(summary);
  if (request.target) {
    Elements elements(reader);
    if (summary.flags & ~WeightStorageOverflow)
      summary.losses = recount(request, elements);
    summary.losses.elements = request.size();
    findLostChannels(request, elements, summary.losses);
  }
  return summary;
}
