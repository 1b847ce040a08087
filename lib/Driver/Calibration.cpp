//===- Calibration.cpp - Tables of a calibration
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: calibration.flatbuffers, which ONNX Runtime writes beside the
// same table as JSON and as text.
//
//===----------------------------------------------------------------------===//

#include "Calibration.h"

#include "NpyReader.h"

#include "mpopt/Dialect/Calibration.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Support/BoundedJson.h"
#include "mpopt/Support/InputFile.h"
#include "mpopt/Support/ZipFile.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

#include <bit>
#include <cmath>
#include <optional>

using namespace mlir;
using namespace mpopt;
using llvm::Error;
using llvm::Expected;

static Error fail(const llvm::Twine &what) {
  return llvm::createStringError(what);
}

static bool isRange(const Interval &range) {
  return range.lo <= range.hi && std::isfinite(range.lo) &&
         std::isfinite(range.hi);
}

/// A tensor may be listed twice, by channel.
static Error addTo(CalibrationTable &table, StringRef name,
                   const Interval &range) {
  if (!isRange(range))
    return fail("has no range for '" + name + "'");
  auto [entry, isNew] = table.try_emplace(name.str(), range);
  if (!isNew)
    entry->second = hull(entry->second, range);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

using json = llvm::json::Object;

/// A number, a list of one, or a NumPy array as ONNX Runtime writes it.
static std::optional<double> numberOf(const llvm::json::Value *value) {
  if (!value)
    return std::nullopt;
  if (const json *array = value->getAsObject())
    return numberOf(array->get("data"));
  if (const llvm::json::Array *list = value->getAsArray())
    return list->size() == 1 ? numberOf(&list->front()) : std::nullopt;
  return value->getAsNumber();
}

static std::optional<Interval> rangeBy(const json &entry, StringRef lo,
                                       StringRef hi) {
  auto least = numberOf(entry.get(lo)), most = numberOf(entry.get(hi));
  if (!least || !most)
    return std::nullopt;
  return Interval{*least, *most};
}

/// AIMET's encodings of version 1 have one scale or several, and no ends.
static std::optional<Interval> rangeOfEncoding(const json &entry) {
  const llvm::json::Array *scales = entry.getArray("scale"),
                          *offsets = entry.getArray("offset");
  auto bits = entry.getInteger("bw");
  // Wider codes are none that AIMET writes.
  if (!scales || !offsets || scales->size() != offsets->size() || !bits ||
      *bits < 1 || *bits > 32)
    return std::nullopt;
  Interval range = {kInfinity, -kInfinity};
  for (size_t index = 0; index < scales->size(); ++index) {
    auto scale = (*scales)[index].getAsNumber(),
         offset = (*offsets)[index].getAsNumber();
    if (!scale || !offset)
      return std::nullopt;
    double least = *scale * *offset;
    range = hull(range, {least, least + *scale * (std::exp2(*bits) - 1)});
  }
  return range;
}

/// A magnitude, [lo, hi], an object with both, or a list of such objects.
static std::optional<Interval> rangeOf(const llvm::json::Value &value) {
  if (auto number = value.getAsNumber())
    return Interval::symmetric(std::fabs(*number));
  if (const json *entry = value.getAsObject()) {
    if (auto range = rangeBy(*entry, "lowest", "highest"))
      return range;
    auto range = rangeBy(*entry, "min", "max");
    return range ? range : rangeOfEncoding(*entry);
  }
  const llvm::json::Array *list = value.getAsArray();
  if (!list || list->empty())
    return std::nullopt;
  if (list->front().getAsNumber()) {
    auto lo = list->front().getAsNumber(), hi = list->back().getAsNumber();
    return list->size() == 2 && hi ? std::optional(Interval{*lo, *hi})
                                   : std::nullopt;
  }
  Interval all = {kInfinity, -kInfinity};
  for (const llvm::json::Value &entry : *list) {
    auto range = entry.getAsObject() ? rangeOf(entry) : std::nullopt;
    if (!range)
      return std::nullopt;
    all = hull(all, *range);
  }
  return all;
}

static Expected<CalibrationTable> parseObject(const json &all) {
  const json *entries = all.getObject("data"); // ONNX Runtime's TensorsData
  if (!entries)
    entries = all.getObject("activation_encodings");
  CalibrationTable table;
  if (const auto *list = all.getArray("activation_encodings")) {
    for (const llvm::json::Value &entry : *list) {
      const json *object = entry.getAsObject();
      auto name = object ? object->getString("name") : std::nullopt;
      auto range = rangeOf(entry);
      if (!name || !range)
        return fail("has an encoding without a name or a range");
      if (Error error = addTo(table, *name, *range))
        return std::move(error);
    }
    return table;
  }
  for (const auto &[key, value] : entries ? *entries : all) {
    StringRef name = key;
    std::optional<Interval> range = rangeOf(value);
    if (!range)
      return fail("has no range for '" + name + "'");
    if (Error error = addTo(table, name, *range))
      return std::move(error);
  }
  return table;
}

static Expected<CalibrationTable> parseJsonTable(StringRef text) {
  Expected<llvm::json::Value> value = parseJson(text);
  if (!value)
    return value.takeError();
  const json *object = value->getAsObject();
  if (!object)
    return fail("is no table of ranges by tensor");
  return parseObject(*object);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// TensorRT's scale, the bits of an FP32 number in hexadecimal, is that of a
/// code: the last one is 127.
static std::optional<double> magnitudeOfTensorRT(StringRef text) {
  uint32_t bits = 0;
  if (text.size() != 8 || text.getAsInteger(16, bits))
    return std::nullopt;
  return double(std::bit_cast<float>(bits)) * 127;
}

/// Lines of a name and a number behind the last separator. TensorRT's begin
/// with a line of its own; those of ONNX Runtime are magnitudes.
static Expected<CalibrationTable> parseLines(StringRef text) {
  bool isTensorRT = text.starts_with("TRT-");
  StringRef separator = isTensorRT ? ": " : " ";
  if (isTensorRT)
    text = text.split('\n').second;
  CalibrationTable table;
  for (StringRef line : llvm::split(text, '\n')) {
    line = line.trim();
    if (line.empty())
      continue;
    auto [name, number] = line.rsplit(separator);
    std::optional<double> magnitude;
    double value = 0;
    if (isTensorRT)
      magnitude = magnitudeOfTensorRT(number.trim());
    else if (!number.getAsDouble(value))
      magnitude = value;
    if (!magnitude)
      return fail("is no calibration table: '" +
                  llvm::Twine(line.take_front(60)) + "' is no name and number");
    if (Error error =
            addTo(table, name, Interval::symmetric(std::fabs(*magnitude))))
      return std::move(error);
  }
  return table;
}

//===----------------------------------------------------------------------===//
// Archives
//===----------------------------------------------------------------------===//

/// An array of two numbers is a range, any other a sample.
static Expected<CalibrationTable>
parseArchive(llvm::ArrayRef<ZipMember> members) {
  CalibrationTable table;
  for (const ZipMember &member : members) {
    StringRef name = member.name;
    if (!name.consume_back(".npy"))
      continue;
    Interval range = {kInfinity, -kInfinity};
    std::vector<double> pair;
    auto begin = [](const NpyHeader &) { return Error::success(); };
    auto visit = [&](llvm::ArrayRef<double> block) {
      for (double number : block)
        range = hull(range, Interval::point(number));
      if (pair.size() < 3)
        llvm::append_range(pair, block.take_front(3));
    };
    if (Error error = readNpy(member, name, begin, visit))
      return std::move(error);
    if (pair.size() == 2)
      range = {pair[0], pair[1]};
    if (Error error = addTo(table, name, range))
      return std::move(error);
  }
  return table;
}

Expected<CalibrationTable> mpopt::parseCalibration(StringRef bytes) {
  Expected<std::vector<ZipMember>> directory = readZipDirectory(bytes);
  if (directory)
    return parseArchive(*directory);
  llvm::consumeError(directory.takeError());
  return bytes.ltrim().starts_with("{") ? parseJsonTable(bytes)
                                        : parseLines(bytes);
}

//===----------------------------------------------------------------------===//
// The model's tensors
//===----------------------------------------------------------------------===//

Error mpopt::noteCalibration(StringRef file, ModuleOp module,
                             std::vector<std::string> &warnings) {
  auto wrong = [&](const llvm::Twine &what) {
    return fail("--calibration: '" + file + "' " + what);
  };
  Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer = readInputFile(file);
  if (!buffer)
    return wrong(llvm::toString(buffer.takeError()));
  Expected<CalibrationTable> table = parseCalibration((*buffer)->getBuffer());
  if (!table)
    return wrong(llvm::toString(table.takeError()));
  std::map<std::string, bool> found;
  auto note = [&](Value value) {
    std::string name = getTensorName(value);
    auto entry = table->find(name);
    if (entry == table->end())
      return;
    found[name] = true;
    setCalibrated(value, entry->second);
  };
  for (auto function : module.getOps<FunctionOpInterface>())
    llvm::for_each(function.getArguments(), note);
  module.walk([&](Operation *op) { llvm::for_each(op->getResults(), note); });
  if (found.empty())
    return wrong("names no tensor of the model");
  if (size_t unknown = table->size() - found.size())
    warnings.push_back(
        "has no tensor of the names of " + std::to_string(unknown) + " of " +
        std::to_string(table->size()) + " ranges in '" + file.str() + "'");
  return Error::success();
}
