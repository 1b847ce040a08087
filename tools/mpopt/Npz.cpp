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
// versions 1 to 3. Not read: encrypted members, object arrays.
//
// Arrays that are written column by column (`fortran_order`) are read as well.
//
//===----------------------------------------------------------------------===//

#include "Npz.h"

#include "mpopt/Support/InputFile.h"
#include "mpopt/Support/ZipFile.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"

#include <cmath>
#include <map>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;

namespace {
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values; // row-major
};
} // namespace

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

// The members by name.
static Expected<std::map<std::string, ZipMember>> readMembers(StringRef zip) {
  Expected<std::vector<ZipMember>> directory = readZipDirectory(zip);
  if (!directory) {
    llvm::consumeError(directory.takeError());
    return fail("is not an .npz archive");
  }
  std::map<std::string, ZipMember> members;
  for (ZipMember &member : *directory)
    members[member.name] = std::move(member);
  return members;
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

// Repeated along the axes where `shape`, a broadcast of its own, is larger.
static Array broadcast(const Array &array, std::vector<int64_t> shape) {
  if (array.shape == shape)
    return array;
  Array result{shape, {}};
  std::vector<int64_t> own(shape.size() - array.shape.size(), 1);
  own.insert(own.end(), array.shape.begin(), array.shape.end());
  std::vector<int64_t> index(shape.size());
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  result.values.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      at = at * own[axis] + (own[axis] == 1 ? 0 : index[axis]);
    result.values.push_back(array.values[at]);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
    }
  }
  return result;
}

static Expected<NpzRange> makeBounds(Array lo, Array hi) {
  std::vector<int64_t> shape(std::max(lo.shape.size(), hi.shape.size()), 1);
  for (const Array *array : {&lo, &hi})
    for (size_t i = 1; i <= array->shape.size(); ++i) {
      int64_t dim = array->shape[array->shape.size() - i];
      int64_t &common = shape[shape.size() - i];
      if (common != 1 && dim != 1 && common != dim)
        return fail("'lo' and 'hi' do not broadcast to one shape");
      common = std::max(common, dim);
    }
  // Two small files may ask for an array that is large.
  int64_t count = 1;
  for (int64_t dim : shape)
    if ((count *= dim) > (int64_t(1) << 26))
      return fail("'lo' and 'hi' broadcast to more than 2^26 elements");
  lo = broadcast(lo, shape);
  hi = broadcast(hi, shape);
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
  Expected<std::map<std::string, ZipMember>> members = readMembers(zip);
  if (!members)
    return members.takeError();
  auto read = [&](StringRef name) -> Expected<Array> {
    Expected<std::string> bytes =
        unpackZipMember(members->at(name.str() + ".npy"));
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
