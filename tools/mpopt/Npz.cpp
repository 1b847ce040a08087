//===- Npz.cpp - Ranges from NumPy archives
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An .npz file is a zip archive of .npy files (numpy.lib.format). Read: members
// that are stored, as numpy.savez writes them, and deflated ones, as
// savez_compressed does; little-endian bool, integer and float arrays in format
// versions 1 to 3. Not read: zip64, encrypted members, object arrays.
//
// Arrays that are written column by column (`fortran_order`) are read as well.
//
//===----------------------------------------------------------------------===//

#include "Npz.h"

#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"

#include <cmath>
#include <map>
#include <zlib.h>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;

namespace {
struct Member {
  uint16_t method;
  uint32_t packed, size;
  StringRef bytes;
};

struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values; // row-major
};
} // namespace

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

// Signatures and offsets: PKWARE's APPNOTE.TXT, 4.3.7, 4.3.12 and 4.3.16.
static Expected<std::map<std::string, Member>> readDirectory(StringRef zip) {
  auto damaged = [] { return fail("is not an .npz archive"); };
  size_t end = zip.rfind(StringRef("PK\5\6", 4));
  if (end == StringRef::npos || zip.size() - end < 22)
    return damaged();
  unsigned entries = read16le(zip.data() + end + 10);
  size_t at = read32le(zip.data() + end + 16);
  std::map<std::string, Member> members;
  for (unsigned i = 0; i < entries; ++i) {
    if (at > zip.size() || zip.size() - at < 46 ||
        !zip.substr(at).starts_with(StringRef("PK\1\2", 4)))
      return damaged();
    const char *entry = zip.data() + at;
    Member member{
        read16le(entry + 10), read32le(entry + 20), read32le(entry + 24), {}};
    size_t name = read16le(entry + 28);
    size_t local = read32le(entry + 42);
    if (zip.size() - at - 46 < name || local > zip.size() ||
        zip.size() - local < 30)
      return damaged();
    const char *header = zip.data() + local;
    size_t data = local + 30 + read16le(header + 26) + read16le(header + 28);
    if (data > zip.size() || zip.size() - data < member.packed)
      return damaged();
    member.bytes = zip.substr(data, member.packed);
    members[std::string(entry + 46, name)] = member;
    at += 46 + name + read16le(entry + 30) + read16le(entry + 32);
  }
  return members;
}

static Expected<std::string> unpack(const Member &member) {
  if (member.method == 0)
    return member.bytes.str();
  if (member.method != 8)
    return fail("has a member in a compression that is not read");
  // Deflate packs at most 1032 to 1: a larger claim is a damaged header.
  if (member.size / 1032 > member.packed)
    return fail("is damaged");
  std::string out(member.size, '\0');
  z_stream stream = {};
  // A negative window size means no zlib header, as in zip files.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return fail("cannot be unpacked");
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<char *>(member.bytes.data()));
  stream.avail_in = member.bytes.size();
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = out.size();
  int status = inflate(&stream, Z_FINISH);
  bool whole = status == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole)
    return fail("is damaged");
  return out;
}

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

// The reader of a dtype such as `<f4`, and its size.
static std::pair<double (*)(const char *), size_t> getReader(StringRef descr) {
  if (!descr.consume_front("<"))
    descr.consume_front("|");
  static const std::map<StringRef, std::pair<double (*)(const char *), size_t>>
      kReaders = {{"f2", {readHalf, 2}},         {"f4", {readAs<float>, 4}},
                  {"f8", {readAs<double>, 8}},   {"i1", {readAs<int8_t>, 1}},
                  {"i2", {readAs<int16_t>, 2}},  {"i4", {readAs<int32_t>, 4}},
                  {"i8", {readAs<int64_t>, 8}},  {"u1", {readAs<uint8_t>, 1}},
                  {"u2", {readAs<uint16_t>, 2}}, {"u4", {readAs<uint32_t>, 4}},
                  {"u8", {readAs<uint64_t>, 8}}, {"b1", {readBool, 1}}};
  auto found = kReaders.find(descr);
  return found == kReaders.end() ? std::pair<double (*)(const char *), size_t>()
                                 : found->second;
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

// From column-major to row-major.
static std::vector<double> reorder(llvm::ArrayRef<double> values,
                                   llvm::ArrayRef<int64_t> shape) {
  std::vector<double> result;
  result.reserve(values.size());
  std::vector<int64_t> index(shape.size());
  for (size_t i = 0; i < values.size(); ++i) {
    size_t at = 0;
    for (size_t axis = shape.size(); axis-- > 0;)
      at = at * shape[axis] + index[axis];
    result.push_back(values[at]);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
    }
  }
  return result;
}

