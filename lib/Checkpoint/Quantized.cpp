//===- Quantized.cpp - Which tensor scales which --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names: modelopt/torch/export/quant_utils.py, compressed_tensors/quantization/
// lifecycle/initialize.py, transformers/integrations/finegrained_fp8.py,
// vllm/model_executor/layers/quantization.
//
//===----------------------------------------------------------------------===//

#include "Quantized.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpopt;
using namespace mpopt::checkpoints;
using llvm::StringRef;

namespace {
struct ScaleWord {
  StringRef word;
  ScaleRole role;
  bool divides = false;
};
} // namespace

// The last part of a name, behind a dot or an underline: the longer ones first,
// of which others are the end. Global scales of compressed-tensors divide.
static constexpr ScaleWord kScaleWords[] = {
    {"weight_scale_inv", ScaleRole::Weight},
    {"weight_global_scale", ScaleRole::Second, true},
    {"input_global_scale", ScaleRole::Input, true},
    {"weight_scale_2", ScaleRole::Second},
    {"weight_scale", ScaleRole::Weight},
    {"scale_weight", ScaleRole::Weight},
    {"activation_scale", ScaleRole::Input},
    {"input_scale", ScaleRole::Input},
    {"scale_input", ScaleRole::Input},
    {"act_scale", ScaleRole::Input},
    {"output_scale", ScaleRole::Output},
    {"q_scale", ScaleRole::Query},
    {"k_scale", ScaleRole::Key},
    {"v_scale", ScaleRole::Value},
    {"scale_inv", ScaleRole::Weight},
    {"scales", ScaleRole::Weight},
    {"scale", ScaleRole::Weight}};
// Names in compressed-tensors, in every other format and in gpt-oss.
static constexpr StringRef kCodeWords[] = {"weight_packed", "weight", "blocks"};

// The shards that vLLM and SGLang join (`packed_modules_mapping`,
// `stacked_params_mapping`).
static constexpr std::array<StringRef, 3> kJoined[] = {
    {"q_proj", "k_proj", "v_proj"},
    {"gate_proj", "up_proj", ""},
    {"w1", "w3", ""},
    {"query", "key", "value"},
    {"to_q", "to_k", "to_v"},
    {"wq", "wk", "wv"},
    {"in_proj_qkv", "in_proj_z", ""}};

static bool consumeWord(StringRef &name, StringRef word) {
  if (!name.ends_with(word) || name.size() <= word.size() + 1)
    return false;
  char before = name[name.size() - word.size() - 1];
  if (before != '.' && before != '_')
    return false;
  name = name.drop_back(word.size() + 1);
  return true;
}

/// Words for codes; blocks of four bits lie two in a byte.
static bool holdsCodes(const StoredTensor &tensor) {
  return llvm::is_contained(
      {"F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I8", "U8", "F4"},
      tensor.dtype->word);
}

Modules checkpoints::findModules(const Checkpoint &checkpoint) {
  Modules modules;
  for (const StoredTensor &tensor : checkpoint.tensors()) {
    StringRef name = tensor.name;
    const auto *scale = llvm::find_if(kScaleWords, [&](const ScaleWord &word) {
      return consumeWord(name, word.word);
    });
    if (scale != std::end(kScaleWords)) {
      modules[name.str()].scales[size_t(scale->role)] = {&tensor,
                                                         scale->divides};
      continue;
    }
    if (!holdsCodes(tensor))
      continue;
    for (StringRef word : kCodeWords)
      if (consumeWord(name, word))
        break;
    modules[name.str()].codes = &tensor;
  }
  // Bytes without a scale of any kind are masks or bitsandbytes' states.
  for (auto &[name, module] : modules)
    if (module.codes && module.codes->dtype->name.contains("i8") &&
        !module.of(ScaleRole::Weight))
      module.codes = nullptr;
  // A norm's `scale` is a parameter like others.
  std::erase_if(modules, [](const auto &entry) {
    const Module &module = entry.second;
    return !module.codes && !module.of(ScaleRole::Query) &&
           !module.of(ScaleRole::Key) && !module.of(ScaleRole::Value);
  });
  return modules;
}

std::string checkpoints::maskNumbers(StringRef name, bool lastOnly) {
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '.');
  std::string masked;
  bool isDone = false;
  for (StringRef part : llvm::reverse(parts)) {
    bool isNumber = !part.empty() && llvm::all_of(part, llvm::isDigit);
    bool masks = isNumber && !(lastOnly && isDone);
    isDone |= masks;
    masked = (masks ? StringRef("*") : part).str() +
             (masked.empty() ? "" : ".") + masked;
  }
  return masked;
}

unsigned checkpoints::countNumbers(StringRef name) {
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '.');
  return llvm::count_if(parts, [](StringRef part) {
    return !part.empty() && llvm::all_of(part, llvm::isDigit);
  });
}

std::vector<std::vector<std::string>>
checkpoints::findJoined(const Modules &modules) {
  std::vector<std::vector<std::string>> groups;
  for (const auto &[name, module] : modules)
    for (const auto &family : kJoined) {
      StringRef scope = name;
      if (!scope.consume_back(family[0]) ||
          !(scope.empty() || scope.ends_with(".")))
        continue;
      std::vector<std::string> group;
      for (StringRef shard : family)
        if (std::string other = scope.str() + shard.str();
            !shard.empty() && modules.contains(other))
          group.push_back(other);
      if (group.size() > 1)
        groups.push_back(std::move(group));
    }
  return groups;
}
