//===- AdviceWriters.cpp - The forms of --advise
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Advise/Advice.h"

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/Keys.h"
#include "mpopt/Report/TextStyle.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;

/// Three digits and a unit of a thousand: `1.25 ms`.
static std::string describeTime(double seconds) {
  static constexpr StringRef kUnits[] = {"us", "ms", "s"};
  double value = seconds * 1e6;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%.*f ", digits, value) << kUnits[unit];
  return text;
}

static std::string describeError(const AdviceRow &row) {
  if (row.unknown || std::isnan(row.error))
    return "?";
  if (std::isinf(row.error))
    return "Inf or NaN";
  // By how much more is no figure to choose by.
  if (row.error >= 1)
    return "over 100 %";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2g %%", 100 * row.error);
  return text;
}

/// A few words: what fails first.
static std::string describeVerdict(const AdviceRow &row,
                                   const DeviceProfile &device) {
  if (!row.work.lacking.empty())
    return "no arithmetic of " + llvm::join(row.work.lacking, ", ");
  if (row.fails()) {
    std::string text = row.errors ? plural(row.errors, "error") : "";
    if (row.warnings)
      text += (text.empty() ? "" : ", ") + plural(row.warnings, "warning");
    return text + ": " + row.finding;
  }
  if (!row.fits(device))
    return row.changes.empty() ? "does not fit"
                               : "does not fit; it does with " + row.changes;
  if (row.kept)
    return "fine with " + plural(row.kept, "op") + " in FP32";
  return row.unknown ? "not known" : "fine";
}

static std::string describeScale(const ScaleReport &scale) {
  if (!scale.needed)
    return "not needed";
  if (!scale.lo && !scale.hi)
    return "none loses nothing";
  std::string text = scale.lo ? "2^" + std::to_string(*scale.lo) : "any";
  return text + " to " +
         (scale.hi ? "2^" + std::to_string(*scale.hi) : std::string("any"));
}

namespace {
/// Columns that are as wide as their longest cell.
struct Table {
  std::vector<std::vector<std::string>> rows;

  void write(TextStyle &style, llvm::raw_ostream &os,
             std::optional<size_t> marked) const {
    std::vector<size_t> widths(rows.front().size());
    for (const auto &row : rows)
      for (auto [index, cell] : llvm::enumerate(row))
        widths[index] = std::max(widths[index], cell.size());
    for (auto [number, row] : llvm::enumerate(rows)) {
      std::string line;
      for (auto [index, cell] : llvm::enumerate(row)) {
        size_t pad = widths[index] - cell.size();
        // Words are set to the left, numbers to the right.
        bool left = index == 0 || index + 1 == row.size();
        line += "  " + (left ? cell + std::string(pad, ' ')
                             : std::string(pad, ' ') + cell);
      }
      line = StringRef(line).rtrim().str();
      if (marked && number == *marked + 1)
        style.bold(line);
      else if (number == 0)
        style.dim(line);
      else
        style.plain(line);
      os << '\n';
    }
  }
};
} // namespace

