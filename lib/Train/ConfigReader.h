//===- ConfigReader.h - What the readers of formats share -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_TRAIN_CONFIGREADER_H
#define MPOPT_LIB_TRAIN_CONFIGREADER_H

#include "ConfigNode.h"

#include "mpopt/Train/TrainConfig.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

#include <memory>

namespace mpopt {

/// The result that grows, and the first fault, after which readers may go on
/// but change nothing that is seen.
class ConfigReader {
public:
  explicit ConfigReader(llvm::StringRef origin) : origin(origin.str()) {}

  TrainConfig config;

  void fail(llvm::StringRef path, const llvm::Twine &message);
  void warn(llvm::StringRef path, const llvm::Twine &message);
  bool failed() const { return !failure.empty(); }
  llvm::Expected<TrainConfig> finish();

private:
  std::string origin, failure;
};

/// Numbers that a key takes.
enum class Numbers { Any, NotNegative, Positive, Fraction };

/// One map of the file; it knows which of its keys somebody asked for. A key
/// whose value is null, or which the format leaves open (`auto`, a variable
/// that the script does not set), counts as missing.
class Section {
public:
  Section(ConfigReader &reader, const ConfigNode *map, std::string path = "");

  explicit operator bool() const { return map; }
  const std::string &getPath() const { return path; }
  std::string pathOf(llvm::StringRef key) const { return joinKey(path, key); }

  /// The value of a key that is there and not open.
  const ConfigNode *take(llvm::StringRef key) const;
  /// True if the key is there, with or without a value.
  bool has(llvm::StringRef key) const;
  /// True if the file leaves the key open explicitly.
  bool isOpen(llvm::StringRef key) const;
  /// The map below a key, empty if it is missing; another value is an error.
  Section section(llvm::StringRef key) const;

  std::optional<double> number(llvm::StringRef key,
                               Numbers kind = Numbers::Any) const;
  std::optional<int64_t> integer(llvm::StringRef key, int64_t least) const;
  std::optional<bool> truth(llvm::StringRef key) const;
  /// A scalar as it is spelled; `false` of an unquoted `no` is "no".
  std::optional<std::string> word(llvm::StringRef key) const;
  std::optional<TrainType> type(llvm::StringRef key) const;
  std::optional<std::vector<std::string>> words(llvm::StringRef key) const;
  /// Two numbers in [0, 1), as a list or separated by commas.
  void betas(llvm::StringRef key, TrainOptimizer &into) const;

  void fail(llvm::StringRef key, const llvm::Twine &message) const {
    reader.fail(pathOf(key), message);
  }
  void warn(llvm::StringRef key, const llvm::Twine &message) const {
    reader.warn(pathOf(key), message);
  }
  /// The key as the file spells it: `--fp8-format`, `float8.recipe_name`.
  std::string spell(llvm::StringRef key) const;
  /// The same with its line, or the line of the map that lacks it.
  TrainKey keyOf(llvm::StringRef key) const;
  /// Tells of a setting by a rule, whose name is given.
  void blame(llvm::StringRef rule, llvm::StringRef key,
             const llvm::Twine &text) const;

  /// Marks keys that are understood and change nothing.
  void ignore(llvm::ArrayRef<llvm::StringRef> keys) const;
  /// Warns of each key that nobody asked for.
  void warnOfOthers() const;
  /// The same of those whose name says that they concern precision, the loss
  /// scale, the optimizer, the reduction or sharding.
  void warnOfNumericalOthers() const;

private:
  ConfigReader &reader;
  const ConfigNode *map;
  std::string path;
  std::shared_ptr<llvm::StringSet<>> known;
};

/// Sets what is not set.
template <typename T>
void fillIn(std::optional<T> &into, const std::optional<T> &value) {
  if (!into)
    into = value;
}
template <typename T> void fillIn(std::optional<T> &into, const T &value) {
  if (!into)
    into = value;
}

/// The arguments of a framework's dynamic scaler.
struct DynamicScaler {
  double initial, growth, backoff;
  int64_t interval, hysteresis;
  double minimum;
};
/// torch.amp.GradScaler's, which halves down to 0.
inline constexpr DynamicScaler kGradScaler{65536, 2, 0.5, 2000, 1, 0};
/// DeepSpeed's.
inline constexpr DynamicScaler kDeepSpeedScaler{65536, 2, 0.5, 1000, 2, 1};
/// Makes a scaler dynamic that is of no kind yet, and gives a dynamic one those
/// values where it has none.
void fillScaler(TrainScaler &scaler, const DynamicScaler &values);

/// Reads the name of an optimizer in a framework; true if it is understood.
bool setOptimizer(llvm::StringRef name, TrainOptimizer &into);
/// PyTorch's defaults of the named optimizer.
void fillTorchOptimizer(TrainOptimizer &optimizer);

/// `sharding_strategy` or `fsdp` of HF, Accelerate and Lightning as a stage.
std::optional<int64_t> parseFsdpStrategy(llvm::StringRef name);
/// The policy that FSDP uses under the precision of HF and Accelerate.
void fillFsdpTypes(TrainConfig &config, TrainType type);

/// The file around a DeepSpeed section, which decides its `auto` values.
struct DeepSpeedContext {
  std::optional<bool> fp16, bf16;
};
void readDeepSpeed(ConfigReader &reader, const Section &top,
                   const DeepSpeedContext &context = {});
/// DeepSpeed's dtypes for parameters of 16 bits.
void fillDeepSpeedTypes(TrainConfig &config, TrainType type);

void readOwnConfig(ConfigReader &reader, const Section &top);
void readHuggingFace(ConfigReader &reader, const Section &top);
void readAccelerate(ConfigReader &reader, const Section &top);
void readMegatron(ConfigReader &reader, const Section &flags);
void readLightning(ConfigReader &reader, const Section &top);
void readTorchtitan(ConfigReader &reader, const Section &top);
void readTorchao(ConfigReader &reader, const Section &top);
/// TransformerEngine's recipes by their fields.
void readFp8Recipe(ConfigReader &reader, const Section &top);

/// Derives what the other sizes of a batch give; an error at `key` if they do
/// not multiply up.
void completeBatch(ConfigReader &reader, llvm::StringRef key);

} // namespace mpopt

#endif // MPOPT_LIB_TRAIN_CONFIGREADER_H
