//===- Optimizers.cpp - Optimizers by their names in frameworks ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConfigReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mpopt;

/// Names as PyTorch, Hugging Face (`OptimizerNames`), DeepSpeed, Apex and
/// bitsandbytes have them, in lower case and without `_` and `-`.
static StringRef findFamily(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"sgd", "nag"}, "sgd")
      .Cases({"adam", "fusedadam", "cpuadam", "deepspeedcpuadam", "adam8bit",
              "onebitadam", "zerooneadam"},
             "adam")
      .Cases({"adamw", "adamwhf", "adamwtorch", "adamwtorchfused",
              "adamwtorchxla", "adamwtorchnpufused", "adamwapexfused"},
             "adamw")
      .Cases({"adamwanyprecision", "adamwbnb8bit", "adamw8bit", "adamw32bit",
              "adamwtorch8bit", "adamwtorch4bit", "pagedadamw",
              "pagedadamw32bit", "pagedadamw8bit"},
             "adamw")
      .Case("adafactor", "adafactor")
      .Cases({"lion", "lion8bit", "lion32bit", "pagedlion", "pagedlion32bit",
              "pagedlion8bit", "fusedlion", "cpulion"},
             "lion")
      .Cases({"lamb", "fusedlamb", "onebitlamb"}, "lamb")
      .Cases({"rmsprop", "rmspropbnb", "rmspropbnb8bit", "rmspropbnb32bit"},
             "rmsprop")
      .Cases({"adagrad", "cpuadagrad", "deepspeedcpuadagrad"}, "adagrad")
      .Default("");
}

bool mpopt::setOptimizer(StringRef name, TrainOptimizer &into) {
  // `torch.optim.AdamW`.
  std::string plain = name.rsplit('.').second.empty()
                          ? name.lower()
                          : name.rsplit('.').second.lower();
  llvm::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  StringRef family = findFamily(plain);
  if (family.empty())
    return false;
  fillIn(into.name, family.str());
  if (StringRef(plain).ends_with("8bit"))
    fillIn(into.state, TrainType::Int8);
  if (StringRef(plain).ends_with("4bit"))
    fillIn(into.state, TrainType::Int4);
  // Its moments are BF16 unless its arguments say otherwise.
  if (plain == "adamwanyprecision")
    fillIn(into.state, TrainType::BF16);
  return true;
}

void mpopt::fillTorchOptimizer(TrainOptimizer &optimizer) {
  StringRef name = optimizer.name ? StringRef(*optimizer.name) : "";
  if (name == "adam" || name == "adamw" || name == "lamb") {
    fillIn(optimizer.learningRate, 1e-3);
    fillIn(optimizer.beta1, 0.9);
    fillIn(optimizer.beta2, 0.999);
    fillIn(optimizer.epsilon, name == "lamb" ? 1e-6 : 1e-8);
    fillIn(optimizer.weightDecay, name == "adamw" ? 0.01 : 0.0);
  } else if (name == "sgd") {
    fillIn(optimizer.learningRate, 1e-3);
    fillIn(optimizer.momentum, 0.0);
    fillIn(optimizer.weightDecay, 0.0);
  }
}
