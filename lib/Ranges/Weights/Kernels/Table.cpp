//===- Table.cpp - Ranges of a table's rows and columns
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums are in double, so that the variance survives a mean that is large.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/Kernels/Table.h"

#include "Reader.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include <cmath>
#include <memory>

using namespace mpopt;
using namespace mpopt::kernels;

/// Values of a task: some milliseconds.
static constexpr uint64_t kTask = 1 << 21;
/// Columns that are in the first-level cache with their statistics.
static constexpr uint64_t kColumns = 512;

namespace {
/// Statistic by statistic: minimum, maximum, sum, sum of squares.
struct ColumnStats {
  explicit ColumnStats(size_t count)
      : stride(padded(count)), values(4 * stride, 0) {
    std::fill_n(values.begin(), stride, kInfinity);
    std::fill_n(values.begin() + stride, stride, -kInfinity);
  }
  size_t stride;
  std::vector<double> values;
};

struct Task {
  uint64_t begin, end;
  std::unique_ptr<ColumnStats> columns;
  uint8_t flags = 0;
  double minNonZero = kInfinity;
  bool integral = true;
};
} // namespace

static GroupStats finish(double min, double max, double sum, double squares,
                         uint64_t count) {
  GroupStats stats;
  if (count == 0)
    return stats;
  stats.range = {min, max};
  stats.mean = sum / double(count);
  stats.variance =
      std::max(0.0, squares / double(count) - stats.mean * stats.mean);
  // `count` products and additions; squares that underflow lose a little.
  double slack = 1.25 * (double(count) + 64) * 0x1p-53;
  bool allZero = min == 0 && max == 0;
  stats.norm = allZero ? 0
                       : sqrtUp(addUp(mulUp(squares, 1 + 2 * slack),
                                      mulUp(double(count), 0x1p-1074)));
  return stats;
}

template <typename T>
static void scanRows(const TableRequest &request, const WeightReader &reader,
                     Task &task, std::vector<GroupStats> &rows) {
  const SumLoops<T> &sums = [] -> const SumLoops<T> & {
    if constexpr (std::is_same_v<T, float>)
      return loops().f32;
    else
      return loops().f64;
  }();
  auto values = std::make_unique<T[]>(kColumns);
  for (uint64_t row = task.begin; row < task.end; ++row) {
    double stats[4] = {kInfinity, -kInfinity, 0, 0};
    for (uint64_t column = 0; column < request.columns; column += kColumns) {
      size_t count = std::min(kColumns, request.columns - column);
      reader.read(row * request.columns + column, count, values.get(),
                  [&](size_t, uint8_t flag) { task.flags |= flag; });
      if (!request.weights.zeroPoints.empty())
        for (size_t at = 0; at < count; ++at)
          values[at] -= T(request.weights.zeroPoints.front());
      sums.extremes(values.get(), count, task.columns->values.data() + column,
                    task.columns->stride, stats);
      sums.magnitudes(values.get(), count, &task.minNonZero, &task.integral);
    }
    rows[row] = finish(stats[0], stats[1], stats[2], stats[3], request.columns);
  }
}

TableStats mpopt::tableStats(const TableRequest &request, unsigned jobs) {
  TableStats result;
  result.rows.resize(request.rows);
  result.columns.resize(request.columns);
  if (request.rows == 0 || request.columns == 0)
    return result;
  WeightReader reader(request.weights);
  bool inFloat = reader.fitsFloat() &&
                 (request.weights.zeroPoints.empty() ||
                  (!request.weights.format && request.weights.bits() <= 8));
  uint64_t step = std::max<uint64_t>(1, kTask / request.columns);
  std::vector<Task> tasks;
  for (uint64_t row = 0; row < request.rows; row += step)
    tasks.push_back({row, std::min(request.rows, row + step), nullptr});
  forEachTask(tasks.size(),
              request.rows * request.columns * request.weights.bits() / 8, jobs,
              [&](size_t index) {
                Task &task = tasks[index];
                task.columns = std::make_unique<ColumnStats>(request.columns);
                if (inFloat)
                  scanRows<float>(request, reader, task, result.rows);
                else
                  scanRows<double>(request, reader, task, result.rows);
              });
  ColumnStats all(request.columns);
  double *min = all.values.data(), *max = min + all.stride;
  double *sum = max + all.stride, *squares = sum + all.stride;
  for (const Task &task : tasks) {
    result.flags |= task.flags;
    result.minNonZero = std::min(result.minNonZero, task.minNonZero);
    result.integral &= task.integral;
    const double *from = task.columns->values.data();
    for (uint64_t at = 0; at < request.columns; ++at) {
      min[at] = std::min(min[at], from[at]);
      max[at] = std::max(max[at], from[all.stride + at]);
      sum[at] += from[2 * all.stride + at];
      squares[at] += from[3 * all.stride + at];
    }
  }
  for (uint64_t at = 0; at < request.columns; ++at)
    result.columns[at] =
        finish(min[at], max[at], sum[at], squares[at], request.rows);
  return result;
}

GroupStats TableStats::whole() const {
  GroupStats all;
  if (rows.empty() || columns.empty())
    return all;
  double moment = 0, squares = 0;
  for (const GroupStats &row : rows) {
    all.range = hull(all.range, row.range);
    all.mean += row.mean / double(rows.size());
    moment += (row.variance + row.mean * row.mean) / double(rows.size());
    squares = addUp(squares, mulUp(row.norm, row.norm));
  }
  all.variance = std::max(0.0, moment - all.mean * all.mean);
  all.norm = sqrtUp(squares);
  return all;
}
