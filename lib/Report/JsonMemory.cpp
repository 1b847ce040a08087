//===- JsonMemory.cpp - Bytes of a training step as JSON
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/MemoryReport.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

/// Whole bytes.
static llvm::json::Value bytes(double value) {
  return value < 9e15 ? llvm::json::Value(int64_t(std::ceil(value)))
                      : llvm::json::Value(value);
}

/// `zero_1`.
static std::string keyOf(StringRef scheme) {
  std::string key = scheme.lower();
  llvm::replace(key, ' ', '_');
  return key;
}

static void writeScheme(OStream &json, const SchemeReport &scheme) {
  json.attribute("parameters", bytes(scheme.parameters));
  json.attribute("gathered", bytes(scheme.gathered));
  json.attribute("master_copies", bytes(scheme.masters));
  json.attribute("gradients", bytes(scheme.gradients));
  json.attribute("optimizer_state",
                 scheme.state ? bytes(*scheme.state) : nullptr);
  json.attribute("sent", bytes(scheme.sent));
}

static void writeFit(OStream &json, const MemoryReport::Fit &fit) {
  auto samples = [](std::optional<int64_t> count) {
    return count ? llvm::json::Value(*count) : nullptr;
  };
  json.attributeObject("fit", [&] {
    json.attribute("budget", bytes(fit.budget));
    json.attribute("needed", bytes(fit.needed));
    json.attribute("fits", fit.fits());
    json.attributeArray("changes", [&] {
      for (const std::string &change : fit.changes)
        json.value(change);
    });
    json.attribute("changed",
                   fit.changes.empty() ? nullptr : bytes(fit.changed));
    json.attribute("most_samples", samples(fit.most));
    json.attribute("most_samples_checkpointed", samples(fit.mostCheckpointed));
  });
}

void mpopt::writeMemory(OStream &json, const MemoryReport &memory) {
  json.attributeObject("memory", [&] {
    json.attribute("ranks", memory.ranks);
    json.attribute("passes", memory.passes);
    json.attribute("samples", memory.samples ? llvm::json::Value(memory.samples)
                                             : nullptr);
    json.attribute("optimizer", memory.optimizer.empty()
                                    ? llvm::json::Value(nullptr)
                                    : jsonText(memory.optimizer));
    json.attribute("configured", memory.chosen
                                     ? llvm::json::Value(keyOf(
                                           memory.schemes[*memory.chosen].name))
                                     : nullptr);
    json.attributeObject("sharding", [&] {
      for (const SchemeReport &scheme : memory.schemes)
        json.attributeObject(keyOf(scheme.name),
                             [&] { writeScheme(json, scheme); });
    });
    if (memory.fit)
      writeFit(json, *memory.fit);
    json.attribute("constants", bytes(memory.constants));
    json.attributeObject("activations", [&] {
      json.attribute("saved", bytes(memory.activations));
      json.attribute("weight_casts", bytes(memory.weightCasts));
      json.attribute("unknown", memory.unknown);
      if (memory.checkpointed)
        json.attributeObject("checkpointed", [&] {
          json.attribute("configured", memory.checkpoints);
          json.attribute("blocks", memory.checkpointed->blocks);
          json.attribute("kept", bytes(memory.checkpointed->kept));
          json.attribute("peak", bytes(memory.checkpointed->peak));
        });
      else
        json.attribute("checkpointed", nullptr);
      json.attributeArray("tensors", [&] {
        for (const SavedReport &saved : memory.saved)
          json.object([&] {
            json.attribute("name", jsonText(saved.name));
            json.attribute("dtype", saved.dtype);
            json.attribute("count", saved.count);
            json.attribute("bytes", bytes(saved.bytes));
            json.attribute("beside", !saved.isTensor);
          });
      });
    });
  });
}
