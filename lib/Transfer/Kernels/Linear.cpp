//===- Linear.cpp - Ranges of a product with known weights
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the pass' own rounding errors are bounded. Sums are over terms t = w q
// with coefficients q that are exact by definition: what rounding a centre to
// the tile's type loses is added to its radius, and radii are rounded up. A
// lane adds at most m terms in the tile's type (unit roundoff u), and lanes are
// added in double: the computed sum is off by at most
//   rel sum |t| + K eta,   rel = 1.25 ((m + 2) u + (K + 64) 2^-53),
// eta being half of the type's smallest subnormal, for products that underflow
// (Higham, Accuracy and Stability of Numerical Algorithms, 3.1; 1.25 covers
// second-order terms and the few operations that follow). Coefficients are
// scaled by a power of two to at most 1. Weights so large or so small that a
// float's range does not do are summed again in double.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Transfer/Kernels/Linear.h"

#include "OperatorNorm.h"
#include "Reader.h"

#include "mpopt/Support/Rounding.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <memory>

using namespace mpopt;
using namespace mpopt::kernels;
using llvm::ArrayRef;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Weights of a task: some milliseconds, so that threads end together.
static constexpr uint64_t kTask = 1 << 21;
/// Columns whose sums a task keeps: they stay in the second-level cache.
static constexpr uint64_t kTaskColumns = 2048;
/// Up to so many weights are summed in double.
static constexpr uint64_t kSmall = 1 << 17;

Interval LinearSums::bound(size_t channel) const {
  if (std::isinf(radius[channel]))
    return Interval::whole();
  return {subDown(centre[channel], radius[channel]),
          addUp(centre[channel], radius[channel])};
}

