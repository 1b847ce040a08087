//===- Npz.cpp - Ranges from NumPy archives
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An .npz file is a zip archive of .npy files. Read: members that are stored,
// as numpy.savez writes them, and deflated ones, as savez_compressed does. Not
// read: encrypted members.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Driver/Npz.h"

#include "NpyReader.h"
#include "SampleGroups.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Support/InputFile.h"
#include "mpopt/Support/ZipFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>
#include <map>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

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

/// Bounds by element are held in memory, and two small files may ask for an
/// array that is large.
static constexpr uint64_t kMaxBounds = uint64_t(1) << 26;

static Expected<Array> readBounds(const ZipMember &member, StringRef name) {
  Array array;
  bool byColumns = false;
  auto begin = [&](const NpyHeader &header) -> Error {
    if (header.count > kMaxBounds)
      return fail("'" + name + "' has more than 2^26 elements");
    array.shape = header.shape;
    byColumns = header.byColumns;
    return Error::success();
  };
  auto visit = [&](llvm::ArrayRef<double> block) {
    llvm::append_range(array.values, block);
  };
  if (Error error = readNpy(member, name, begin, visit))
    return std::move(error);
  if (byColumns)
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

static Expected<std::vector<int64_t>>
broadcastShapes(llvm::ArrayRef<int64_t> lo, llvm::ArrayRef<int64_t> hi) {
  std::vector<int64_t> shape(std::max(lo.size(), hi.size()), 1);
  for (llvm::ArrayRef<int64_t> own : {lo, hi})
    for (size_t i = 1; i <= own.size(); ++i) {
      int64_t dim = own[own.size() - i];
      int64_t &common = shape[shape.size() - i];
      if (common != 1 && dim != 1 && common != dim)
        return fail("'lo' and 'hi' do not broadcast to one shape");
      common = std::max(common, dim);
    }
  return shape;
}

/// Elements of a slice along an axis, within one slice along those before it.
static size_t sizeOfSlice(const Array &array, size_t axis) {
  size_t size = 1;
  for (int64_t dim : llvm::ArrayRef(array.shape).drop_front(axis + 1))
    size *= size_t(dim);
  return size;
}

/// The slices of an array along an axis are all alike.
static bool repeatsAlong(const Array &array, size_t axis) {
  size_t inner = sizeOfSlice(array, axis);
  size_t block = inner * size_t(array.shape[axis]);
  for (size_t first = 0; first < array.values.size(); first += block)
    for (size_t at = first + inner; at < first + block; ++at)
      if (array.values[at] != array.values[at - inner])
        return false;
  return true;
}

/// Keeps the first slice along an axis.
static void keepFirst(Array &array, size_t axis) {
  size_t inner = sizeOfSlice(array, axis);
  size_t block = inner * size_t(array.shape[axis]), kept = 0;
  for (size_t first = 0; first < array.values.size(); first += block)
    for (size_t at = first; at < first + inner; ++at)
      array.values[kept++] = array.values[at];
  array.values.resize(kept);
  array.shape[axis] = 1;
}

static Expected<NpzRange> makeBounds(Array lo, Array hi) {
  Expected<std::vector<int64_t>> common = broadcastShapes(lo.shape, hi.shape);
  if (!common)
    return common.takeError();
  const std::vector<int64_t> &shape = *common;
  uint64_t count = 1;
  for (int64_t dim : shape)
    if ((count *= uint64_t(dim)) > kMaxBounds)
      return fail("'lo' and 'hi' broadcast to more than 2^26 elements");
  lo = broadcast(lo, shape);
  hi = broadcast(hi, shape);
  for (size_t i = 0; i < lo.values.size(); ++i) {
    if (lo.values[i] > hi.values[i])
      return fail("bounds are empty: 'lo' is above 'hi'");
    if (lo.values[i] == kInfinity || hi.values[i] == -kInfinity)
      return fail("bounds hold no finite value");
  }
  NpzRange range;
  range.bound = {getHull(lo.values).lo, getHull(hi.values).hi};
  // Bounds that do not differ along an axis are those of the whole axis.
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1 && repeatsAlong(lo, axis) && repeatsAlong(hi, axis)) {
      keepFirst(lo, axis);
      keepFirst(hi, axis);
    }
  if (lo.values.size() > 1)
    range.elements = std::make_shared<ElementBounds>(ElementBounds{
        std::move(lo.shape), std::move(lo.values), std::move(hi.values)});
  return range;
}

