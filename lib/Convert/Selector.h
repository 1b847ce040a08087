//===- Selector.h - Nodes and values that a user names ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_SELECTOR_H
#define MPOPT_LIB_CONVERT_SELECTOR_H

#include "Graph.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/Regex.h"

namespace mpopt::convert {

/// A name, or a regular expression that fits all of one.
class NamePattern {
public:
  explicit NamePattern(llvm::StringRef text);
  bool fits(llvm::StringRef name) const {
    return name == text || (regex.isValid() && regex.match(name));
  }
  llvm::StringRef str() const { return text; }

private:
  std::string text;
  llvm::Regex regex;
};

/// The words of an option that names nodes: a name, an expression, a type of
/// op, `MatMul>Softmax` (a MatMul that feeds a Softmax), `out:VALUE`, and
/// `node:NAME` of a name alone.
class NodeSelector {
public:
  NodeSelector(llvm::StringRef option, llvm::ArrayRef<std::string> words);

  /// True if a word fits; remembers it.
  bool fits(const Node &node);
  /// The error names the first word that fitted nothing.
  llvm::Error checkUsed() const;

private:
  struct Word {
    NamePattern name;
    std::string value, node, from, to;
    bool isUsed = false;
  };
  static bool fits(const Word &word, const Node &node);

  std::string option;
  std::vector<Word> words;
};

/// `--keep-io-types`: names, expressions, and `!NAME` of those that become low
/// whatever reads them; the last word that fits counts. With exceptions alone
/// all others keep their types.
class BorderSelector {
public:
  enum Choice { Open, Kept, Low };

  BorderSelector(bool keepsAll, llvm::ArrayRef<std::string> words);
  Choice choose(llvm::StringRef name);
  llvm::Error checkUsed() const;

private:
  struct Word {
    NamePattern name;
    bool isException;
    bool isUsed = false;
  };
  bool keepsAll;
  std::vector<Word> words;
};

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_SELECTOR_H