double mpopt::accumulationError(uint64_t count, double terms,
                                const FloatFormat &accumulator) {
  if (count == 0)
    return 0;
  double n = double(count), u = std::ldexp(1.0, -int(accumulator.digits));
  double spread = mulUp(mulUp(n, u), terms);
  double underflow = mulUp(n, accumulator.minSubnormal / 2);
  if (underflow == 0)
    underflow = accumulator.minSubnormal;
  return addUp(spread, mulUp(underflow, addUp(1, mulUp(n, u))));
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The power of two that is greater than `value`, 1 for 0.
static double scaleFor(double value) {
  if (value == 0)
    return 1;
  return std::ldexp(1.0, std::min(std::ilogb(value) + 1, 1023));
}

template <typename T> static T roundedUp(double value) {
  T nearest = T(value);
  if (double(nearest) < value)
    nearest = std::nextafter(nearest, std::numeric_limits<T>::infinity());
  return nearest;
}

static double clamped(double value) {
  return std::isnan(value) ? 0 : std::clamp(value, -0x1p500, 0x1p500);
}

namespace {
struct InputAt {
  const LinearRequest &request;

  double get(ArrayRef<double> list, uint64_t matrix, uint64_t k) const {
    if (list.size() <= 1)
      return list.empty() ? 0 : list.front();
    return list[list.size() == request.k ? k : matrix * request.k + k];
  }
  bool unbounded(uint64_t matrix, uint64_t k) const {
    return !std::isfinite(get(request.inputs.centre, matrix, k)) ||
           !std::isfinite(get(request.inputs.radius, matrix, k));
  }
};

/// The inputs as factors of the weights; none if they are the same for all k.
template <typename T> struct Coefficients {
  explicit Coefficients(const LinearRequest &request);
  Coefficients(const Coefficients &) = delete; // `base` depends on the address

  const T *of(uint64_t matrix) const {
    if (uniform)
      return nullptr;
    return base() + (perMatrix ? matrix * kCoefficients * stride : 0);
  }

  /// Where a cache line begins, and so does each coefficient's list: a vector
  /// that straddles two lines costs two reads.
  const T *base() const {
    auto address = reinterpret_cast<uintptr_t>(values.data());
    return values.data() + (-address % kLine) / sizeof(T);
  }

  static constexpr uintptr_t kLine = 64;
  bool uniform = true, perMatrix = false, anyUnbounded = false;
  size_t stride = 0;
  std::vector<T> values;
  /// What the coefficients were divided by: c, r and a; mean; variance; h.
  double boundScale = 1, meanScale = 1, varianceScale = 1, rangeScale = 1;
};
} // namespace

template <typename T>
Coefficients<T>::Coefficients(const LinearRequest &request) {
  const LinearInputs &inputs = request.inputs;
  for (ArrayRef<double> list : {inputs.centre, inputs.radius, inputs.mean,
                                inputs.variance, inputs.halfRange}) {
    assert((list.size() <= 1 || list.size() == request.k ||
            list.size() == request.matrices * request.k) &&
           "as many inputs as the matrices have rows");
    uniform &= list.size() <= 1;
    perMatrix |= list.size() > 1 && list.size() != request.k;
  }
  InputAt at{request};
  if (uniform) {
    anyUnbounded = request.k > 0 && at.unbounded(0, 0);
    return;
  }
  stride = padded(request.k);
  uint64_t sets = perMatrix ? request.matrices : 1;
  double bound = 0, mean = 0, variance = 0, range = 0;
  for (uint64_t set = 0; set < sets; ++set)
    for (uint64_t k = 0; k < request.k; ++k) {
      if (at.unbounded(set, k))
        anyUnbounded = true;
      else
        bound = std::max(bound, std::fabs(at.get(inputs.centre, set, k)) +
                                    at.get(inputs.radius, set, k));
      mean = std::max(mean, std::fabs(clamped(at.get(inputs.mean, set, k))));
      variance = std::max(variance, clamped(at.get(inputs.variance, set, k)));
      range = std::max(range, clamped(at.get(inputs.halfRange, set, k)));
    }
  boundScale = scaleFor(std::min(bound, std::numeric_limits<double>::max()));
  meanScale = scaleFor(mean);
  varianceScale = scaleFor(variance);
  rangeScale = scaleFor(range);

  values.assign(sets * kCoefficients * stride + kLine / sizeof(T), T(0));
  for (uint64_t set = 0; set < sets; ++set)
    for (uint64_t k = 0; k < request.k; ++k) {
      T *to = const_cast<T *>(base()) + set * kCoefficients * stride + k;
      if (!at.unbounded(set, k)) {
        // Dividing by a power of two loses something only where it underflows.
        double exact = at.get(inputs.centre, set, k);
        double scaled = exact / boundScale;
        double lost = scaled * boundScale == exact
                          ? 0
                          : std::numeric_limits<double>::denorm_min();
        T centre = T(scaled);
        lost = addUp(lost, std::fabs(scaled - double(centre)));
        T radius = roundedUp<T>(
            addUp(divUp(at.get(inputs.radius, set, k), boundScale), lost));
        to[0] = centre;
        to[stride] = radius;
        to[4 * stride] =
            roundedUp<T>(addUp(std::fabs(double(centre)), double(radius)));
      }
      to[2 * stride] = T(clamped(at.get(inputs.mean, set, k)) / meanScale);
      to[3 * stride] =
          T(clamped(at.get(inputs.variance, set, k)) / varianceScale);
      double half = clamped(at.get(inputs.halfRange, set, k)) / rangeScale;
      to[5 * stride] = T(half * half);
    }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// What the pass adds up; lists by output channel of all matrices.
struct Raw {
  std::vector<double> sums[kSums];
  /// For norms: sum_n |w| by matrix and k, sum_k |w| by output channel. The
  /// latter only if `Terms` has coefficients.
  std::vector<double> across, along;
  std::vector<uint8_t> flags;
};

template <typename T> class Pass {
public:
  Pass(const LinearRequest &request, const WeightReader &reader,
       const Coefficients<T> &coefficients, Raw &raw, unsigned jobs)
      : request(request), reader(reader), coefficients(coefficients), raw(raw),
        jobs(jobs) {
    if constexpr (std::is_same_v<T, float>)
      if (request.weights.zeroPoints.empty())
        direct = reader.direct();
  }

  void run() { request.transposed ? runRows() : runColumns(); }

private:
  struct Task {
    uint64_t matrix, begin, end, firstRow, lastRow;
    std::vector<double> sums, across, along;
    /// By column of the task; empty if there are none.
    std::vector<uint8_t> flags;
  };

  void runColumns();
  void runRows();
  bool wantsAlong() const { return request.wantNorm && !coefficients.uniform; }
  void sumColumns(Task &task, const SumLoops<T> *direct) const;
  void sumRows(Task &task, const SumLoops<T> *direct) const;
  const char *bytesAt(uint64_t index) const {
    return request.weights.bytes.data() + index * (request.weights.bits() / 8);
  }
  void subtractZero(T *values, size_t count, uint64_t channel,
                    uint64_t step) const;

  static const SumLoops<T> &sumLoops() {
    if constexpr (std::is_same_v<T, float>)
      return loops().f32;
    else
      return loops().f64;
  }
  uint64_t bytes() const {
    return request.matrices * request.k * request.n * request.weights.bits() /
           8;
  }

  const LinearRequest &request;
  const WeightReader &reader;
  const Coefficients<T> &coefficients;
  Raw &raw;
  unsigned jobs;
  /// For weights that need no tile, or null.
  const SumLoops<T> *direct = nullptr;
};
} // namespace

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
void Pass<T>::subtractZero(T *values, size_t count, uint64_t channel,
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
void Pass<T>::sumColumns(Task &task, const SumLoops<T> *direct) const {
  // Odd in units of the cache's sets, or a column's rows would fall into few.
  constexpr size_t stride = kColumnTileColumns + kLanes;
  auto tile = std::make_unique<T[]>(kColumnTileRows * stride);
  uint64_t width = padded(task.end - task.begin);
  task.sums.assign(kSums * width, 0);
  if (request.wantNorm)
    task.across.assign(task.lastRow - task.firstRow, 0);
  if (wantsAlong())
    task.along.assign(width, 0);
  const T *inputs = coefficients.of(task.matrix);
  for (uint64_t row = task.firstRow; row < task.lastRow;
       row += kColumnTileRows) {
    size_t rows = std::min<uint64_t>(kColumnTileRows, task.lastRow - row);
    auto add = [&](const SumLoops<T> &loops, const void *data, size_t step,
                   size_t columns, uint64_t first) {
      size_t local = first - task.begin;
      loops.columns(data, step, rows, columns, inputs ? inputs + row : nullptr,
                    coefficients.stride, task.sums.data() + local, width);
      if (request.wantNorm)
        loops.absRows(data, step, rows, columns,
                      task.across.data() + (row - task.firstRow));
      if (wantsAlong())
        loops.absColumns(data, step, rows, columns, task.along.data() + local);
    };
    for (uint64_t block = task.begin; block < task.end;
         block += kColumnTileColumns) {
      uint64_t end = std::min<uint64_t>(block + kColumnTileColumns, task.end);
      uint64_t index = (task.matrix * request.k + row) * request.n;
      uint64_t column = block;
      if (size_t whole = (end - block) / kLanes * kLanes; direct && whole) {
        add(*direct, bytesAt(index + block), request.n, whole, block);
        column += whole;
      }
      if (column == end)
        continue;
      size_t columns = end - column;
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
      add(sumLoops(), tile.get(), stride, padded(columns), column);
    }
  }
  // Which weights are not finite, a second look tells.
  if (direct && !allFinite({task.sums.data() + Squares * width, width}))
    sumColumns(task, nullptr);
}

template <typename T> void Pass<T>::runColumns() {
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
  forEachTask(tasks.size(), bytes(), jobs,
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
    if (wantsAlong())
      for (uint64_t at = 0; at < task.end - task.begin; ++at)
        raw.along[to + at] += task.along[at];
    for (auto [at, flag] : llvm::enumerate(task.flags))
      raise(raw.flags, raw.sums[0].size(), to + at, flag);
  }
}

/// Rows of all matrices are numbered through; a task may span matrices.
template <typename T>
void Pass<T>::sumRows(Task &task, const SumLoops<T> *direct) const {
  constexpr size_t stride = kRowTileColumns + kLanes;
  auto tile = std::make_unique<T[]>(kRowTileRows * stride);
  uint64_t firstMatrix = task.firstRow / request.n;
  if (request.wantNorm)
    task.across.assign(((task.lastRow - 1) / request.n - firstMatrix + 1) *
                           padded(request.k),
                       0);
  std::vector<double> lanes(kRowTileRows * kSums * kLanes);
  if (wantsAlong())
    std::fill(raw.along.begin() + task.firstRow,
              raw.along.begin() + task.lastRow, 0);
  for (uint64_t row = task.firstRow, rows; row < task.lastRow; row += rows) {
    uint64_t matrix = row / request.n;
    rows = std::min({uint64_t(kRowTileRows), task.lastRow - row,
                     (matrix + 1) * request.n - row});
    std::fill(lanes.begin(), lanes.end(), 0);
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
      if (wantsAlong())
        loops.absRows(data, step, rows, columns, raw.along.data() + row);
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
      add(sumLoops(), tile.get(), stride, padded(columns), column);
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

template <typename T> void Pass<T>::runRows() {
  uint64_t all = request.matrices * request.n;
  uint64_t step = std::max<uint64_t>(kRowTileRows,
                                     kTask / std::max<uint64_t>(request.k, 1) /
                                         kRowTileRows * kRowTileRows);
  std::vector<Task> tasks;
  for (uint64_t row = 0; row < all; row += step)
    tasks.push_back({0, 0, 0, row, std::min(all, row + step)});
  forEachTask(tasks.size(), bytes(), jobs,
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

//===----------------------------------------------------------------------===//
// From sums to bounds
//===----------------------------------------------------------------------===//

namespace {
/// The error of a sum with `count` terms in the tile's type.
struct SumError {
  template <typename T> static SumError of(uint64_t count) {
    using Limits = std::numeric_limits<T>;
    double u = double(Limits::epsilon()) / 2;
    return {1.25 * ((kMaxTerms + 2) * u + (double(count) + 64) * 0x1p-53),
            mulUp(double(count), double(Limits::denorm_min()))};
  }

  /// At least what a sum of magnitudes is exactly.
  double up(double sum) const {
    return mulUp(addUp(sum, absolute), addUp(1, 2 * relative));
  }
  /// At least the error of a sum whose terms' magnitudes add up to `terms`.
  double of(double termsUp) const {
    return addUp(mulUp(relative, termsUp), absolute);
  }

  double relative, absolute;
};
} // namespace

template <typename T>
static void finishUniform(const LinearRequest &request, const Raw &raw,
                          size_t channel, LinearSums &result) {
  SumError error = SumError::of<T>(request.k);
  InputAt at{request};
  const LinearInputs &inputs = request.inputs;
  double sum = raw.sums[Centre][channel], size = raw.sums[Terms][channel];
  double sizeUp = error.up(size);
  double centre = at.get(inputs.centre, 0, 0);
  double radius = at.get(inputs.radius, 0, 0);
  if (at.unbounded(0, 0)) {
    // Only the values that are not finite would make 0 times them matter.
    result.radius[channel] = result.terms[channel] = size > 0 ? kInfinity : 0;
  } else if (centre != 0 || radius != 0) {
    double magnitude = std::fabs(centre), product = centre * sum;
    result.centre[channel] = product;
    result.radius[channel] =
        addUp(addUp(mulUp(radius, sizeUp), mulUp(magnitude, error.of(sizeUp))),
              product == 0 ? 0
                           : addUp(mulUp(std::fabs(product), 0x1p-53),
                                   std::numeric_limits<double>::denorm_min()));
    if (product == 0 && magnitude != 0)
      result.radius[channel] = nextUp(result.radius[channel]);
    result.terms[channel] = mulUp(addUp(magnitude, radius), sizeUp);
  }
  result.mean[channel] = clamped(at.get(inputs.mean, 0, 0)) * sum;
  result.variance[channel] =
      clamped(at.get(inputs.variance, 0, 0)) * raw.sums[Squares][channel];
  result.tail[channel] = clamped(at.get(inputs.halfRange, 0, 0)) *
                         std::pow(raw.sums[Sixth][channel], 1.0 / 6);
}

template <typename T>
static void finishChannel(const LinearRequest &request, const Raw &raw,
                          const Coefficients<T> &coefficients, size_t channel,
                          LinearSums &result) {
  SumError error = SumError::of<T>(request.k);
  double scale = coefficients.boundScale;
  double terms = error.up(raw.sums[Terms][channel]);
  double centre = raw.sums[Centre][channel] * scale;
  result.centre[channel] = centre;
  result.radius[channel] =
      mulUp(addUp(error.up(raw.sums[Radius][channel]), error.of(terms)), scale);
  if (std::fabs(centre) < std::numeric_limits<double>::min())
    result.radius[channel] = nextUp(result.radius[channel]);
  result.terms[channel] = mulUp(terms, scale);
  result.mean[channel] = raw.sums[Mean][channel] * coefficients.meanScale;
  result.variance[channel] =
      raw.sums[Variance][channel] * coefficients.varianceScale;
  result.tail[channel] =
      coefficients.rangeScale * std::pow(raw.sums[Sixth][channel], 1.0 / 6);
}

/// Frobenius and sqrt(|W|_1 |W|_inf), whichever is smaller.
template <typename T>
static void finishNorms(const LinearRequest &request, const Raw &raw,
                        LinearSums &result) {
  SumError along = SumError::of<T>(request.k);
  SumError across = SumError::of<T>(request.n);
  result.operatorNorm.assign(request.matrices, 0);
  ArrayRef<double> columnSums = raw.along.empty() ? raw.sums[Terms] : raw.along;
  for (uint64_t matrix = 0; matrix < request.matrices; ++matrix) {
    double frobenius = 0, one = 0, infinity = 0;
    for (uint64_t n = 0; n < request.n; ++n) {
      size_t channel = matrix * request.n + n;
      frobenius = addUp(frobenius, along.up(raw.sums[Squares][channel]));
      one = std::max(one, along.up(columnSums[channel]));
    }
    double norm = sqrtUp(frobenius);
    if (request.wantNorm) {
      for (uint64_t k = 0; k < request.k; ++k)
        infinity =
            std::max(infinity, across.up(raw.across[matrix * request.k + k]));
      norm = std::min(norm, sqrtUp(mulUp(one, infinity)));
    }
    result.operatorNorm[matrix] = norm;
  }
}

/// Whether a float's range lost something: a sum overflowed, a channel's
/// squares vanished (maybe because all its weights are 0: dead channels are
/// exactly 0, which sums in double tell), or the sixth powers did.
static bool lostRange(const Raw &raw, double range) {
  for (const std::vector<double> &sums : raw.sums)
    for (double sum : sums)
      if (!std::isfinite(sum))
        return true;
  double squares = 0, sixth = 0;
  for (double sum : raw.sums[Squares])
    squares = std::max(squares, sum);
  for (double sum : raw.sums[Sixth])
    sixth = std::max(sixth, sum);
  for (double sum : raw.sums[Squares])
    if (sum < 0x1p-110)
      return true;
  return range > 0 && squares > 0 && sixth < 0x1p-100;
}

/// False if the weights need a wider type than T.
template <typename T>
static bool attempt(const LinearRequest &request, const WeightReader &reader,
                    unsigned jobs, LinearSums &result) {
  Coefficients<T> coefficients(request);
  Raw raw;
  size_t channels = request.matrices * request.n;
  for (std::vector<double> &sums : raw.sums)
    sums.assign(channels, 0);
  if (request.wantNorm)
    raw.across.assign(request.matrices * request.k, 0);
  if (request.wantNorm && !coefficients.uniform)
    raw.along.assign(channels, 0);
  if (channels != 0 && request.k != 0)
    Pass<T>(request, reader, coefficients, raw, jobs).run();
  double range = 0;
  for (double half : request.inputs.halfRange)
    range = std::max(range, half);
  if (std::is_same_v<T, float> && lostRange(raw, range))
    return false;

  SumError error = SumError::of<T>(request.k);
  for (size_t channel = 0; channel < channels; ++channel) {
    if (coefficients.uniform)
      finishUniform<T>(request, raw, channel, result);
    else
      finishChannel<T>(request, raw, coefficients, channel, result);
    result.norm[channel] = sqrtUp(error.up(raw.sums[Squares][channel]));
    // In double no square of a float underflows.
    if (request.k == 0 || (std::is_same_v<T, double> && reader.fitsFloat() &&
                           raw.sums[Squares][channel] == 0))
      result.centre[channel] = result.radius[channel] = result.terms[channel] =
          result.norm[channel] = 0;
    if (std::isnan(result.centre[channel]) ||
        std::isinf(result.centre[channel]) ||
        std::isnan(result.radius[channel])) {
      result.centre[channel] = 0;
      result.radius[channel] = kInfinity;
    }
    if (std::isnan(result.terms[channel]))
      result.terms[channel] = kInfinity;
  }
  finishNorms<T>(request, raw, result);
  result.flags = std::move(raw.flags);

  if (coefficients.uniform || !coefficients.anyUnbounded)
    return true;
  // Again with 1 where nothing bounds the input: what is not 0 is unbounded.
  LinearRequest again = request;
  std::vector<double> unbounded(
      (coefficients.perMatrix ? request.matrices : 1) * request.k);
  for (auto [at, value] : llvm::enumerate(unbounded))
    value = InputAt{request}.unbounded(at / request.k, at % request.k);
  again.inputs = {{}, unbounded, {}, {}, {}};
  again.wantNorm = false;
  Coefficients<T> indicator(again);
  Raw hits;
  for (std::vector<double> &sums : hits.sums)
    sums.assign(channels, 0);
  Pass<T>(again, reader, indicator, hits, jobs).run();
  ArrayRef<double> sizes = hits.sums[indicator.uniform ? Terms : Radius];
  for (size_t channel = 0; channel < channels; ++channel)
    if (sizes[channel] != 0)
      result.radius[channel] = result.terms[channel] = kInfinity;
  return true;
}

LinearSums mpopt::linearSums(const LinearRequest &request, unsigned jobs) {
  WeightReader reader(request.weights);
  LinearSums result;
  size_t channels = request.matrices * request.n;
  for (std::vector<double> *list :
       {&result.centre, &result.radius, &result.terms, &result.norm,
        &result.mean, &result.variance, &result.tail})
    list->assign(channels, 0);
  // Zero points of other types than 8-bit integers may not be floats.
  bool inFloat = reader.fitsFloat() &&
                 (request.weights.zeroPoints.empty() ||
                  (!request.weights.format && request.weights.bits() <= 8));
  if (!inFloat || channels * request.k <= kSmall ||
      !attempt<float>(request, reader, jobs, result))
    attempt<double>(request, reader, jobs, result);
  if (request.wantNorm)
    boundByGram(request, reader, result.operatorNorm);
  return result;
}
