//===- Siblings.cpp - MP617 and MP618: scales beside other scales ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Judge.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::checkpoints;

static bool isUsable(double value) { return value > 0 && std::isfinite(value); }

/// The median of logarithms to base 2.
static double medianOf(std::vector<double> &values) {
  llvm::sort(values);
  return values[values.size() / 2];
}

/// Weights far from what networks hold, and weights and inputs far from those
/// of other layers.
void Judge::judgeMagnitudes() {
  std::map<std::string, std::vector<double>> weights, inputs;
  for (const auto &[name, reading] : readings) {
    if (isUsable(reading.scales * reading.codes))
      weights[maskNumbers(name)].push_back(
          std::log2(reading.scales * reading.codes));
    if (double scale = reading.of(ScaleRole::Input); isUsable(scale))
      inputs[maskNumbers(name)].push_back(std::log2(scale));
  }
  for (const auto &[name, reading] : readings) {
    const Module &module = modules[name];
    double rms = reading.scales * reading.codes;
    if (Scale scale = module.of(ScaleRole::Weight); scale && isUsable(rms)) {
      // Weights have a deviation near 1 over the root of their number of terms,
      // which gains of norms move by a few powers of two.
      double inverse = reading.codes / reading.scales;
      std::vector<double> &others = weights[maskNumbers(name)];
      double distance = std::log2(rms) - medianOf(others);
      // Chosen, not measured: 64 times is beyond what initialisations and
      // residual scaling by depth (1 / sqrt(2 n) for n layers) put between
      // layers of one kind.
      constexpr double kFar = 6;
      if (rms > 0x1p8 && inverse < 0x1p2) {
        report("scale-mismatch", name, *scale.tensor,
               "makes weights of a root mean square of " + text(rms) +
                   "; its inverse makes " + text(inverse) +
                   ": the scale is inverted");
      } else if (others.size() >= 4 && std::fabs(distance) > kFar) {
        Finding *finding = report(
            "scale-mismatch", name, *scale.tensor,
            "makes weights " + text(std::exp2(std::fabs(distance))) +
                " times as " + (distance > 0 ? "large" : "small") +
                " as those of the " + std::to_string(others.size() - 1) +
                " other layers of its kind: the scale is of another tensor");
        finding->certainty = Certainty::Likely;
      }
    }
    double input = reading.of(ScaleRole::Input);
    Scale scale = module.of(ScaleRole::Input);
    if (!scale || !isUsable(input) || scale.divides || !reading.format)
      continue;
    // 448 times the scale is the largest input; FP16 holds no larger one than
    // 65504. Inverted it is near that of other layers.
    std::vector<double> &others = inputs[maskNumbers(name)];
    double usual = medianOf(others),
           top = reading.format->magnitude[reading.format->top];
    double largest = top * input;
    double inverse = std::fabs(-std::log2(input) - usual);
    if (others.size() > 1 && inverse < 3 && std::log2(input) - usual > 8 &&
        largest > 32768)
      report("scale-mismatch", name, *scale.tensor,
             "is for inputs up to " + text(largest) +
                 "; its inverse is that of other layers: the scale is inverted")
          ->certainty = Certainty::Likely;
  }
}

/// Scales of keys and values beside each other, and each by itself.
void Judge::judgeCaches() {
  for (const auto &[name, reading] : readings) {
    const Module &module = modules[name];
    for (ScaleRole role : {ScaleRole::Key, ScaleRole::Value}) {
      double scale = reading.of(role);
      // Chosen, not measured: keys of 1792 and more, whose products leave FP16,
      // against at most 112 of the inverse.
      constexpr double kLeast = 4;
      if (!isUsable(scale) || scale < kLeast || module.of(role).divides)
        continue;
      // The largest number of E4M3, in which caches are stored.
      constexpr double kLargestE4M3 = 448;
      report("scale-mismatch", name, *module.of(role).tensor,
             "is for numbers up to " + text(kLargestE4M3 * scale) +
                 "; its inverse is for those up to " +
                 text(kLargestE4M3 / scale) + ": the scale is inverted")
          ->certainty = Certainty::Likely;
    }
    // DeepSeek's attention stores one row, which is read as key and as value.
    double key = reading.of(ScaleRole::Key),
           value = reading.of(ScaleRole::Value);
    if (isUsable(key) && isUsable(value) && key != value &&
        checkpoint.find(name + ".kv_b_proj.weight"))
      report("merged-scales", name, *module.of(ScaleRole::Value).tensor,
             "is " + text(value) + " and that of the key " + text(key) +
                 ": the attention stores one latent row for both (kv_b_proj), "
                 "which cannot have two scales");
  }
}

