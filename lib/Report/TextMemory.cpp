//===- TextMemory.cpp - Bytes of a training step, for people
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A column for each way of sharding, a line for each part, and the largest
// activations below.
//
//===----------------------------------------------------------------------===//

#include "TextReport.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mpopt;
using llvm::StringRef;

// Columns of the table in characters, and rows of the list of activations.
static constexpr unsigned kPartWidth = 24, kCellWidth = 11;
static constexpr size_t kMaxSaved = 6;

namespace {
/// A line of the table: the bytes by scheme; nothing where they are not known.
struct Line {
  StringRef part;
  std::vector<std::optional<double>> bytes;
  /// There is more that is not known.
  bool atLeast = false;

  bool isZero() const {
    return !atLeast && llvm::all_of(bytes, [](std::optional<double> value) {
      return value && *value == 0;
    });
  }
};
} // namespace

static std::string describeCell(std::optional<double> bytes, bool atLeast) {
  if (!bytes || (atLeast && *bytes == 0))
    return "?";
  return *bytes == 0 ? "-" : (atLeast ? "> " : "") + describeBytes(*bytes);
}

static Line makeLine(
    StringRef part, const MemoryReport &memory,
    llvm::function_ref<std::optional<double>(const SchemeReport &)> bytes) {
  Line line{part, {}};
  for (const SchemeReport &scheme : memory.schemes)
    line.bytes.push_back(bytes(scheme));
  return line;
}

/// The weights and what is trained of them, then activations, with their sums.
static std::vector<Line> makeLines(const MemoryReport &memory) {
  auto same = [](double bytes) {
    return [bytes](const SchemeReport &) { return std::optional(bytes); };
  };
  auto sum = [&](double activations) {
    return [&memory, activations](const SchemeReport &scheme) {
      return std::optional(scheme.total() + memory.constants + activations);
    };
  };
  using Bytes = std::optional<double>;
  std::vector<Line> lines = {
      makeLine("parameters", memory,
               [](const SchemeReport &s) { return Bytes(s.parameters); }),
      makeLine("gathered for a block", memory,
               [](const SchemeReport &s) { return Bytes(s.gathered); }),
      makeLine("master copies", memory,
               [](const SchemeReport &s) { return Bytes(s.masters); }),
      makeLine("gradients", memory,
               [](const SchemeReport &s) { return Bytes(s.gradients); }),
      makeLine("optimizer state", memory,
               [](const SchemeReport &s) { return s.state; }),
      makeLine("constants", memory, same(memory.constants)),
      makeLine("activations", memory, same(memory.activations)),
      makeLine("total", memory, sum(memory.activations))};
  if (memory.checkpointed) {
    lines.push_back(makeLine("checkpointed activations", memory,
                             same(memory.checkpointed->peak)));
    lines.push_back(makeLine("total, checkpointed", memory,
                             sum(memory.checkpointed->peak)));
  }
  bool lacksState = !memory.schemes.front().state;
  for (Line &line : lines) {
    bool isTotal = line.part.starts_with("total");
    line.atLeast = (memory.unknown && line.part.ends_with("activations")) ||
                   (isTotal && (memory.unknown || lacksState));
  }
  lines.push_back(makeLine("sent in a step", memory, [](const SchemeReport &s) {
    return Bytes(s.sent);
  }));
  return lines;
}

/// `8 ranks, adamw, 4 samples a pass, 2 passes a step`.
static std::string describeStep(const MemoryReport &memory) {
  std::string text = memory.ranks == 1
                         ? "one rank"
                         : "each of " + plural(memory.ranks, "rank");
  text += ", ";
  text += memory.optimizer.empty() ? "no optimizer declared" : memory.optimizer;
  if (memory.samples)
    text += ", " + plural(memory.samples, "sample") + " a pass";
  if (memory.passes > 1)
    text += ", " + std::to_string(memory.passes) + " passes a step";
  if (memory.shapedFor)
    text += " (the model's shapes are of " +
            plural(*memory.shapedFor, "sample") + ")";
  return text;
}