static std::shared_ptr<const std::vector<double>>
makeShares(std::vector<double> counts, double total) {
  for (double &count : counts)
    count /= total;
  return std::make_shared<const std::vector<double>>(std::move(counts));
}

/// More classes than this are not counted one by one.
static constexpr size_t kMostClasses = size_t(1) << 20;

namespace {
/// How often each class number occurs; other integers are not counted.
class ClassCounts {
public:
  void add(double value) {
    isClass = isClass && value == std::trunc(value) && value < kMostClasses;
    if (!isClass || value < 0)
      return;
    auto number = size_t(value);
    if (number >= counts.size())
      counts.resize(number + 1);
    ++counts[number];
    ++total;
  }
  std::shared_ptr<const std::vector<double>> take() {
    return isClass && total ? makeShares(std::move(counts), total) : nullptr;
  }

private:
  std::vector<double> counts;
  double total = 0;
  bool isClass = true;
};
} // namespace

static Expected<NpzRange> readFrequencies(const ZipMember &member) {
  Expected<Array> array = readBounds(member, "frequencies");
  if (!array)
    return array.takeError();
  double total = 0, mean = 0, squares = 0;
  for (auto [index, count] : llvm::enumerate(array->values)) {
    if (!(count >= 0) || std::isinf(count))
      return fail("'frequencies' has an element that is no count");
    total += count;
    mean += count * double(index);
    squares += count * double(index) * double(index);
  }
  if (array->shape.size() != 1 || !(total > 0) || std::isinf(total))
    return fail("'frequencies' is not a list of numbers with a positive sum");
  mean /= total;
  NpzRange range;
  range.bound = {0, double(array->values.size() - 1)};
  range.mean = mean;
  range.std = std::sqrt(std::max(0.0, squares / total - mean * mean));
  range.frequencies = makeShares(std::move(array->values), total);
  return range;
}

namespace {
/// The first evaluations of a sample, as many as are worth their time: the
/// range analysis evaluates ops on them (lib/Ranges/Samples).
class FirstValues {
public:
  void begin(const NpyHeader &header) {
    if (header.byColumns || header.shape.empty() || header.count == 0)
      return;
    values.shape = header.shape;
    int64_t row = int64_t(header.count) / header.shape.front();
    values.shape.front() =
        std::min(header.shape.front(), std::max<int64_t>(kMost / row, 1));
    wanted = size_t(values.shape.front() * row);
    if (wanted > size_t(kMost))
      wanted = 0;
  }
  void add(llvm::ArrayRef<double> block) {
    llvm::append_range(
        values.numbers,
        block.take_front(wanted - std::min(wanted, values.numbers.size())));
  }
  std::shared_ptr<const SampleValues> take() {
    return wanted ? std::make_shared<const SampleValues>(std::move(values))
                  : nullptr;
  }

private:
  /// 16 MiB: a picture of 1,024 x 1,024, half a minute of sound at 44 kHz.
  static constexpr int64_t kMost = int64_t(1) << 22;
  SampleValues values;
  size_t wanted = 0;
};
} // namespace

static Expected<NpzRange> readSample(const ZipMember &member, StringRef name) {
  double sum = 0, squares = 0, count = 0;
  Interval hull{kInfinity, -kInfinity};
  ClassCounts counts;
  SampleGroups groups;
  FirstValues values;
  auto begin = [&](const NpyHeader &header) {
    groups.begin(header);
    values.begin(header);
    return Error::success();
  };
  auto visit = [&](llvm::ArrayRef<double> block) {
    for (double value : block) {
      hull.lo = std::min(hull.lo, value);
      hull.hi = std::max(hull.hi, value);
      sum += value;
      squares += value * value;
      counts.add(value);
    }
    count += double(block.size());
    groups.add(block);
    values.add(block);
  };
  if (Error error = readNpy(member, name, begin, visit))
    return std::move(error);
  double mean = sum / count;
  auto frequencies = counts.take();
  return NpzRange{hull,
                  frequencies ? nullptr : groups.take(),
                  mean,
                  std::sqrt(std::max(0.0, squares / count - mean * mean)),
                  std::move(frequencies),
                  values.take()};
}

