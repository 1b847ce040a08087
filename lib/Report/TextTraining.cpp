//===- TextTraining.cpp - A training step, for people
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The window of loss scales as a sentence, with what limits either end, and the
// gradients as a table in which repeated layers are one row.
//
//===----------------------------------------------------------------------===//

#include "TextReport.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mpopt;
using llvm::StringRef;

/// Rows of the table; JSON has everything.
static constexpr size_t kMaxRows = 28;
static constexpr unsigned kMaxNameWidth = 44;

static std::string powerOfTwo(int exponent) {
  return "2^" + std::to_string(exponent);
}

/// A power of two in all its digits, as far as they are few.
static std::string getScale(double scale) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.10g", scale);
  return text;
}

static std::string percent(double share) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (share > 0 && share < 0.001)
    os << "<0.1 %";
  else
    os << llvm::format("%.*f %%", share < 0.1 && share > 0 ? 1 : 0,
                       100 * share);
  return text;
}

//===----------------------------------------------------------------------===//
// The loss scale
//===----------------------------------------------------------------------===//

static std::string describeWindow(const ScaleReport &scale) {
  if (!scale.needed)
    return "none is needed: no gradient is computed in a dtype that loses "
           "small numbers";
  if (!scale.lo)
    return "none works: small gradients are lost at every scale";
  if (scale.hi && *scale.lo > *scale.hi)
    return "none works: gradients overflow above " + powerOfTwo(*scale.hi) +
           ", and below " + powerOfTwo(*scale.lo) + " small ones are lost";
  std::string text = powerOfTwo(*scale.lo) + " to ";
  text += scale.hi ? powerOfTwo(*scale.hi) : "any larger one";
  text += " works";
  if (scale.recommended)
    text += "; start at " + getScale(*scale.recommended) + " (" +
            powerOfTwo(int(std::log2(*scale.recommended))) + ")";
  return text;
}

void TextReport::writeLossScale(const TrainingReport &training) {
  if (llvm::any_of(training.parameters, [](const GradientReport &gradient) {
        return gradient.known;
      }))
    return writeScale(training.scale);
  style.bold("loss scale");
  os << ": ";
  style.wrap("not judged: nothing is known of the size of gradients", 4, 12);
}

void TextReport::writeScale(const ScaleReport &scale) {
  style.bold("loss scale");
  os << ": ";
  style.wrap(describeWindow(scale), 4, 12);
  if (!scale.needed)
    return;
  if (scale.hi && !scale.top.empty()) {
    os << "    ";
    style.wrap("above: the " + scale.top + " overflows " + scale.topDtype, 6,
               4);
  }
  if (scale.lo && !scale.bottom.empty()) {
    os << "    ";
    style.wrap("below: " + percent(scale.lostBelow - scale.floor) +
                   " of all parameters' gradients is lost at half of it, most "
                   "of " +
                   scale.bottom,
               6, 4);
  }
  if (scale.floor >= 0.001) {
    os << "    ";
    style.wrap(percent(scale.floor) + " is lost at any scale", 6, 4);
  }
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// Parameters whose names differ in numbers only.
struct Row {
  std::vector<const GradientReport *> members;

  std::string name() const;
  /// One number, or the smallest and the largest.
  std::string sizes(double GradientReport::*field) const;
  double worst(double GradientReport::*field) const;
  /// The largest expected error, "?" if one is not known.
  std::string error() const;
};
} // namespace

/// `layers.0.up.weight .. layers.7.up.weight` as `layers.0-7.up.weight`.
std::string Row::name() const {
  StringRef first = members.front()->name, last = members.back()->name;
  if (members.size() == 1)
    return first.str();
  size_t begin = 0;
  while (begin < first.size() && begin < last.size() &&
         first[begin] == last[begin])
    ++begin;
  while (begin > 0 && isdigit(first[begin - 1]))
    --begin;
  auto digits = [&](StringRef text) {
    return text.drop_front(begin).take_while(
        [](char c) { return isdigit(c) != 0; });
  };
  StringRef from = digits(first), to = digits(last);
  if (first.drop_front(begin + from.size()) !=
      last.drop_front(begin + to.size()))
    return foldDigits(first);
  return (first.take_front(begin) + from + "-" + to +
          first.drop_front(begin + from.size()))
      .str();
}

std::string Row::sizes(double GradientReport::*field) const {
  double least = members.front()->*field, most = least;
  for (const GradientReport *member : members) {
    least = std::min(least, member->*field);
    most = std::max(most, member->*field);
  }
  auto number = [](double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.2g", value);
    return text;
  };
  return number(least) == number(most) ? number(most)
                                       : number(least) + " .. " + number(most);
}

double Row::worst(double GradientReport::*field) const {
  double most = 0;
  for (const GradientReport *member : members)
    most = std::max(most, member->*field);
  return most;
}

std::string Row::error() const {
  double most = 0;
  for (const GradientReport *member : members) {
    if (!member->error)
      return "?";
    most = std::max(most, *member->error);
  }
  return percent(most);
}

