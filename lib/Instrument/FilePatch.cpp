//===- FilePatch.cpp - A change to a file that can be taken back ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/FilePatch.h"

#include "mpopt/Support/BoundedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

std::string mpopt::sha256(StringRef bytes) {
  llvm::SHA256 hash;
  hash.update(bytes);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// FilePatch
//===----------------------------------------------------------------------===//

Undo FilePatch::makeUndo(StringRef original) const {
  Undo undo;
  undo.originalSize = original.size();
  undo.originalSha256 = sha256(original);
  int64_t grown = 0;
  for (const auto &[offset, edit] : edits) {
    undo.pieces.push_back({uint64_t(int64_t(offset) + grown),
                           edit.inserted.size(),
                           original.substr(offset, edit.removed).str()});
    grown += int64_t(edit.inserted.size()) - int64_t(edit.removed);
  }
  undo.bodySize = uint64_t(int64_t(original.size()) + grown);
  return undo;
}

void FilePatch::apply(StringRef original, llvm::raw_ostream &os) const {
  uint64_t position = 0;
  for (const auto &[offset, edit] : edits) {
    assert(offset >= position && "edits overlap");
    os << original.slice(position, offset) << edit.inserted;
    position = offset + edit.removed;
  }
  os << original.substr(position);
}

//===----------------------------------------------------------------------===//
// Undo
//===----------------------------------------------------------------------===//

std::string Undo::encode() const {
  json::Array list;
  for (const Piece &piece : pieces)
    list.push_back(json::Array{int64_t(piece.offset), int64_t(piece.inserted),
                               llvm::toHex(piece.original, true)});
  json::Object object{{"body_size", int64_t(bodySize)},
                      {"original_size", int64_t(originalSize)},
                      {"original_sha256", originalSha256},
                      {"pieces", std::move(list)}};
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object));
  return text;
}

Expected<Undo> Undo::decode(StringRef text) {
  auto fail = [] {
    return llvm::createStringError("what undoes the probes is damaged");
  };
  // A value takes some 26 times its text.
  if (text.size() > kMaxText)
    return fail();
  Expected<json::Value> value = parseJson(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return fail();
  }
  const json::Object *object = value->getAsObject();
  if (!object)
    return fail();
  auto body = object->getInteger("body_size");
  auto size = object->getInteger("original_size");
  auto hash = object->getString("original_sha256");
  const json::Array *list = object->getArray("pieces");
  if (!body || *body < 0 || !size || *size < 0 || !hash || !list)
    return fail();
  Undo undo;
  undo.bodySize = *body;
  undo.originalSize = *size;
  undo.originalSha256 = hash->str();
  uint64_t position = 0;
  for (const json::Value &entry : *list) {
    const json::Array *piece = entry.getAsArray();
    if (!piece || piece->size() != 3)
      return fail();
    auto offset = (*piece)[0].getAsInteger();
    auto inserted = (*piece)[1].getAsInteger();
    auto original = (*piece)[2].getAsString();
    std::string bytes;
    if (!offset || !inserted || !original || *inserted < 0 ||
        *offset < int64_t(position) || *offset > *body ||
        *inserted > *body - *offset || !llvm::tryGetFromHex(*original, bytes))
      return fail();
    position = uint64_t(*offset + *inserted);
    undo.pieces.push_back(
        {uint64_t(*offset), uint64_t(*inserted), std::move(bytes)});
  }
  return undo;
}

Error mpopt::revert(StringRef patched, const Undo &undo,
                    llvm::function_ref<Error(StringRef)> write) {
  auto changed = [] {
    return llvm::createStringError(
        "it was changed after it was instrumented, so the original cannot be "
        "restored");
  };
  if (undo.bodySize > patched.size())
    return changed();
  // Without edits the original is a part of the file: nothing is copied.
  std::string rebuilt;
  StringRef original = patched.take_front(undo.bodySize);
  if (!undo.pieces.empty()) {
    rebuilt.reserve(undo.bodySize);
    uint64_t position = 0;
    for (const Undo::Piece &piece : undo.pieces) {
      rebuilt += original.slice(position, piece.offset);
      rebuilt += piece.original;
      position = piece.offset + piece.inserted;
    }
    rebuilt += original.substr(position);
    original = rebuilt;
  }
  if (original.size() != undo.originalSize ||
      sha256(original) != undo.originalSha256)
    return changed();
  return write(original);
}
