//===- Fields.h - JSON of a form that is only claimed -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A field that is missing or of another kind is remembered as damage and read
// as empty, so that readers need no check at each step; the first damage is the
// one that is told.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_FIELDS_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_FIELDS_H

#include "mpopt/Import/ErrorSink.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace mpopt::exported {

class Damage {
public:
  void report(const llvm::Twine &text, ImportCode kind = ImportCode::Malformed);
  bool isThere() const { return found; }
  ImportCode code() const { return kind; }
  const std::string &text() const { return said; }
  const std::string &node() const { return place; }

  /// The node that is being read, for messages.
  std::string currentNode;

private:
  bool found = false;
  ImportCode kind = ImportCode::Malformed;
  std::string said, place;
};

const llvm::json::Object &getObject(const llvm::json::Object &from,
                                    llvm::StringRef key, Damage &damage);
const llvm::json::Array &getArray(const llvm::json::Object &from,
                                  llvm::StringRef key, Damage &damage);
llvm::StringRef getString(const llvm::json::Object &from, llvm::StringRef key,
                          Damage &damage);
int64_t getInteger(const llvm::json::Object &from, llvm::StringRef key,
                   Damage &damage);

const llvm::json::Object &asObject(const llvm::json::Value &value,
                                   llvm::StringRef what, Damage &damage);

/// A part of the document that was left as text.
llvm::json::Value parsePart(llvm::StringRef text, Damage &damage);

/// A number, or one of the strings `Infinity`, `-Infinity` and `NaN`, which
/// stand for the numbers that JSON lacks.
double asNumber(const llvm::json::Value &value, Damage &damage);

/// A union is an object with one member, whose key names its kind (`as_int`).
struct Choice {
  llvm::StringRef kind;
  const llvm::json::Value *value;

  const llvm::json::Object &object(Damage &damage) const {
    return asObject(*value, kind, damage);
  }
  llvm::StringRef string(Damage &damage) const;
  int64_t integer(Damage &damage) const;
  const llvm::json::Array &array(Damage &damage) const;
  /// The field `name` of an argument that names a value.
  llvm::StringRef name(Damage &damage) const;
};
Choice getChoice(const llvm::json::Value &value, Damage &damage);

} // namespace mpopt::exported

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_FIELDS_H
