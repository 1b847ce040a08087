//===- Archive.cpp - The members of a .pt2 archive ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Archive.h"

#include "mpopt/Import/ArchiveLimits.h"
#include "mpopt/Support/BoundedJson.h"
#include "mpopt/Support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mpopt;
using namespace mpopt::exported;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// The layout that is read: ARCHIVE_VERSION_VALUE.
static constexpr llvm::StringLiteral kVersion = "0";
/// The program in the layout of PyTorch 2.4 to 2.7, whose `version` is that of
/// the schema.
static constexpr llvm::StringLiteral kOldProgram =
    "serialized_exported_program.json";
/// Stack traces make up most of it: 50 MB are a model of 20,000 nodes.
static constexpr uint64_t kMaxJson = 256 << 20;
/// Each value takes 40 bytes or more, however short its text is.
static constexpr int64_t kMaxValues = 1 << 24;
static constexpr uint64_t kMaxWord = 1024;

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

Expected<std::string> Archive::readText(StringRef member,
                                        uint64_t maxSize) const {
  auto position = positions.find(member);
  if (position == positions.end())
    return fail("has no '" + member + "'");
  Expected<std::string> text =
      unpackZipMember(members[position->second], maxSize);
  if (!text)
    return fail("has a damaged member '" + member + "' (" +
                llvm::toString(text.takeError()) + ")");
  return text;
}

Error Archive::checkVersion() const {
  Expected<std::string> format = readText("archive_format", kMaxWord);
  if (!format)
    return format.takeError();
  if (StringRef(*format).trim() != "pt2")
    return fail("has the format " + quoteName(*format) + ", not 'pt2'");
  Expected<std::string> version = readText("archive_version", kMaxWord);
  if (!version)
    return version.takeError();
  if (StringRef(*version).trim() != kVersion)
    return fail("has version " + quoteName(*version) +
                " of the layout, and version '" + kVersion +
                "' is the one that is read");
  if (!contains("byteorder"))
    return Error::success();
  Expected<std::string> order = readText("byteorder", kMaxWord);
  if (!order)
    return order.takeError();
  if (StringRef(*order).trim() != "little")
    return fail("has weights in the byte order " + quoteName(*order) +
                ", not 'little'");
  return Error::success();
}

Error Archive::findModel() {
  std::vector<std::string> names;
  for (const auto &entry : positions) {
    StringRef model = entry.getKey();
    if (model.consume_front("models/") && model.consume_back(".json"))
      names.push_back(model.str());
  }
  llvm::sort(names);
  if (names.empty())
    return fail(llvm::any_of(positions,
                             [](const auto &entry) {
                               return entry.getKey().starts_with(
                                   "data/aotinductor/");
                             })
                    ? "holds compiled code (AOTInductor) and no graph: check "
                      "the program that torch.export.save writes"
                    : "holds no model");
  if (names.size() > 1 && !llvm::is_contained(names, "model"))
    return fail("holds " + Twine(names.size()) + " models (" +
                quoteName(names[0]) + ", " + quoteName(names[1]) +
                " ...): save each in an archive of its own");
  name = names.size() > 1 ? "model" : names.front();
  program = "models/" + name + ".json";
  return Error::success();
}

/// Finds the members of a folder.
Error Archive::openFolder(StringRef folder) {
  for (auto [index, member] : llvm::enumerate(members)) {
    StringRef path = member.name;
    if (path.consume_front(folder) &&
        !positions.try_emplace(path, index).second)
      return fail("has two members " + quoteName(path));
  }
  return Error::success();
}

std::string Archive::savedMember(StringRef part) const {
  if (isOld)
    return part == "weights" ? "serialized_state_dict.pt"
                             : "serialized_constants.pt";
  return ("data/" + part + "/" + name + ".pt").str();
}

Expected<Archive> Archive::open(StringRef bytes) {
  Archive archive;
  archive.length = bytes.size();
  Expected<std::vector<ZipMember>> members = readZipDirectory(bytes);
  if (!members)
    return members.takeError();
  if (Error error = checkMembers(*members))
    return std::move(error);
  archive.members = std::move(*members);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  // The folder in front of all names is the one of `archive_format`.
  std::optional<StringRef> folder, oldFolder;
  for (const ZipMember &member : archive.members) {
    StringRef name = member.name;
    if (name == "archive_format" || name.ends_with("/archive_format"))
      folder = name.drop_back(StringRef("archive_format").size());
    if (name.consume_back(kOldProgram))
      oldFolder = name;
    if (!member.bytes.empty())
      ranges.push_back({member.offset, member.offset + member.bytes.size()});
  }
  if (Error error = checkOverlaps(std::move(ranges)))
    return std::move(error);
  if (!folder && !oldFolder)
    return fail("has no 'archive_format'");
  if (Error error = archive.openFolder(folder ? *folder : *oldFolder))
    return std::move(error);
  archive.isOld = !folder;
  if (archive.isOld) {
    archive.name = "model";
    archive.program = kOldProgram.str();
    return archive;
  }
  if (Error error = archive.checkVersion())
    return std::move(error);
  if (Error error = archive.findModel())
    return std::move(error);
  return archive;
}

Expected<std::string> Archive::readModel() const {
  return readText(modelMember(), kMaxJson);
}

Expected<std::string> Archive::readBounded(StringRef member) const {
  Expected<std::string> text = readText(member, kMaxJson);
  if (text && llvm::count(*text, ',') > kMaxValues)
    return fail("has a member " + quoteName(member) +
                " with more values than any model");
  return text;
}

static Error notJson(StringRef member, Error error) {
  return fail("has a member " + quoteName(member) + " that " +
              llvm::toString(std::move(error)));
}

Expected<llvm::json::Value> Archive::readJson(StringRef member) const {
  Expected<std::string> text = readBounded(member);
  if (!text)
    return text.takeError();
  Expected<llvm::json::Value> value = parseJson(*text);
  if (!value)
    return notJson(member, value.takeError());
  return value;
}

Expected<Document> Archive::readDocument() const {
  Expected<std::string> text = readBounded(modelMember());
  if (!text)
    return text.takeError();
  Expected<Document> document = Document::parse(std::move(*text));
  if (!document)
    return notJson(modelMember(), document.takeError());
  return document;
}

bool Archive::contains(StringRef member) const {
  return positions.contains(member);
}

std::optional<Record> Archive::findRecord(StringRef member) const {
  auto position = positions.find(member);
  if (position == positions.end() || !members[position->second].isStored())
    return std::nullopt;
  const ZipMember &found = members[position->second];
  return Record{found.offset, found.bytes};
}