/// The widths of the columns behind the name: as wide as their titles and
/// numbers.
static constexpr unsigned kColumnWidths[] = {5, 18, 8, 6, 6, 7};

void TextReport::writeGradients(const TrainingReport &training) {
  llvm::MapVector<std::string, Row, std::map<std::string, unsigned>> rows;
  size_t unknown = 0;
  for (const GradientReport &gradient : training.parameters) {
    if (!gradient.known) {
      ++unknown;
      continue;
    }
    rows[foldDigits(gradient.name) + " " + gradient.dtype].members.push_back(
        &gradient);
  }
  if (rows.empty())
    return;
  unsigned width = 9;
  for (const auto &[key, row] : rows)
    width = std::max<unsigned>(width, row.name().size());
  width = std::min(width, kMaxNameWidth);
  auto cell = [&](StringRef text, unsigned size) {
    os << "  ";
    os.indent(text.size() < size ? size - text.size() : 0) << text;
  };
  auto line = [&](StringRef name, llvm::ArrayRef<std::string> cells) {
    os << "  ";
    style.plain(name);
    os.indent(width - name.size());
    for (auto [text, size] : llvm::zip_equal(cells, kColumnWidths))
      cell(text, size);
    os << '\n';
  };
  style.bold("gradients");
  os << " of the unscaled loss, expected over a batch\n";
  line("parameter", {"dtype", "rms", "largest", "zero", "lost", "off by"});
  size_t shown = 0;
  for (const auto &[key, row] : rows) {
    if (shown++ == kMaxRows)
      break;
    std::string name = row.name();
    if (name.size() > width)
      name = name.substr(0, width - 3) + "...";
    std::string largest;
    llvm::raw_string_ostream(largest)
        << llvm::format("%.2g", row.worst(&GradientReport::absMax));
    line(name,
         {row.members.front()->dtype, row.sizes(&GradientReport::rms), largest,
          percent(row.worst(&GradientReport::zero)),
          percent(row.worst(&GradientReport::lostUnscaled)), row.error()});
  }
  if (rows.size() > kMaxRows)
    os << "  and " << rows.size() - kMaxRows
       << " more rows (--format json has all)\n";
  if (unknown)
    os << "  nothing is known of " << plural(unknown, "other gradient") << '\n';
  style.dim("  lost: the share of elements that are not 0 and are stored as 0 "
            "without a loss scale");
  os << '\n';
  style.dim("  off by: the expected error by all roundings of the step, of the "
            "gradient's rms");
  os << '\n';
}

/// The product with the least signal to noise, and what to do for each aim.
static std::vector<std::string> describeLayers(const Fp8Report &report) {
  const LayerReport *worst = nullptr;
  const LayerReport::Product *product = nullptr;
  for (const LayerReport &layer : report.layers)
    for (const LayerReport::Product &its : layer.products)
      if (its.isComputed && !std::isnan(its.decibels) &&
          (!product || its.decibels < product->decibels)) {
        worst = &layer;
        product = &its;
      }
  std::vector<std::string> lines;
  std::string text = plural(report.layers.size(), "layer");
  if (product)
    text += "; the noisiest product is " + product->name.str() + " of '" +
            worst->output + "', " +
            std::to_string(int(std::lround(product->decibels))) + " dB";
  lines.push_back(text);
  for (auto [index, kept] : llvm::enumerate(report.keep)) {
    text = "gradients within " + percent(kept.aim) + ": ";
    for (const Fp8Report::Choice &choice : report.recommended)
      if (choice.aim == kept.aim)
        text +=
            choice.recipe.value_or("no recipe") + " on " + choice.device + ", ";
    if (!kept.layers)
      text += "no list of layers in BF16";
    else if (kept.layers->empty())
      text += "and as it is";
    else
      text += plural(kept.layers->size(), "layer") + " in BF16 ('" +
              report.layers[kept.layers->front()].output + "' first)";
    lines.push_back(text);
  }
  return lines;
}

void TextReport::writeTraining(const TrainingReport &training) {
  style.bold("training step");
  os << ": ";
  std::string loss;
  for (const std::string &term : training.loss)
    loss += (loss.empty() ? "" : " + ") + term;
  style.wrap("loss " + (loss.empty() ? std::string("of the model") : loss), 4,
             15);
  std::string settings;
  for (const StepSetting &setting : training.settings)
    settings += (settings.empty() ? "" : "; ") + setting.name + " " +
                setting.value + " (" + setting.source + ")";
  if (!settings.empty()) {
    os << "    ";
    style.wrap(settings, 4, 4);
  }
  writeLossScale(training);
  writeGradients(training);
  if (training.fp8) {
    style.bold("fp8:" + training.fp8->recipe);
    os << ": ";
    for (const std::string &line : describeLayers(*training.fp8)) {
      style.wrap(line, 4, 4);
    }
  }
  if (training.memory)
    writeMemory(*training.memory);
  os << '\n';
}