static Table makeTable(const Advice &advice) {
  Table table;
  table.rows.push_back({advice.quantized ? "target" : "precision", "time",
                        "of the first", "memory", "error"});
  if (advice.train)
    llvm::append_range(table.rows.back(),
                       std::vector<std::string>{"loss scale", "lost updates"});
  table.rows.back().push_back("verdict");
  double first = advice.rows.front().seconds;
  for (const AdviceRow &row : advice.rows) {
    std::string label = row.label;
    if (row.targets.size() > 1)
      label += " and " + std::to_string(row.targets.size() - 1) + " more";
    std::vector<std::string> cells = {
        label, describeTime(row.seconds),
        llvm::formatv("{0:f0} %", first > 0 ? 100 * row.seconds / first : 100)
            .str(),
        describeBytes(row.bytes), describeError(row)};
    if (advice.train) {
      cells.push_back(row.scale ? describeScale(*row.scale) : "?");
      cells.push_back(
          row.updates
              ? llvm::formatv("{0} of {1}", row.lostUpdates, row.updates).str()
              : "?");
    }
    cells.push_back(describeVerdict(row, advice.device));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void mpopt::writeAdvice(llvm::raw_ostream &os, const Advice &advice,
                        const WriteOptions &options) {
  TextStyle style(os, options);
  style.bold(advice.path);
  os << (advice.train ? ": a training step on " : ": a run on ");
  style.wrap(advice.device.name + ", " + advice.device.summary, 2,
             advice.path.size() + 20);
  os << '\n';
  makeTable(advice).write(style, os, advice.chosen);
  os << '\n';
  if (advice.chosen) {
    const AdviceRow &row = advice.rows[*advice.chosen];
    std::string name = row.label;
    if (row.precision != "as-is")
      name += " (--precision " + row.precision + ")";
    style.bold("recommended: " + name);
    os << ", ";
    style.wrap(advice.reason, 2, name.size() + 15);
  } else {
    style.bold("recommended: none");
    os << ", ";
    style.wrap(advice.reason, 2, 19);
  }
  const Workload &work = advice.rows.front().work;
  if (unsigned uneven = advice.rows.back().work.uneven)
    style.wrap(plural(uneven, "product") + " of " +
                   std::to_string(work.products) +
                   (uneven == 1 ? " has" : " have") +
                   " a size that is no multiple of the number for the full "
                   "rate of " +
                   advice.device.name,
               2, 0);
  if (work.open)
    style.wrap(plural(work.open, "tensor") +
                   (work.open == 1 ? " has" : " have") +
                   " an open dimension, which counts as 1: --dim NAME=N",
               2, 0);
  if (llvm::any_of(advice.rows, [](const AdviceRow &row) { return row.kept; }))
    style.wrap(
        "Errors are those without any op in FP32, even where the verdict "
        "needs some.",
        2, 0);
  style.dim("Times are lower bounds: each op takes the longest of its "
            "arithmetic, its traffic and a launch.");
  os << '\n';
}

static void writeRow(llvm::json::OStream &json, const AdviceRow &row,
                     const DeviceProfile &device) {
  json.attribute("label", row.label);
  json.attribute("precision", row.precision);
  if (!row.targets.empty())
    json.attributeArray("targets", [&] {
      for (const std::string &target : row.targets)
        json.value(jsonText(target));
    });
  json.attribute("verdict", describeVerdict(row, device));
  json.attribute("fine", row.isFine(device));
  json.attribute("expected_error", row.unknown ? llvm::json::Value(nullptr)
                                               : jsonNumber(row.error));
  json.attribute("errors", row.errors);
  json.attribute("warnings", row.warnings);
  json.attribute("seconds", row.seconds);
  json.attributeObject("bound_by", [&] {
    json.attribute("arithmetic", row.work.compute);
    json.attribute("memory", row.work.memory);
    json.attribute("launches", row.work.launches);
  });
  json.attribute("bytes", row.bytes);
  json.attribute("fits", row.fits(device));
  json.attribute("fits_with", row.changes);
  json.attributeArray("lacking", [&] {
    for (const std::string &format : row.work.lacking)
      json.value(format);
  });
  json.attribute("uneven_products", row.work.uneven);
  if (!row.scale)
    return;
  json.attributeObject(keys::kLossScale, [&] {
    json.attribute("needed", row.scale->needed);
    json.attribute("lo", row.scale->lo ? llvm::json::Value(*row.scale->lo)
                                       : llvm::json::Value(nullptr));
    json.attribute("hi", row.scale->hi ? llvm::json::Value(*row.scale->hi)
                                       : llvm::json::Value(nullptr));
  });
  json.attribute("lost_updates", row.lostUpdates);
  json.attribute("updates", row.updates);
}

void mpopt::writeAdviceJson(llvm::raw_ostream &os, const Advice &advice,
                            const WriteOptions &options) {
  llvm::json::OStream json(os, 1);
  json.object([&] {
    json.attribute("schema", "mpopt-advice/1");
    json.attribute("version", options.version);
    json.attribute("model", jsonText(advice.path));
    json.attributeObject("device", [&] {
      json.attribute("name", jsonText(advice.device.name));
      json.attribute("summary", jsonText(advice.device.summary));
      json.attribute("memory", advice.device.memory);
    });
    json.attribute("train", advice.train);
    json.attribute("products", advice.rows.front().work.products);
    json.attribute("operations", advice.rows.front().work.operations);
    json.attributeArray("rows", [&] {
      for (const AdviceRow &row : advice.rows)
        json.object([&] { writeRow(json, row, advice.device); });
    });
    json.attribute("recommended",
                   advice.chosen
                       ? llvm::json::Value(advice.rows[*advice.chosen].label)
                       : llvm::json::Value(nullptr));
    json.attribute("reason", advice.reason);
  });
  os << '\n';
}