// Header: magic, version, length, then a Python dict literal; numpy's
// documentation of numpy.lib.format.
static Expected<Array> readArray(StringRef npy, StringRef name) {
  auto wrong = [&](const Twine &why) {
    return fail("array '" + name + "' " + why);
  };
  if (npy.size() < 12 || !npy.starts_with("\x93NUMPY"))
    return wrong("is not a NumPy array");
  bool isOld = npy[6] == 1;
  size_t start = isOld ? 10 : 12;
  size_t length = isOld ? read16le(npy.data() + 8) : read32le(npy.data() + 8);
  if (npy.size() - start < length)
    return wrong("is damaged");
  StringRef header = npy.substr(start, length);
  StringRef descr =
      header.split("'descr':").second.ltrim().drop_front(1).split('\'').first;
  auto [reader, size] = getReader(descr);
  if (!reader)
    return wrong("has dtype '" + descr + "', which is not read");
  StringRef data = npy.substr(start + length);
  if (data.empty() || data.size() % size != 0)
    return wrong("is empty or damaged");
  Array array;
  array.values.reserve(data.size() / size);
  for (size_t at = 0; at < data.size(); at += size) {
    double value = reader(data.data() + at);
    if (std::isnan(value))
      return wrong("holds NaN");
    array.values.push_back(value);
  }
  std::optional<std::vector<int64_t>> shape = readShape(header);
  uint64_t count = 1;
  // No dim is larger than the data, so the product does not wrap.
  for (int64_t dim : shape.value_or(std::vector<int64_t>{0}))
    count = uint64_t(dim) > array.values.size() ? 0 : count * uint64_t(dim);
  if (count != array.values.size())
    return wrong("is damaged");
  array.shape = std::move(*shape);
  if (header.contains("'fortran_order': True"))
    array.values = reorder(array.values, array.shape);
  return array;
}

static Interval getHull(llvm::ArrayRef<double> values) {
  auto [lo, hi] = std::minmax_element(values.begin(), values.end());
  return {*lo, *hi};
}

static Expected<NpzRange> makeBounds(Array lo, Array hi) {
  // A number beside an array stands for all of its elements.
  if (lo.values.size() == 1 && hi.values.size() > 1)
    lo = Array{hi.shape, std::vector<double>(hi.values.size(), lo.values[0])};
  if (hi.values.size() == 1 && lo.values.size() > 1)
    hi = Array{lo.shape, std::vector<double>(lo.values.size(), hi.values[0])};
  if (lo.shape != hi.shape && lo.values.size() > 1)
    return fail("'lo' and 'hi' differ in shape");
  for (size_t i = 0; i < lo.values.size(); ++i) {
    if (lo.values[i] > hi.values[i])
      return fail("bounds are empty: 'lo' is above 'hi'");
    if (lo.values[i] == HUGE_VAL || hi.values[i] == -HUGE_VAL)
      return fail("bounds hold no finite value");
  }
  NpzRange range{{getHull(lo.values).lo, getHull(hi.values).hi}, {}, {}, {}};
  if (lo.values.size() > 1)
    range.elements = std::make_shared<ElementBounds>(ElementBounds{
        std::move(lo.shape), std::move(lo.values), std::move(hi.values)});
  return range;
}

static NpzRange makeSample(const Array &sample) {
  double sum = 0, squares = 0, count = double(sample.values.size());
  for (double value : sample.values) {
    sum += value;
    squares += value * value;
  }
  double mean = sum / count;
  return NpzRange{getHull(sample.values),
                  {},
                  mean,
                  std::sqrt(std::max(0.0, squares / count - mean * mean))};
}

static Expected<NpzRange> readRange(StringRef zip, StringRef input) {
  Expected<std::map<std::string, Member>> members = readDirectory(zip);
  if (!members)
    return members.takeError();
  auto read = [&](StringRef name) -> Expected<Array> {
    Expected<std::string> bytes = unpack(members->at(name.str() + ".npy"));
    if (!bytes)
      return bytes.takeError();
    return readArray(*bytes, name);
  };
  auto has = [&](StringRef name) {
    return members->count(name.str() + ".npy") != 0;
  };
  if (has("lo") && has("hi")) {
    Expected<Array> lo = read("lo");
    if (!lo)
      return lo.takeError();
    Expected<Array> hi = read("hi");
    if (!hi)
      return hi.takeError();
    return makeBounds(std::move(*lo), std::move(*hi));
  }
  if (!has(input))
    return fail("has neither 'lo' and 'hi' nor '" + input + "'");
  Expected<Array> sample = read(input);
  if (!sample)
    return sample.takeError();
  return makeSample(*sample);
}

Expected<NpzRange> mpopt::readNpzRange(StringRef file, StringRef input) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer = readInputFile(file);
  if (!buffer)
    return fail("--input: '" + file + "' " +
                llvm::toString(buffer.takeError()));
  Expected<NpzRange> range = readRange((*buffer)->getBuffer(), input);
  if (!range)
    return fail("--input: '" + file + "' " + llvm::toString(range.takeError()));
  return range;
}
