//===- StoredOperand.cpp - Operands of products as codes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Evaluation/StoredOperand.h"

#include "VectorClones.h"

#include <bit>
#include <cmath>

using namespace mpopt;

using Grain = OperandScaling::Grain;
using Rounding = OperandScaling::Rounding;

namespace {
/// Rounds floats to the codes of a format, to nearest even.
class Rounder {
public:
  explicit Rounder(const StorageFormat &format)
      : most(float(format.codes.hi)), normal(float(format.floats->minNormal)),
        // The sum with it keeps as many digits as the format has: 1.5, so that
        // a negative number does not move its exponent.
        shift(1.5f * float(std::ldexp(1.0, 24 - int(format.floats->digits)))) {}

  __attribute__((always_inline)) float operator()(float x) const {
    x = x < -most ? -most : x;
    x = x > most ? most : x;
    float power =
        std::bit_cast<float>(std::bit_cast<uint32_t>(x) & UINT32_C(0x7F800000));
    float moved = (power < normal ? normal : power) * shift;
    return (x + moved) - moved;
  }

private:
  float most, normal, shift;
};

/// The boxes of an operand that share a scale.
struct Groups {
  int64_t rows, depth;

  Groups(const Matrices &operand, const OperandScaling &scaling)
      : rows(scaling.grain == Grain::Tile ? scaling.size : 1),
        depth(scaling.grain == Grain::Row ? std::max<int64_t>(operand.depth, 1)
                                          : scaling.size) {}
};

/// The elements and groups that were stored, and those that were lost.
struct Count {
  int64_t live = 0, clipped = 0, flushed = 0, groups = 0, zeros = 0;

  StoredShares shares() const {
    auto of = [](int64_t part, int64_t whole) {
      return whole ? double(part) / double(whole) : 0;
    };
    return {of(clipped, live), of(flushed, live), of(zeros, groups)};
  }
};

/// Part of a row.
struct Run {
  float *first;
  int64_t size;
};
} // namespace

static float largestOf(llvm::ArrayRef<Run> runs) {
  float largest = 0;
  for (const Run &run : runs)
    for (int64_t i = 0; i < run.size; ++i)
      largest = std::max(largest, std::fabs(run.first[i]));
  return largest;
}

/// A number that is past the last one by the rounding of its scale only is not
/// clipped.
static constexpr float kSlack = 1 + 0x1p-20f;

MPOPT_VECTOR_CLONES
static void storeRun(const Run &run, float scale, float most, Rounder round,
                     Count &count) {
  // A run is an operand at most, so that 32 bits count its elements.
  int32_t live = 0, clipped = 0, flushed = 0;
  float *numbers = run.first;
  for (int64_t i = 0; i < run.size; ++i) {
    float x = numbers[i], divided = x / scale, read = round(divided);
    live += x != 0;
    clipped += std::fabs(divided) > most;
    flushed += (read == 0) & (x != 0);
    numbers[i] = read * scale;
  }
  count.live += live;
  count.clipped += clipped;
  count.flushed += flushed;
}

static void store(llvm::ArrayRef<Run> runs, const StorageFormat &format,
                  const Rounder &round, Count &count) {
  for (const Run &run : runs)
    storeRun(run, float(format.scale), float(format.codes.hi) * kSlack, round,
             count);
}

static void storeWhole(Matrices &operand, const OperandScaling &scaling,
                       std::optional<double> largest, Count &count) {
  Run all = {operand.numbers.data(), int64_t(operand.numbers.size())};
  double own = largestOf(all), most = largest.value_or(own);
  ++count.groups;
  count.zeros += own == 0;
  StorageFormat format = scaling.of({-most, most}, most);
  store(all, format, Rounder(format), count);
}

StoredShares mpopt::storeOperand(Matrices &operand,
                                 const OperandScaling &scaling,
                                 std::optional<double> largest) {
  Count count;
  if (scaling.rounding == Rounding::Unscaled && scaling.format == "bf16") {
    Rounder round(scaling.codes());
    for (float &number : operand.numbers)
      number = round(number);
    return {};
  }
  if (scaling.grain == Grain::Tensor || operand.numbers.empty()) {
    storeWhole(operand, scaling, largest, count);
    return count.shares();
  }
  Groups groups(operand, scaling);
  double tensorMax =
      largestOf(Run{operand.numbers.data(), int64_t(operand.numbers.size())});
  Rounder round(scaling.codes());
  llvm::SmallVector<Run, 16> runs;
  for (int64_t each = 0; each < operand.batch; ++each)
    for (int64_t row = 0; row < operand.rows; row += groups.rows)
      for (int64_t at = 0; at < operand.depth; at += groups.depth) {
        runs.clear();
        for (int64_t i = row; i < std::min(row + groups.rows, operand.rows);
             ++i)
          runs.push_back({operand.matrix(each) + i * operand.depth + at,
                          std::min(groups.depth, operand.depth - at)});
        double most = largestOf(runs);
        ++count.groups;
        count.zeros += most == 0;
        if (most > 0)
          store(runs, scaling.of({-most, most}, tensorMax), round, count);
      }
  return count.shares();
}
