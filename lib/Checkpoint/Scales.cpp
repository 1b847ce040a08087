//===- Scales.cpp - MP601 and MP619: what scales are and how they lie -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Judge.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::checkpoints;
using llvm::Error;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// `the scale is 0: ...`; `more` of `count` are bad as well.
static std::string describeBad(double value, int64_t index, int64_t count,
                               int64_t more, bool divided) {
  std::string what =
      count == 1 ? "the scale is "
                 : "the scale at index " + std::to_string(index) + " is ";
  std::string effect = value == 0 && divided
                           ? ": 1 / 0 is Inf, and scaled values become NaN"
                       : value == 0 ? ": all scaled values become 0"
                       : value < 0  ? ": codes and numbers have opposite signs"
                                    : ": scaled values are undefined";
  what += text(value) + effect;
  if (more)
    what += ", and " + std::to_string(more) + " more of " +
            std::to_string(count) + " are no positive numbers";
  return what;
}

/// MP601 for every scale but those of 0 of a weight, whose codes may be all 0.
Error Judge::judgeScale(const std::string &name, const Scale &scale,
                        double &single) {
  const StoredTensor &tensor = *scale.tensor;
  std::optional<Numbers> numbers = Numbers::of(*tensor.dtype);
  if (!numbers || tensor.bytes == 0)
    return Error::success();
  auto bytes = readAll(checkpoint, tensor);
  if (!bytes)
    return bytes.takeError();
  bool isWeight = modules[name].of(ScaleRole::Weight).tensor == &tensor &&
                  modules[name].codes;
  int64_t count = tensor.count(), first = -1, bad = 0;
  for (int64_t index = 0; index < count; ++index) {
    double value = numbers->at(bytes->data(), index);
    if ((value > 0 && std::isfinite(value)) || (value == 0 && isWeight))
      continue;
    first = first < 0 ? index : first;
    ++bad;
  }
  if (count == 1)
    single = numbers->at(bytes->data(), 0);
  if (bad)
    report("bad-scale", name, tensor,
           describeBad(numbers->at(bytes->data(), first), first, count, bad - 1,
                       /*divided=*/!isWeight));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// The sizes of blocks in use: DeepSeek's 128, compressed-tensors' groups, MX's
/// 32, NVFP4's 16.
static constexpr int64_t kBlocks[] = {128, 32, 16, 64, 256, 512};

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Elements of a block along an axis of `size`, of which there are `blocks`.
static std::optional<int64_t> blockOf(int64_t size, int64_t blocks,
                                      std::optional<int64_t> declared) {
  if (declared)
    return ceilDiv(size, *declared) == blocks ? declared : std::nullopt;
  if (blocks == 1)
    return std::max<int64_t>(size, 1);
  if (blocks == size)
    return 1;
  for (int64_t block : kBlocks)
    if (ceilDiv(size, block) == blocks)
      return block;
  return std::nullopt;
}

namespace {
/// The sizes of a weight and of its scale, as matrices of a batch.
struct Shapes {
  int64_t batch = 1, rows = 1, columns = 1;
  int64_t scaleRows = 1, scaleColumns = 1;
  bool isPerBatch = false, fits = true;
};
} // namespace

static Shapes align(const StoredTensor &codes, const StoredTensor &scale,
                    bool isPacked) {
  Shapes shapes;
  llvm::ArrayRef<int64_t> dims(codes.dims), inner(scale.dims);
  if (!dims.empty())
    shapes.columns = dims.back() * (isPacked ? 2 : 1);
  if (dims.size() > 1)
    shapes.rows = dims[dims.size() - 2];
  llvm::ArrayRef<int64_t> outer =
      dims.drop_back(std::min<size_t>(dims.size(), 2));
  for (int64_t dim : outer)
    shapes.batch *= dim;
  int64_t count = scale.count();
  if (count == 1)
    return shapes;
  shapes.isPerBatch = shapes.batch > 1 && count == shapes.batch;
  if (shapes.isPerBatch)
    return shapes;
  // A scale of the same dims, of one less, or of the row's flat list.
  if (inner.size() < outer.size() || inner.take_front(outer.size()) != outer) {
    shapes.fits = false;
    return shapes;
  }
  inner = inner.drop_front(outer.size());
  shapes.scaleRows = inner.empty() ? 1 : inner[0];
  shapes.scaleColumns = inner.size() > 1 ? inner[1] : 1;
  shapes.fits = inner.size() <= 2;
  if (dims.size() == 1 && inner.size() == 1)
    std::swap(shapes.scaleRows, shapes.scaleColumns);
  return shapes;
}

std::optional<Grid> Judge::fitGrid(const std::string &name,
                                   const Module &module) {
  const StoredTensor &codes = *module.codes;
  Grid grid;
  bool isPacked = CodeFormat::of(*codes.dtype).isPacked;
  Scale scale = module.of(ScaleRole::Weight);
  Shapes shapes = scale ? align(codes, *scale.tensor, isPacked)
                        : align(codes, codes, isPacked);
  grid.batch = shapes.batch;
  grid.rows = grid.unitRows = std::max<int64_t>(shapes.rows, 1);
  grid.columns = grid.unitColumns =
      std::max<int64_t>(shapes.columns / (isPacked ? 2 : 1), 1);
  if (!scale)
    return grid;
  if (scale.tensor->count() == 1 || shapes.isPerBatch) {
    auto block = checkpoint.block();
    bool isBlocked =
        StringRef(scale.tensor->name).ends_with("scale_inv") && block;
    if (!isBlocked ||
        (shapes.rows <= block->first && shapes.columns <= block->second)) {
      // One scale for all is one unit.
      if (!shapes.isPerBatch) {
        grid.rows *= grid.batch;
        grid.unitRows = grid.rows;
        grid.batch = 1;
      }
      return grid;
    }
  }
  std::optional<int64_t> declaredRows, declaredColumns;
  bool isByRow = shapes.scaleColumns == 1 && shapes.scaleRows == shapes.rows;
  if (auto block = checkpoint.block(); block && !isByRow) {
    declaredRows = block->first;
    declaredColumns = block->second;
  }
  auto rows = blockOf(shapes.rows, shapes.scaleRows, declaredRows);
  auto columns = blockOf(shapes.columns, shapes.scaleColumns, declaredColumns);
  if (!shapes.fits || !rows || !columns) {
    std::string why = "has the shape " + scale.tensor->shape() +
                      " for codes of " + codes.shape();
    if (declaredRows)
      why += " in blocks of " + std::to_string(*declaredRows) + " x " +
             std::to_string(*declaredColumns);
    bool isTurned = shapes.fits &&
                    blockOf(shapes.rows, shapes.scaleColumns, declaredRows) &&
                    blockOf(shapes.columns, shapes.scaleRows, declaredColumns);
    why += isTurned ? ": rows and columns are interchanged"
                    : ": no size of blocks fits both";
    report("scale-layout", name, *scale.tensor, why);
    return std::nullopt;
  }
  if (isPacked && *columns % 2)
    return std::nullopt;
  grid.unitRows = *rows;
  grid.unitColumns = *columns / (isPacked ? 2 : 1);
  grid.rowUnits = shapes.scaleRows;
  grid.columnUnits = shapes.scaleColumns;
  return grid;
}

/// Scales that fit no block of the other weights but lie the other way round.
void Judge::judgeBlocks() {
  std::map<std::pair<int64_t, int64_t>, unsigned> sizes;
  auto sizeOf = [](const Grid &grid) {
    return std::make_pair(grid.unitRows, grid.unitColumns);
  };
  auto isOfBlocks = [](const Reading &reading) {
    return reading.grid && reading.grid->rowUnits > 1 &&
           reading.grid->columnUnits > 1 && reading.grid->unitRows > 1;
  };
  for (const auto &[name, reading] : readings)
    if (isOfBlocks(reading))
      ++sizes[sizeOf(*reading.grid)];
  auto usual = llvm::max_element(
      sizes, [](const auto &a, const auto &b) { return a.second < b.second; });
  for (const auto &[name, reading] : readings) {
    if (!isOfBlocks(reading) || usual->second < 2 ||
        sizeOf(*reading.grid) == usual->first)
      continue;
    const Grid &grid = *reading.grid;
    auto [rows, columns] = usual->first;
    if (ceilDiv(grid.rows, rows) != grid.columnUnits ||
        ceilDiv(grid.columns, columns) != grid.rowUnits)
      continue;
    Scale scale = modules[name].of(ScaleRole::Weight);
    report("scale-layout", name, *scale.tensor,
           "has the shape " + scale.tensor->shape() + " for codes of " +
               modules[name].codes->shape() + ": in blocks of " +
               std::to_string(rows) + " x " + std::to_string(columns) +
               ", as " + std::to_string(usual->second) +
               " other weights have them, rows and columns are interchanged");
  }
}

//===----------------------------------------------------------------------===//
// One module
//===----------------------------------------------------------------------===//

/// Dtypes in which no format stores a scale.
static bool isNoScale(const StoredDtype &dtype) {
  return !Numbers::of(dtype) || dtype.name.starts_with("i") ||
         (dtype.name.starts_with("ui") && dtype.bits > 8);
}

Error Judge::readModule(const std::string &name, const Module &module) {
  Reading &reading = readings[name];
  for (size_t role = 0; role < kRoles; ++role)
    if (module.scales[role])
      if (Error error =
              judgeScale(name, module.scales[role], reading.single[role]))
        return error;
  if (!module.codes || module.codes->bytes == 0)
    return Error::success();
  reading.format = CodeFormat::of(*module.codes->dtype);
  Scale weight = module.of(ScaleRole::Weight);
  if (weight && isNoScale(*weight.tensor->dtype)) {
    report("scale-layout", name, *weight.tensor,
           "is stored as " + weight.tensor->dtype->word.str() +
               ", in which no format has its scales");
    weight = {};
  }
  reading.grid = fitGrid(name, module);
  if (!reading.grid)
    return Error::success();
  auto use =
      scanCodes(checkpoint, *module.codes, *reading.format, *reading.grid);
  if (!use)
    return use.takeError();
  std::optional<WeightScales> scales;
  if (weight && weight.tensor->bytes) {
    auto bytes = readAll(checkpoint, *weight.tensor);
    if (!bytes)
      return bytes.takeError();
    scales =
        WeightScales{std::move(*bytes), *Numbers::of(*weight.tensor->dtype),
                     weight.tensor->count()};
    double second = reading.of(ScaleRole::Second);
    if (second > 0 && std::isfinite(second))
      scales->second =
          module.of(ScaleRole::Second).divides ? 1 / second : second;
  }
  judgeCodes(name, module, *use, scales ? &*scales : nullptr);
  if (!request.against)
    return Error::success();
  // In a file without scales weights were cast as they are.
  if (!scales && hasScales)
    return Error::success();
  const float kOne = 1;
  if (!scales)
    scales = WeightScales{{reinterpret_cast<const char *>(&kOne),
                           reinterpret_cast<const char *>(&kOne + 1)},
                          *Numbers::of(*StoredDtype::byWord("F32")),
                          1};
  return compare(name, module, *scales);
}