void Judge::judgeJoined(llvm::ArrayRef<std::string> group) {
  judgeJoinedScales(group);
  judgeJoinedInputs(group);
}

/// Shards that become one matrix keep one scale, the largest.
void Judge::judgeJoinedScales(llvm::ArrayRef<std::string> group) {
  for (ScaleRole role : {ScaleRole::Weight, ScaleRole::Second}) {
    double most = 0;
    std::string of;
    bool isWhole = true;
    for (const std::string &name : group) {
      const Reading &reading = readings[name];
      double scale = reading.of(role);
      isWhole &= isUsable(scale) && modules[name].codes &&
                 (role == ScaleRole::Second || !reading.byRank.empty());
      if (scale > most) {
        most = scale;
        of = name;
      }
    }
    if (!isWhole)
      continue;
    for (const std::string &name : group) {
      const Reading &reading = readings[name];
      Scale scale = modules[name].of(role);
      double factor = most / reading.of(role);
      if (factor == 1)
        continue;
      if (role == ScaleRole::Second) {
        // Block scales stay, and the common one is replaced: NVFP4 in vLLM and
        // SGLang. What that changes is more than FP4's own rounding from a
        // quarter on.
        if (factor < 1.25)
          continue;
        report("merged-scales", name, *scale.tensor,
               "servers read this shard with the largest of the group, " +
                   text(most) + " of " + of + ", in place of " +
                   text(reading.of(role)) + ": its weights become " +
                   text(factor) +
                   (scale.divides
                        ? " times as small, since these numbers divide"
                        : " times as large"))
            ->severity = Severity::Error;
        continue;
      }
      double flushed = 0, all = 0;
      for (unsigned rank = 1; rank < reading.byRank.size(); ++rank) {
        all += reading.byRank[rank];
        if (reading.format->magnitude[rank] / factor <= reading.format->flushAt)
          flushed += reading.byRank[rank];
      }
      double share = all ? flushed / all : 0;
      if (share < request.threshold("merged-flushed-share"))
        continue;
      Finding *finding =
          report("merged-scales", name, *scale.tensor,
                 "a server that keeps one scale for the group takes that of " +
                     of + ", which is " + text(factor) + " times this one: " +
                     percent(share) + " of the shard's weights become 0");
      if (share >= 0.5)
        finding->severity = Severity::Error;
    }
  }
}

/// Shards of one group read the same tensor.
void Judge::judgeJoinedInputs(llvm::ArrayRef<std::string> group) {
  double most = 0;
  std::string of;
  for (const std::string &name : group)
    if (double scale = readings[name].of(ScaleRole::Input); isUsable(scale))
      if (scale > most) {
        most = scale;
        of = name;
      }
  // Chosen, not measured: both calibrations see the same tensor, and 16 times
  // is half of the span of E4M3's normal numbers to either side.
  constexpr double kMostApart = 16;
  for (const std::string &name : group) {
    double scale = readings[name].of(ScaleRole::Input);
    if (!isUsable(scale) || most / scale < kMostApart)
      continue;
    bool isInverted = std::fabs(std::log2(most * scale)) < 0.1;
    report(
        "scale-mismatch", name, *modules[name].of(ScaleRole::Input).tensor,
        "is " + text(scale) + ", and that of " + of +
            ", which reads the same "
            "tensor, " +
            text(most) +
            (isInverted ? ": one is inverted" : ": one is of another tensor"));
  }
}
