//===- HostileConfigTest.cpp - Configurations of any origin ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Configs.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <random>

using namespace mpopt;

static std::string repeated(llvm::StringRef text, unsigned count) {
  std::string result;
  for (unsigned index = 0; index < count; ++index)
    result += text;
  return result;
}

TEST(HostileConfig, isNoConfiguration) {
  EXPECT_EQ(errorOf(""), "FILE: is empty");
  EXPECT_EQ(errorOf(" \n"), "FILE: is empty");
  EXPECT_EQ(errorOf("[1, 2]"),
            "FILE: is not a training configuration: must be an object");
  EXPECT_EQ(errorOf("just words"),
            "FILE: is not a training configuration: must be an object");
  EXPECT_EQ(errorOf("{\"a\": 1}").substr(0, 45),
            "FILE: is no training configuration that is kn");
  EXPECT_EQ(errorOf(llvm::StringRef("fp16: true\0", 11)),
            "FILE: holds a NUL byte: it is not a text");
  EXPECT_EQ(errorOf(repeated("a", (4 << 20) + 1)),
            "FILE: is too large to be a training configuration");
}

TEST(HostileConfig, isBrokenJson) {
  EXPECT_EQ(errorOf("{\"fp16\": tru").substr(0, 22), "FILE: is not JSON: [1:");
  EXPECT_EQ(errorOf(repeated("{\"a\":", 100000)).substr(0, 24),
            "FILE: is nested too deep");
  EXPECT_EQ(errorOf(repeated("[", 100000)).substr(0, 24),
            "FILE: is nested too deep");
}

TEST(HostileConfig, repeatsAKey) {
  EXPECT_EQ(errorOf(R"({"fp16": {"enabled": true, "enabled": false}})"),
            "FILE: fp16.enabled: is given twice");
  EXPECT_EQ(errorOf(R"({"fp16": true, "x": [{"b": 1}, {"b": 2}],
                        "fp\u00316": false})"),
            "FILE: fp16: is given twice");
  EXPECT_EQ(errorOf("trainer:\n  precision: 16\n  precision: 32\n"),
            "FILE: trainer.precision: is given twice");
}

TEST(HostileConfig, isBrokenYaml) {
  EXPECT_EQ(errorOf("fp16: [true\n").substr(0, 18), "FILE: is not YAML:");
  EXPECT_EQ(errorOf("fp16: *x\n"),
            "FILE: fp16: the alias '*x' has no anchor before it");
  EXPECT_EQ(errorOf("a: &a [*a]\n"),
            "FILE: a[0]: the alias '*a' has no anchor before it");
  EXPECT_EQ(errorOf("fp16: true\n---\nbf16: true\n"),
            "FILE: holds more than one YAML document");
  EXPECT_EQ(errorOf("fp16: " + repeated("[", 50000)),
            "FILE: is nested too deep to be a configuration");
  EXPECT_EQ(errorOf("fp16: " + repeated("{a: ", 50000)),
            "FILE: is nested too deep to be a configuration");
  EXPECT_EQ(errorOf(repeated("- ", 50000)),
            "FILE: is nested too deep to be a configuration");
}

TEST(HostileConfig, isABombOfAliases) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 12; ++level) {
    std::string below = "*a" + std::to_string(level - 1);
    std::string name = "a" + std::to_string(level);
    text += name + ": &" + name + " [" + below;
    for (int copy = 0; copy < 9; ++copy)
      text += ", " + below;
    text += "]\n";
  }
  EXPECT_EQ(errorOf(text), "FILE: holds more than 100000 values, those that "
                           "aliases repeat included");
}

TEST(HostileConfig, sharesByAliases) {
  TrainConfig config = parsed(R"(
base: &base {gradient_clip_val: 2, precision: 32}
trainer:
  <<: *base
  precision: bf16-mixed
)");
  EXPECT_EQ(config.clip, 2);
  EXPECT_EQ(config.precision, "autocast-bf16");
}

TEST(HostileConfig, hasHugeNumbers) {
  EXPECT_EQ(errorOf(R"({"output_dir": "x", "learning_rate": 1e999})"),
            "FILE: learning_rate: must be a number of at least 0");
  EXPECT_EQ(errorOf("output_dir: x\nlearning_rate: .nan\n"),
            "FILE: learning_rate: must be a number of at least 0");
  EXPECT_EQ(errorOf(R"({"train_batch_size": 1e30})"),
            "FILE: train_batch_size: must be an integer of at least 1");
  EXPECT_EQ(errorOf(R"({"train_batch_size": 9007199254740992,
                        "train_micro_batch_size_per_gpu": 9007199254740991,
                        "gradient_accumulation_steps": 9007199254740991})")
                .substr(0, 22),
            "FILE: train_batch_size");
  EXPECT_EQ(errorOf("--nproc-per-node 99999999999999999999"),
            "FILE: nproc-per-node: must be an integer of at least 1");
}

