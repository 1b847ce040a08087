//===- LinearPass.cpp - The pass over the weights of a product
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts the weights into tasks for the threads and tasks into blocks, which are
// summed where they lie or, where something is to be done to each weight first,
// in a tile.
//
//===----------------------------------------------------------------------===//

#include "LinearPass.h"

#include "llvm/ADT/STLExtras.h"

#include <memory>

using namespace mpopt;
using namespace mpopt::kernels;
using llvm::ArrayRef;

/// Weights of a task: some milliseconds, so that threads end together.
static constexpr uint64_t kTask = 1 << 21;
/// Columns whose sums a task keeps: they stay in the second-level cache.
static constexpr uint64_t kTaskColumns = 2048;

static void raise(std::vector<uint8_t> &flags, size_t size, size_t index,
                  uint8_t flag) {
  if (flags.empty())
    flags.assign(size, 0);
  flags[index] |= flag;
}

static bool allFinite(ArrayRef<double> sums) {
  return llvm::all_of(sums, [](double sum) { return std::isfinite(sum); });
}

/// `channel` is that of the first value; `step` is 1 if each value is of the
/// next channel, 0 if all are of one.
template <typename T>
void LinearPass<T>::subtractZero(T *values, size_t count, uint64_t channel,
                                 uint64_t step) const {
  ArrayRef<double> zeros = request.weights.zeroPoints;
  if (zeros.empty())
    return;
  if (zeros.size() == 1)
    channel = step = 0;
  else if (zeros.size() == request.n)
    channel %= request.n;
  for (size_t at = 0; at < count; ++at)
    values[at] -= T(zeros[channel + at * step]);
}

template <typename T>
void LinearPass<T>::sumColumns(Task &task, const SumLoops<T> *direct) const {
  // Odd in units of the cache's sets, or a column's rows would fall into few.
  constexpr size_t stride = kColumnTileColumns + kLanes;
  std::unique_ptr<T[]> tile; // half a MiB: only where something is copied
  uint64_t width = padded(task.end - task.begin);
  task.sums.assign(kSums * width, 0);
  if (request.wantNorm)
    task.across.assign(task.lastRow - task.firstRow, 0);
  const T *inputs = coefficients.of(task.matrix);
  const uint64_t blockRows = direct ? kBlockRows : kColumnTileRows;
  const uint64_t blockColumns =
      direct ? task.end - task.begin : kColumnTileColumns;
  for (uint64_t row = task.firstRow; row < task.lastRow; row += blockRows) {
    size_t rows = std::min(blockRows, task.lastRow - row);
    auto add = [&](const SumLoops<T> &loops, const void *data, size_t step,
                   size_t columns, uint64_t first) {
      size_t local = first - task.begin;
      loops.columns(data, step, rows, columns, inputs ? inputs + row : nullptr,
                    coefficients.stride, task.sums.data() + local, width);
      if (request.wantNorm)
        loops.absRows(data, step, rows, columns,
                      task.across.data() + (row - task.firstRow));
    };
    for (uint64_t block = task.begin; block < task.end; block += blockColumns) {
      uint64_t end = std::min(block + blockColumns, task.end);
      uint64_t index = (task.matrix * request.k + row) * request.n;
      uint64_t column = block;
      if (size_t whole = (end - block) / kLanes * kLanes; direct && whole) {
        add(*direct, bytesAt(index + block), request.n, whole, block);
        column += whole;
      }
      if (column == end)
        continue;
      size_t columns = end - column;
      if (!tile)
        tile = std::make_unique_for_overwrite<T[]>(kColumnTileRows * stride);
      for (size_t at = 0; at < rows; ++at) {
        T *to = tile.get() + at * stride;
        reader.read(index + at * request.n + column, columns, to,
                    [&](size_t offset, uint8_t flag) {
                      raise(task.flags, task.end - task.begin,
                            column - task.begin + offset, flag);
                    });
        subtractZero(to, columns, task.matrix * request.n + column, 1);
        std::fill(to + columns, to + padded(columns), T(0));
      }
      add(tileLoops<T>(), tile.get(), stride, padded(columns), column);
    }
  }
  // Which weights are not finite, a second look tells.
  if (direct && !allFinite({task.sums.data() + Squares * width, width}))
    sumColumns(task, nullptr);
}

template <typename T> void LinearPass<T>::runColumns() {
  std::vector<Task> tasks;
  for (uint64_t matrix = 0; matrix < request.matrices; ++matrix)
    for (uint64_t begin = 0; begin < request.n; begin += kTaskColumns) {
      uint64_t end = std::min(request.n, begin + kTaskColumns);
      uint64_t rows = std::max<uint64_t>(kColumnTileRows,
                                         kTask / (end - begin) /
                                             kColumnTileRows * kColumnTileRows);
      for (uint64_t row = 0; row < request.k; row += rows)
        tasks.push_back(
            {matrix, begin, end, row, std::min(request.k, row + rows)});
    }
  forEachTask(tasks.size(), bytes(),
              [&](size_t index) { sumColumns(tasks[index], direct); });
  // In the tasks' order, so that the result does not depend on the threads.
  for (const Task &task : tasks) {
    uint64_t to = task.matrix * request.n + task.begin;
    uint64_t width = padded(task.end - task.begin);
    for (unsigned sum = 0; sum < kSums; ++sum)
      for (uint64_t at = 0; at < task.end - task.begin; ++at)
        raw.sums[sum][to + at] += task.sums[sum * width + at];
    for (auto [at, value] : llvm::enumerate(task.across))
      raw.across[task.matrix * request.k + task.firstRow + at] += value;
    for (auto [at, flag] : llvm::enumerate(task.flags))
      raise(raw.flags, raw.sums[0].size(), to + at, flag);
  }
}