static std::string describeCheckpoints(const MemoryReport &memory) {
  if (!memory.checkpointed)
    return "no blocks that repeat, by the names of parameters, to be "
           "checkpointed";
  const MemoryReport::Checkpointed &its = *memory.checkpointed;
  return "checkpointed: " + plural(its.blocks, "block") + ", " + its.first +
         " to " + its.last + "; " + describeBytes(its.kept) +
         " stays, the rest is one block's" +
         (memory.checkpoints ? " (as configured)" : "");
}

/// A part's name in the list of activations, with the number of such parts.
static std::string describeSaved(const SavedReport &saved) {
  std::string text =
      saved.isTensor ? saved.name : "kept by the op of " + saved.name;
  return saved.count > 1 ? text + " (" + std::to_string(saved.count) + ")"
                         : text;
}

/// The verdict, the changes that make it fit, the longest pass.
static std::string describeFit(const MemoryReport &memory) {
  const MemoryReport::Fit &fit = *memory.fit;
  std::string text = fit.fits() ? "fits: " : "does not fit: ";
  text += describeBytes(fit.needed) + " of " + describeBytes(fit.budget);
  if (!fit.changes.empty())
    text += "; it does with " + llvm::join(fit.changes, " and ") + ": " +
            describeBytes(fit.changed);
  else if (!fit.fits())
    text += ", and neither shorter passes, checkpointing, 8-bit state nor more "
            "ranks make it fit";
  if (fit.most == 0 && fit.mostCheckpointed.value_or(0) == 0)
    text += "; as configured one sample is too many";
  else if (fit.most)
    text += "; a pass has room for " + plural(*fit.most, "sample");
  if (fit.most && fit.mostCheckpointed.value_or(0) > 0)
    text += ", checkpointed for " + std::to_string(*fit.mostCheckpointed);
  if (memory.unknown || !memory.schemes.front().state)
    text += "; unknown parts come on top";
  return text;
}

static void writeCell(llvm::raw_ostream &os, StringRef text) {
  os.indent(text.size() < kCellWidth ? kCellWidth - text.size() : 1) << text;
}

void TextReport::writeMemory(const MemoryReport &memory) {
  style.bold("memory");
  os << ": ";
  style.wrap(describeStep(memory), 4, 8);
  // One rank has nothing to share.
  size_t columns = memory.ranks == 1 ? 1 : memory.schemes.size();
  if (columns > 1) {
    os.indent(2 + kPartWidth);
    for (auto [index, scheme] : llvm::enumerate(memory.schemes))
      writeCell(os, memory.chosen == index ? "*" + scheme.name : scheme.name);
    os << '\n';
  }
  for (const Line &line : makeLines(memory)) {
    if (line.isZero())
      continue;
    os << "  " << line.part;
    os.indent(kPartWidth - line.part.size());
    for (const std::optional<double> &bytes :
         llvm::ArrayRef(line.bytes).take_front(columns))
      writeCell(os, describeCell(bytes, line.atLeast));
    os << '\n';
  }
  if (columns > 1 && memory.chosen) {
    os << "  ";
    style.dim("*: as configured");
    os << '\n';
  }
  if (memory.fit) {
    os << "  ";
    style.wrap(describeFit(memory), 4, 2);
  }
  if (memory.unknown) {
    os << "  ";
    style.wrap("without " + plural(memory.unknown, "tensor") +
                   " of unknown sizes: --dim and --input-shape say them",
               4, 2);
  }
  os << "  ";
  style.wrap(describeCheckpoints(memory), 4, 2);
  if (memory.weightCasts > 0) {
    os << "  ";
    style.wrap("casts of weights are " + describeBytes(memory.weightCasts) +
                   " of the activations",
               4, 2);
  }
  if (!memory.saved.empty())
    writeSaved(memory.saved);
}

void TextReport::writeSaved(llvm::ArrayRef<SavedReport> tensors) {
  os << "  largest activations\n";
  for (const SavedReport &saved : tensors.take_front(kMaxSaved)) {
    os << "  ";
    writeCell(os, describeBytes(saved.bytes));
    os << "  " << saved.dtype;
    os.indent(saved.dtype.size() < 5 ? 5 - saved.dtype.size() : 1);
    style.plain(describeSaved(saved));
    os << '\n';
  }
}