TEST(HostileConfig, hasUnprintableKeys) {
  std::string error =
      errorOf("{\"fp16\": {\"enabled\": true}, "
              "\"zero_optimization\": {\"stage\": \"\\n\\u0007\"}}");
  EXPECT_EQ(error, "FILE: zero_optimization.stage: must be an integer of at "
                   "least 0");
  std::string key = "fp16_\\n" + repeated("x", 1000);
  Warnings warnings =
      parsed("{\"output_dir\": 1, \"" + key + "\": 1}").warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_LT(warnings[0].size(), 150u);
  EXPECT_EQ(warnings[0].find('\n'), std::string::npos);
}

/// Texts that are cut, joined and damaged give a result or one line.
TEST(HostileConfig, survivesDamage) {
  const llvm::StringRef seeds[] = {
      "trainer:\n  precision: 16\n  devices: [0, 1]\n  strategy: {class_path: "
      "FSDPStrategy, init_args: {sharding_strategy: FULL_SHARD}}\n",
      "compute_environment: LOCAL\nfsdp_config: &x\n  a: 'b'\n  c: \"d\\n\"\n"
      "deepspeed_config: *x\nmixed_precision: |\n  fp16\n",
      "#!/bin/sh\nA=8\n--fp16 --lr ${A:-1} --loss-scale=$A \\\n --bf16",
      "{\"fp16\": {\"enabled\": true, \"loss_scale\": 0}, \"optimizer\": "
      "{\"type\": \"Adam\", \"params\": {\"betas\": [0.9, 0.99]}}}",
      "schema: mpopt-train-config/1\nloss: {terms: [{kind: mse}]}\nscaler: "
      "8\nbatch: {micro: 1}\n? a\n: b\n- c\n%YAML 1.1\n!!str x: &y z\n"};
  const llvm::StringRef pieces[] = {
      "{",  "}",      "[",    "]",    ":",     "- ",    "\n", "\t",   "&a ",
      "*a", "!!str ", "'",    "\"",   "\\",    "|",     ">",  "? ",   "# ",
      "$",  "auto",   "null", "--x ", "---\n", "...\n", "%",  "\xff", ","};
  std::mt19937 random(7);
  auto upTo = [&](size_t most) { return size_t(random() % (most + 1)); };
  for (int round = 0; round < 20000; ++round) {
    std::string text = seeds[upTo(std::size(seeds) - 1)].str();
    for (size_t edit = upTo(4); edit-- > 0;) {
      size_t place = upTo(text.size());
      switch (upTo(2)) {
      case 0:
        text.erase(place, upTo(8));
        break;
      case 1:
        text.insert(place, pieces[upTo(std::size(pieces) - 1)].str());
        break;
      case 2:
        text.insert(place, text.substr(upTo(text.size() - 1), upTo(30)));
        break;
      }
      if (text.empty())
        text = ":";
    }
    llvm::Expected<TrainConfig> config = parseTrainConfig(text, "FILE");
    if (config)
      continue;
    std::string error = llvm::toString(config.takeError());
    ASSERT_TRUE(llvm::StringRef(error).starts_with("FILE: ")) << text;
    ASSERT_EQ(error.find('\n'), std::string::npos) << text;
  }
}

TEST(HostileConfig, readsFiles) {
  llvm::Expected<TrainConfig> missing = readTrainConfig("/nonexistent.json");
  ASSERT_FALSE(bool(missing));
  EXPECT_TRUE(llvm::StringRef(llvm::toString(missing.takeError()))
                  .contains("/nonexistent.json"));
  llvm::SmallString<128> path;
  int file;
  ASSERT_FALSE(
      llvm::sys::fs::createTemporaryFile("config", "json", file, path));
  llvm::raw_fd_ostream(file, /*shouldClose=*/true)
      << "\xef\xbb\xbf{\"bf16\": {\"enabled\": true, \"enabled\": true}}";
  llvm::Expected<TrainConfig> config = readTrainConfig(path);
  ASSERT_FALSE(bool(config));
  EXPECT_EQ(llvm::toString(config.takeError()),
            (path + ": bf16.enabled: is given twice").str());
  llvm::sys::fs::remove(path);
}
