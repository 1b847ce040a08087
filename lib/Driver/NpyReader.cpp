//===- NpyReader.cpp - Arrays in NumPy's format ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Magic, version, length, then a header that is a Python dict literal, then the
// elements; NumPy's documentation of numpy.lib.format. Read: little-endian
// bool, integer and float arrays in versions 1 to 3. Not read: object arrays.
//
//===----------------------------------------------------------------------===//

#include "NpyReader.h"

#include "mpopt/Support/ZipFile.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>

using namespace mpopt;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;

/// Those of NumPy have 118 bytes, unless the shape is long.
static constexpr size_t kMaxHeader = 1 << 16;

template <typename T> static double readAs(const char *bytes) {
  return double(
      llvm::support::endian::read<T, llvm::endianness::little>(bytes));
}
static double readHalf(const char *bytes) {
  return llvm::APFloat(llvm::APFloat::IEEEhalf(),
                       llvm::APInt(16, read16le(bytes)))
      .convertToDouble();
}
static double readBool(const char *bytes) { return *bytes != 0; }

/// How an element is read, and its size.
using ElementReader = std::pair<double (*)(const char *), size_t>;

// The reader for elements of a dtype such as `<f4`.
static ElementReader getReader(StringRef descr) {
  if (!descr.consume_front("<"))
    descr.consume_front("|");
  static const std::map<StringRef, ElementReader> kReaders = {
      {"f2", {readHalf, 2}},         {"f4", {readAs<float>, 4}},
      {"f8", {readAs<double>, 8}},   {"i1", {readAs<int8_t>, 1}},
      {"i2", {readAs<int16_t>, 2}},  {"i4", {readAs<int32_t>, 4}},
      {"i8", {readAs<int64_t>, 8}},  {"u1", {readAs<uint8_t>, 1}},
      {"u2", {readAs<uint16_t>, 2}}, {"u4", {readAs<uint32_t>, 4}},
      {"u8", {readAs<uint64_t>, 8}}, {"b1", {readBool, 1}}};
  auto found = kReaders.find(descr);
  return found == kReaders.end() ? ElementReader() : found->second;
}

// `'shape': (2, 3), ...`; nothing if it is damaged.
static std::optional<std::vector<int64_t>> readShape(StringRef header) {
  std::vector<int64_t> shape;
  StringRef dims =
      header.split("'shape':").second.split('(').second.split(')').first;
  llvm::SmallVector<StringRef> parts;
  dims.split(parts, ',');
  for (StringRef part : parts) {
    int64_t dim;
    if (part.trim().empty())
      continue; // behind the last comma
    if (part.trim().getAsInteger(10, dim) || dim < 0)
      return std::nullopt;
    shape.push_back(dim);
  }
  return shape;
}

namespace {
/// Takes the bytes of an array as they come.
class NpyReader {
public:
  NpyReader(StringRef name, llvm::function_ref<Error(const NpyHeader &)> begin,
            llvm::function_ref<void(llvm::ArrayRef<double>)> visit)
      : name(name), begin(begin), visit(visit) {}

  Error take(StringRef bytes);
  Error finish() const;

private:
  Error takeHeader(StringRef &bytes);
  Error parseHeader(StringRef text);
  Error takeElements(StringRef bytes);
  Error wrong(const Twine &why) const {
    return llvm::createStringError("array '" + name + "' " + why);
  }

  StringRef name;
  llvm::function_ref<Error(const NpyHeader &)> begin;
  llvm::function_ref<void(llvm::ArrayRef<double>)> visit;
  NpyHeader header;
  /// Null until the header is whole.
  ElementReader element = {nullptr, 0};
  /// Bytes not used yet: the header, then the part of an element that a chunk
  /// ended in.
  std::string rest;
  uint64_t seen = 0;
};
} // namespace

Error NpyReader::parseHeader(StringRef text) {
  StringRef descr =
      text.split("'descr':").second.ltrim().substr(1).split('\'').first;
  element = getReader(descr);
  if (!element.first)
    return wrong("has dtype '" + descr + "', which is not read");
  std::optional<std::vector<int64_t>> shape = readShape(text);
  if (!shape)
    return wrong("is damaged");
  header.shape = std::move(*shape);
  header.count = 1;
  for (int64_t dim : header.shape) {
    bool overflows = false;
    header.count =
        llvm::SaturatingMultiply(header.count, uint64_t(dim), &overflows);
    if (overflows)
      return wrong("is damaged");
  }
  header.byColumns = text.contains("'fortran_order': True");
  return begin(header);
}

// Moves what belongs to the header from `bytes` to `rest`.
Error NpyReader::takeHeader(StringRef &bytes) {
  auto fill = [&](size_t size) {
    StringRef part = bytes.take_front(size - std::min(size, rest.size()));
    rest += part;
    bytes = bytes.drop_front(part.size());
    return rest.size() >= size;
  };
  if (!fill(12))
    return Error::success();
  if (!StringRef(rest).starts_with("\x93NUMPY"))
    return wrong("is not a NumPy array");
  size_t start = rest[6] == 1 ? 10 : 12;
  size_t length =
      start == 10 ? read16le(rest.data() + 8) : read32le(rest.data() + 8);
  if (length > kMaxHeader || start + length < 12)
    return wrong("is damaged");
  if (!fill(start + length))
    return Error::success();
  Error error = parseHeader(StringRef(rest).drop_front(start));
  rest.clear();
  return error;
}

Error NpyReader::takeElements(StringRef bytes) {
  // Elements that are converted at a time: 32 KiB of doubles, a first-level
  // cache.
  constexpr size_t kBlock = 4096;
  auto [read, size] = element;
  llvm::SmallVector<double, 0> block;
  while (bytes.size() >= size) {
    block.clear();
    for (; bytes.size() >= size && block.size() < kBlock;
         bytes = bytes.drop_front(size)) {
      double value = read(bytes.take_front(size).begin());
      if (std::isnan(value))
        return wrong("holds NaN");
      block.push_back(value);
    }
    seen += block.size();
    // More than was said: the caller may have made room for so many.
    if (seen > header.count)
      return wrong("is damaged");
    visit(block);
  }
  rest = bytes.str();
  return Error::success();
}

Error NpyReader::take(StringRef bytes) {
  if (!element.first)
    if (Error error = takeHeader(bytes))
      return error;
  if (!element.first || bytes.empty())
    return Error::success();
  if (!rest.empty()) {
    // The end of an element that was cut.
    size_t missing = std::min(element.second - rest.size(), bytes.size());
    std::string whole = rest + bytes.take_front(missing).str();
    bytes = bytes.drop_front(missing);
    if (Error error = takeElements(whole))
      return error;
  }
  return bytes.empty() ? Error::success() : takeElements(bytes);
}

Error NpyReader::finish() const {
  if (!element.first)
    return rest.size() < 12 ? wrong("is not a NumPy array")
                            : wrong("is damaged");
  if (seen == 0 || !rest.empty())
    return wrong("is empty or damaged");
  return seen == header.count ? Error::success() : wrong("is damaged");
}

Error mpopt::readNpy(const ZipMember &member, StringRef name,
                     llvm::function_ref<Error(const NpyHeader &)> begin,
                     llvm::function_ref<void(llvm::ArrayRef<double>)> visit) {
  NpyReader reader(name, begin, visit);
  if (Error error = readZipMember(
          member, [&](StringRef bytes) { return reader.take(bytes); }))
    return error;
  return reader.finish();
}