/// Rows of all matrices are numbered through; a task may span matrices.
template <typename T>
void LinearPass<T>::sumRows(Task &task, const SumLoops<T> *direct) const {
  constexpr size_t stride = kRowTileColumns + kLanes;
  std::unique_ptr<T[]> tile;
  uint64_t firstMatrix = task.firstRow / request.n;
  if (request.wantNorm)
    task.across.assign(((task.lastRow - 1) / request.n - firstMatrix + 1) *
                           padded(request.k),
                       0);
  std::vector<double> lanes(kRowTileRows * kSums * kLanes);
  for (uint64_t row = task.firstRow, rows; row < task.lastRow; row += rows) {
    uint64_t matrix = row / request.n;
    rows = std::min({uint64_t(kRowTileRows), task.lastRow - row,
                     (matrix + 1) * request.n - row});
    llvm::fill(lanes, 0);
    const T *inputs = coefficients.of(matrix);
    auto add = [&](const SumLoops<T> &loops, const void *data, size_t step,
                   size_t columns, uint64_t first) {
      loops.rows(data, step, rows, columns, inputs ? inputs + first : nullptr,
                 coefficients.stride, lanes.data(), 0);
      if (request.wantNorm)
        loops.absColumns(data, step, rows, columns,
                         task.across.data() +
                             (matrix - firstMatrix) * padded(request.k) +
                             first);
    };
    for (uint64_t block = 0, end; block < request.k; block = end) {
      end = std::min<uint64_t>(block + kRowTileColumns, request.k);
      // One stream, where neither coefficients nor a tile must stay cached.
      if (direct && !inputs && !request.wantNorm && block == 0)
        end = std::max<uint64_t>(end, request.k / kLanes * kLanes);
      uint64_t index = row * request.k, column = block;
      if (size_t whole = (end - block) / kLanes * kLanes; direct && whole) {
        add(*direct, bytesAt(index + block), request.k, whole, block);
        column += whole;
      }
      if (column == end)
        continue;
      size_t columns = end - column;
      if (!tile)
        tile = std::make_unique_for_overwrite<T[]>(kRowTileRows * stride);
      for (size_t at = 0; at < rows; ++at) {
        T *to = tile.get() + at * stride;
        reader.read(index + at * request.k + column, columns, to,
                    [&](size_t, uint8_t flag) {
                      raise(task.flags, task.lastRow - task.firstRow,
                            row + at - task.firstRow, flag);
                    });
        subtractZero(to, columns, row + at, 0);
        std::fill(to + columns, to + padded(columns), T(0));
      }
      add(tileLoops<T>(), tile.get(), stride, padded(columns), column);
    }
    for (size_t at = 0; at < rows; ++at)
      for (unsigned sum = 0; sum < kSums; ++sum) {
        double total = 0;
        for (size_t lane = 0; lane < kLanes; ++lane)
          total += lanes[(at * kSums + sum) * kLanes + lane];
        raw.sums[sum][row + at] = total;
      }
  }
  if (direct &&
      !allFinite(ArrayRef(raw.sums[Squares])
                     .slice(task.firstRow, task.lastRow - task.firstRow)))
    sumRows(task, nullptr);
}

template <typename T> void LinearPass<T>::runRows() {
  uint64_t all = request.matrices * request.n;
  uint64_t step = std::max<uint64_t>(kRowTileRows,
                                     kTask / std::max<uint64_t>(request.k, 1) /
                                         kRowTileRows * kRowTileRows);
  std::vector<Task> tasks;
  for (uint64_t row = 0; row < all; row += step)
    tasks.push_back({0, 0, 0, row, std::min(all, row + step)});
  forEachTask(tasks.size(), bytes(),
              [&](size_t index) { sumRows(tasks[index], direct); });
  for (const Task &task : tasks) {
    uint64_t first = task.firstRow / request.n;
    for (uint64_t at = 0; at < task.across.size(); ++at)
      if (uint64_t k = at % padded(request.k); k < request.k)
        raw.across[(first + at / padded(request.k)) * request.k + k] +=
            task.across[at];
    for (auto [at, flag] : llvm::enumerate(task.flags))
      raise(raw.flags, all, task.firstRow + at, flag);
  }
}

template class mpopt::kernels::LinearPass<float>;
template class mpopt::kernels::LinearPass<double>;
