//===- ExternalData.cpp - Where weights outside the model file lie
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExternalData.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mpopt;
using namespace mpopt::onnx_import;
using llvm::SmallString;
using llvm::StringRef;
using llvm::Twine;

namespace path = llvm::sys::path;

ExternalData::ExternalData(StringRef modelPath, ErrorSink &sink)
    : folder(path::parent_path(modelPath).str()), sink(sink) {}

/// True if `location` is relative and stays inside the folder, judged by its
/// components alone.
static bool staysInside(StringRef location) {
  if (location.empty() || path::is_absolute(location) ||
      location.contains('\0'))
    return false;
  for (auto it = path::begin(location), end = path::end(location); it != end;
       ++it)
    if (*it == "..")
      return false;
  return true;
}

const ExternalData::File &ExternalData::open(StringRef location,
                                             StringRef tensor) {
  auto [it, isNew] = files.try_emplace(location);
  File &file = it->second;
  if (!isNew)
    return file;
  auto refuse = [&](const Twine &why) -> const File & {
    file.refused = true;
    sink.error(ImportCode::ExternalPath, tensor,
               "external data '" + location + "' is refused: " + why);
    return file;
  };
  if (!staysInside(location))
    return refuse("only relative paths below the model's folder are read");

  SmallString<256> joined(folder);
  path::append(joined, location);
  file.path = joined.str().str();
  if (!llvm::sys::fs::exists(joined)) {
    file.missing = true;
    return file;
  }
  // Links may lead out where words do not.
  SmallString<256> real, realFolder;
  if (llvm::sys::fs::real_path(joined, real) ||
      llvm::sys::fs::real_path(folder.empty() ? "." : folder, realFolder))
    return refuse("its path cannot be resolved");
  StringRef inside = real.str();
  if (realFolder != "/" && (!inside.consume_front(realFolder) ||
                            !inside.starts_with(path::get_separator())))
    return refuse("it is a link that leaves the model's folder");
  if (!llvm::sys::fs::is_regular_file(real) ||
      llvm::sys::fs::file_size(real, file.size))
    return refuse("it is not a regular file");
  return file;
}

std::vector<std::string> ExternalData::listFiles() const {
  std::vector<std::string> paths;
  for (const auto &entry : files)
    if (!entry.second.refused)
      paths.push_back(entry.second.path);
  return paths;
}

std::optional<ExternalRange> ExternalData::find(const onnx::TensorProto &tensor,
                                                StringRef name,
                                                uint64_t length) {
  StringRef location;
  uint64_t offset = 0;
  std::optional<uint64_t> declared;
  for (const auto &entry : tensor.external_data()) {
    StringRef value = entry.value();
    bool bad = false;
    if (entry.key() == "location")
      location = value;
    else if (entry.key() == "offset")
      bad = value.getAsInteger(10, offset);
    else if (entry.key() == "length")
      bad = value.getAsInteger(10, declared.emplace());
    if (bad) {
      sink.error(ImportCode::ExternalRange, name,
                 "external data has the " + Twine(entry.key()) + " '" + value +
                     "'");
      return std::nullopt;
    }
  }
  if (declared && *declared != length) {
    sink.error(ImportCode::DataLength, name,
               "external data has " + Twine(*declared) +
                   " bytes where its type needs " + Twine(length));
    return std::nullopt;
  }
  const File &file = open(location, name);
  if (file.refused)
    return std::nullopt;
  if (file.missing) {
    ++absent[file.path];
    // An offset that the reference could not hold is wrong all the same.
    return ExternalRange{file.path, std::min(offset, uint64_t(INT64_MAX)),
                         true};
  }
  if (offset > file.size || length > file.size - offset) {
    sink.error(ImportCode::ExternalRange, name,
               "needs " + Twine(length) + " bytes from byte " + Twine(offset) +
                   " of '" + location + "', which has " + Twine(file.size));
    return std::nullopt;
  }
  return ExternalRange{file.path, offset, false};
}
