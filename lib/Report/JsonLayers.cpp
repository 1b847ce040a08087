//===- JsonLayers.cpp - Layers of a step in FP8 as JSON
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/LayerReport.h"
#include "mpopt/Support/Blocks.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

#include <set>

using namespace mpopt;
using llvm::json::OStream;

static void writeSize(OStream &json, llvm::StringRef key, int64_t size) {
  json.attribute(key, size < 0 ? llvm::json::Value(nullptr) : size);
}

//===----------------------------------------------------------------------===//
// Layers to keep, as frameworks take them
//===----------------------------------------------------------------------===//

/// Megatron-LM keeps whole blocks, at either end: the fewest that hold all of
/// the modules. Its embeddings and output layer are in BF16 anyway. Nothing if
/// that would be all blocks.
static std::optional<std::string> megatronFlags(const Fp8Report &report,
                                                llvm::ArrayRef<size_t> layers) {
  int64_t count = 0;
  for (const LayerReport &layer : report.layers)
    count = std::max(count, getBlock(layer.module).value_or(-1) + 1);
  std::set<int64_t> blocks;
  for (size_t index : layers)
    if (auto block = getBlock(report.layers[index].module))
      blocks.insert(*block);
  int64_t start = 0, end = count;
  // Blocks before a cut are kept at the start, others at the end.
  for (int64_t cut = 0; cut <= count; ++cut) {
    auto after = blocks.lower_bound(cut);
    int64_t atStart = after == blocks.begin() ? 0 : *std::prev(after) + 1;
    int64_t atEnd = after == blocks.end() ? 0 : count - *after;
    if (atStart + atEnd < start + end) {
      start = atStart;
      end = atEnd;
    }
  }
  if (start + end >= count)
    return std::nullopt;
  if (blocks.empty())
    return "";
  return llvm::formatv("--first-last-layers-bf16 --num-layers-at-start-in-bf16 "
                       "{0} --num-layers-at-end-in-bf16 {1}",
                       start, end)
      .str();
}

/// `filter_fqns` of torchao and torchtitan take each module whose name has one
/// of them as a part; TransformerEngine's DisableFP8Layer a regular expression.
static void writeForms(OStream &json, const Fp8Report &report,
                       llvm::ArrayRef<size_t> layers) {
  std::set<std::string> names;
  for (size_t index : layers)
    names.insert(report.layers[index].module);
  auto writeNames = [&](llvm::StringRef key, auto &&list) {
    json.attributeArray(key, [&] {
      for (const std::string &name : list)
        json.value(jsonText(name));
    });
  };
  writeNames("filter_fqns", names);
  std::set<std::string> others;
  std::string pattern;
  for (const std::string &name : names) {
    for (const LayerReport &layer : report.layers)
      if (!names.count(layer.module) &&
          llvm::StringRef(layer.module).contains(name))
        others.insert(layer.module);
    pattern += (pattern.empty() ? "" : "|") + llvm::Regex::escape(name);
  }
  writeNames("also_taken", others);
  json.attribute("layer_name_regex_pattern",
                 names.empty() ? llvm::json::Value(nullptr)
                               : jsonText("^(" + pattern + ")$"));
  std::optional<std::string> flags = megatronFlags(report, layers);
  json.attribute("megatron", flags ? llvm::json::Value(*flags) : nullptr);
}

static void writeLayer(OStream &json, const LayerReport &layer) {
  json.attribute("op", jsonText(layer.op.name));
  json.attribute("type", jsonText(layer.op.type));
  json.attribute("output", jsonText(layer.output));
  json.attribute("weight", jsonText(layer.weight));
  writeSize(json, "m", layer.m);
  writeSize(json, "k", layer.k);
  writeSize(json, "n", layer.n);
  json.attribute("module", jsonText(layer.module));
  json.attribute("bf16", layer.kept);
  json.attribute("fits", layer.fits);
  json.attribute("effect", jsonNumber(layer.effect));
  for (const LayerReport::Product &product : layer.products)
    json.attributeObject(product.name, [&] {
      if (!product.isComputed)
        json.attribute("computed", false);
      json.attribute("snr_db", jsonNumber(product.decibels));
      for (const LayerReport::Operand &operand : product.operands)
        json.attributeObject(operand.role, [&] {
          json.attribute("clipped", operand.clipped);
          json.attribute("flushed", operand.flushed);
          json.attribute("zero", operand.zero);
        });
    });
}

void mpopt::writeLayers(OStream &json, const Fp8Report &report) {
  json.attribute("recipe", report.recipe);
  json.attribute("sampled", report.isSampled);
  json.attributeArray("gemms", [&] {
    for (const LayerReport &layer : report.layers)
      json.object([&] { writeLayer(json, layer); });
  });
  json.attributeArray("recommended", [&] {
    for (const Fp8Report::Choice &choice : report.recommended)
      json.object([&] {
        json.attribute("max_error", choice.aim);
        json.attribute("target", choice.device);
        json.attribute("recipe", choice.recipe
                                     ? llvm::json::Value(*choice.recipe)
                                     : nullptr);
      });
  });
  json.attributeArray("keep", [&] {
    for (const Fp8Report::Kept &kept : report.keep)
      if (kept.layers)
        json.object([&] {
          json.attribute("max_error", kept.aim);
          json.attributeArray("gemms", [&] {
            for (size_t index : *kept.layers)
              json.value(jsonText(report.layers[index].output));
          });
          writeForms(json, report, *kept.layers);
        });
  });
}
