//===- JsonText.h - Where values are in the text of JSON --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A document that is parsed and printed anew has other numbers and another
// order. With the places of its values text can be put between them, and all
// else stays byte for byte.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_JSONTEXT_H
#define MPOPT_SUPPORT_JSONTEXT_H

#include "llvm/ADT/StringRef.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace mpopt {

class JsonText {
public:
  /// `text` outlives this. Of one that `parseJson` would not take, what is
  /// found ends somewhere.
  explicit JsonText(llvm::StringRef text) : text(text) {}

  /// The offset at which the document's value begins.
  size_t root() const { return skipSpace(0); }
  /// The offset behind the value that begins at `at`.
  size_t end(size_t at) const;
  /// The members of the object, as spelt; none if there is none.
  std::vector<std::pair<llvm::StringRef, size_t>> members(size_t object) const;
  /// The value of the object's member `key`, spelt without escapes; of several
  /// the last, as parsers take it.
  std::optional<size_t> find(size_t object, llvm::StringRef key) const;
  /// The values of the array; empty if there is none.
  std::vector<size_t> elements(size_t array) const;

private:
  size_t skipSpace(size_t at) const;
  size_t skipString(size_t at) const;
  bool is(size_t at, char wanted) const {
    return at < text.size() && text[at] == wanted;
  }

  llvm::StringRef text;
};

} // namespace mpopt

#endif // MPOPT_SUPPORT_JSONTEXT_H
