//===- ConfigNode.h - The tree of a JSON, YAML or argument file -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_TRAIN_CONFIGNODE_H
#define MPOPT_LIB_TRAIN_CONFIGNODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mpopt {

struct ConfigEntry;

struct ConfigNode {
  enum class Kind { Null, Bool, Number, String, List, Map };

  Kind kind = Kind::Null;
  bool truth = false;
  double number = 0;
  /// A scalar as the file spells it, without quotes.
  std::string text;
  std::vector<ConfigNode> items;
  /// In the order of the file; no key occurs twice.
  std::vector<ConfigEntry> entries;
  /// The line of the file, counted from 1; 0 if it is not known.
  unsigned line = 0;
  /// Nodes of the tree below and including this one.
  size_t size = 1;

  bool isMap() const { return kind == Kind::Map; }
  bool isString() const { return kind == Kind::String; }
  bool isScalar() const {
    return kind != Kind::List && kind != Kind::Map && kind != Kind::Null;
  }

  /// The value of a map's key; null if this is no map or lacks it.
  const ConfigNode *find(llvm::StringRef key) const;

  /// A scalar that is not in quotes, by YAML 1.1's core: null, a truth value, a
  /// number, else a string.
  static ConfigNode fromPlain(llvm::StringRef text);
  static ConfigNode fromString(llvm::StringRef text);
};

struct ConfigEntry {
  std::string key;
  ConfigNode value;
};

/// Depth and number of nodes beyond which a text is refused.
constexpr unsigned kMaxConfigDepth = 64;
constexpr size_t kMaxConfigNodes = 100000;

/// `key` below `path`: `fp16.enabled`.
std::string joinKey(llvm::StringRef path, llvm::StringRef key);

/// Part of a hostile text, as messages may repeat it.
std::string shown(llvm::StringRef text);

/// The trees of the syntaxes. Errors are `KEY: TEXT` or `TEXT`.
llvm::Expected<ConfigNode> readJsonConfig(llvm::StringRef text);
llvm::Expected<ConfigNode> readYamlConfig(llvm::StringRef text);
llvm::Expected<ConfigNode> readTomlConfig(llvm::StringRef text);

/// True if the text begins with the head of a table of TOML.
bool isTomlConfig(llvm::StringRef text);

/// The flags of a shell script or of a list of arguments, without their
/// dashes, `_` written as `-`. A flag has Null if no word follows, else the
/// first; of a flag that is repeated the last counts. Variables that the file
/// sets are replaced; what it computes begins with `$`.
ConfigNode readArgumentFile(llvm::StringRef text);

/// True if the text is a script or a list of arguments.
bool isArgumentFile(llvm::StringRef text);

} // namespace mpopt

#endif // MPOPT_LIB_TRAIN_CONFIGNODE_H
