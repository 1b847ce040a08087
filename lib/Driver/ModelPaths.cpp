//===- ModelPaths.cpp - The models that a word stands for
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/ModelPaths.h"

#include "mpopt/Import/Format.h"
#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

// Any number of folders, none included.
static constexpr StringRef kAnyFolders = "**";
static constexpr StringRef kWildcards = "*?[";
static bool isPattern(StringRef word) {
  return word.find_first_of(kWildcards) != StringRef::npos;
}
// Alternatives of braces that a pattern may make.
static constexpr size_t kMostPatterns = 64;

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

namespace {
/// Collects the files that match a list of parts of a path.
class Expansion {
public:
  /// Adds what matches below `folder`, which may be empty. The error is one of
  /// the pattern; a folder that cannot be read is one, too.
  Error add(StringRef folder, llvm::ArrayRef<StringRef> parts);

  std::vector<std::string> found;

private:
  Error addEntries(StringRef folder, llvm::ArrayRef<StringRef> parts);
};
} // namespace

Error Expansion::addEntries(StringRef folder, llvm::ArrayRef<StringRef> parts) {
  bool isDeep = parts.front() == kAnyFolders;
  Expected<llvm::GlobPattern> pattern =
      llvm::GlobPattern::create(isDeep ? "*" : parts.front(), kMostPatterns);
  if (!pattern)
    return pattern.takeError();
  std::error_code code;
  std::vector<std::string> entries;
  fs::directory_iterator entry(folder.empty() ? "." : folder, code), end;
  for (; !code && entry != end; entry.increment(code)) {
    StringRef name = path::filename(entry->path());
    bool isHidden = name.starts_with(".") && !parts.front().starts_with(".");
    if (!isHidden && pattern->match(name))
      entries.push_back(name.str());
  }
  if (code)
    return fail("'" + folder + "' cannot be read: " + code.message());
  for (const std::string &name : entries) {
    llvm::SmallString<256> inner(folder);
    path::append(inner, name);
    if (isDeep) {
      // A link may lead back.
      if (fs::is_directory(inner) && !fs::is_symlink_file(inner))
        if (Error error = add(inner, parts))
          return error;
    } else if (Error error = add(inner, parts.drop_front())) {
      return error;
    }
  }
  return Error::success();
}

Error Expansion::add(StringRef folder, llvm::ArrayRef<StringRef> parts) {
  if (parts.empty()) {
    found.push_back(folder.str());
    return Error::success();
  }
  if (parts.front() == kAnyFolders)
    if (Error error = add(folder, parts.drop_front()))
      return error;
  if (isPattern(parts.front()))
    return fs::is_directory(folder.empty() ? "." : folder)
               ? addEntries(folder, parts)
               : Error::success();
  llvm::SmallString<256> inner(folder);
  path::append(inner, parts.front());
  return fs::exists(inner) ? add(inner, parts.drop_front()) : Error::success();
}

// Endings of models, and endings that other files have too, whose contents
// decide.
static constexpr StringRef kEndings[] = {".onnx", ".pt2", ".ptl", ".jit"};
static constexpr StringRef kOtherEndings[] = {".pt", ".pth", ".mlir", ".mlirbc",
                                              ".textproto"};

static bool isModel(StringRef file) {
  auto ends = [&](StringRef ending) { return file.ends_with(ending); };
  if (!fs::is_regular_file(file) || llvm::any_of(kEndings, ends))
    return fs::is_regular_file(file);
  if (llvm::none_of(kOtherEndings, ends))
    return false;
  Expected<std::unique_ptr<llvm::MemoryBuffer>> bytes = readInputFile(file);
  if (bytes)
    return !getFormatName(detectFormat((*bytes)->getBuffer())).empty();
  llvm::consumeError(bytes.takeError());
  return true; // The import says why it cannot be read.
}

/// The models in a folder and below it; its checkpoints if it has none.
static Error addFolder(StringRef folder, std::vector<std::string> &models) {
  Expansion files;
  if (Error error = files.add(folder, {kAnyFolders, "*"}))
    return error;
  std::vector<std::string> held;
  llvm::copy_if(files.found, std::back_inserter(held), isModel);
  for (StringRef ending : {".safetensors.index.json", ".safetensors"})
    if (held.empty())
      llvm::copy_if(files.found, std::back_inserter(held),
                    [&](StringRef file) { return file.ends_with(ending); });
  if (held.empty())
    return fail("'" + (folder.empty() ? "." : folder) + "' holds no model (" +
                llvm::join(llvm::ArrayRef(kEndings), ", ") + ", " +
                llvm::join(llvm::ArrayRef(kOtherEndings), ", ") +
                " or .safetensors)");
  llvm::sort(held);
  llvm::append_range(models, held);
  return Error::success();
}

static Error addPattern(StringRef pattern, std::vector<std::string> &models) {
  bool isAbsolute = pattern.starts_with("/");
  llvm::SmallVector<StringRef> parts;
  pattern.split(parts, '/', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  Expansion matches;
  if (Error error = matches.add(isAbsolute ? "/" : "", parts))
    return fail("'" + pattern + "': " + llvm::toString(std::move(error)));
  if (matches.found.empty())
    return fail("no file matches '" + pattern + "'");
  std::vector<std::string> held;
  for (const std::string &match : matches.found)
    if (!fs::is_directory(match))
      held.push_back(match);
    else if (Error error = addFolder(match, held))
      return error;
  // A folder and those in it may match.
  llvm::sort(held);
  held.erase(llvm::unique(held), held.end());
  llvm::append_range(models, held);
  return Error::success();
}

Expected<ModelPaths> mpopt::expandModels(llvm::ArrayRef<std::string> words) {
  ModelPaths result;
  for (const std::string &word : words) {
    bool isFolder = fs::is_directory(word);
    if (!isFolder && (!isPattern(word) || fs::exists(word))) {
      result.paths.push_back(word);
      continue;
    }
    result.isExpanded = true;
    // `./a.onnx` is `a.onnx`, as baselines and settings name it.
    std::string plain = path::remove_leading_dotslash(word).str();
    if (plain == ".")
      plain.clear();
    if (Error error = (isFolder ? addFolder : addPattern)(plain, result.paths))
      return std::move(error);
  }
  return result;
}