namespace {
/// The members of an archive that describe one input.
struct InputMembers {
  std::optional<ZipMember> lo, hi, frequencies, sample;
};
} // namespace

static Expected<InputMembers> findMembers(StringRef zip, StringRef input) {
  Expected<std::map<std::string, ZipMember>> members = readMembers(zip);
  if (!members)
    return members.takeError();
  auto find = [&](StringRef name) -> std::optional<ZipMember> {
    auto found = members->find(name.str() + ".npy");
    return found == members->end() ? std::nullopt
                                   : std::optional(found->second);
  };
  InputMembers found;
  found.lo = find("lo");
  found.hi = find("hi");
  if (found.lo && found.hi)
    return found;
  if ((found.frequencies = find("frequencies")))
    return found;
  if ((found.sample = find(input)))
    return found;
  return fail("has neither 'lo' and 'hi' nor '" + input + "'");
}

static Expected<NpzRange> readRange(StringRef zip, StringRef input) {
  Expected<InputMembers> members = findMembers(zip, input);
  if (!members)
    return members.takeError();
  if (members->sample)
    return readSample(*members->sample, input);
  if (members->frequencies)
    return readFrequencies(*members->frequencies);
  Expected<Array> lo = readBounds(*members->lo, "lo");
  if (!lo)
    return lo.takeError();
  Expected<Array> hi = readBounds(*members->hi, "hi");
  if (!hi)
    return hi.takeError();
  return makeBounds(std::move(*lo), std::move(*hi));
}

// Ends the reader behind the header.
static Expected<std::vector<int64_t>> readShape(const ZipMember &member,
                                                StringRef name) {
  std::optional<std::vector<int64_t>> shape;
  auto begin = [&](const NpyHeader &header) -> Error {
    shape = header.shape;
    return fail("the elements are not read");
  };
  Error error = readNpy(member, name, begin, [](llvm::ArrayRef<double>) {});
  if (!shape)
    return std::move(error);
  llvm::consumeError(std::move(error));
  return *shape;
}

static Expected<NpzShapes> readShapes(StringRef zip, StringRef input) {
  Expected<InputMembers> members = findMembers(zip, input);
  if (!members)
    return members.takeError();
  NpzShapes shapes;
  if (members->frequencies)
    return shapes;
  if (members->sample) {
    Expected<std::vector<int64_t>> shape = readShape(*members->sample, input);
    if (!shape)
      return shape.takeError();
    shapes.sample = std::move(*shape);
    return shapes;
  }
  Expected<std::vector<int64_t>> lo = readShape(*members->lo, "lo");
  if (!lo)
    return lo.takeError();
  Expected<std::vector<int64_t>> hi = readShape(*members->hi, "hi");
  if (!hi)
    return hi.takeError();
  Expected<std::vector<int64_t>> common = broadcastShapes(*lo, *hi);
  if (!common)
    return common.takeError();
  if (llvm::any_of(*common, [](int64_t dim) { return dim != 1; }))
    shapes.bounds = std::move(*common);
  return shapes;
}

template <typename Result>
static Expected<Result> readFile(StringRef file, StringRef input,
                                 Expected<Result> (*read)(StringRef,
                                                          StringRef)) {
  auto wrong = [&](Error error) {
    return fail("--input: '" + file + "' " + llvm::toString(std::move(error)));
  };
  Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer = readInputFile(file);
  if (!buffer)
    return wrong(buffer.takeError());
  Expected<Result> result = read((*buffer)->getBuffer(), input);
  if (!result)
    return wrong(result.takeError());
  return result;
}

Expected<NpzShapes> mpopt::readNpzShapes(StringRef file, StringRef input) {
  return readFile(file, input, readShapes);
}

Expected<NpzRange> mpopt::readNpzRange(StringRef file, StringRef input) {
  return readFile(file, input, readRange);
}
