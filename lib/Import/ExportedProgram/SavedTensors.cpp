//===- SavedTensors.cpp - The tensors of a dict that was saved ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Until 2.8 torch.export.save leaves weights to torch.save: an archive in the
// archive, with a pickle of protocol 2 and a record for each storage. Opcodes
// are those of Python's pickletools that torch.save emits for a dict of
// tensors. A value is its number in a table, so that a pickle of n bytes makes
// n values at most, however often it repeats one. Calls are not run: those of
// PyTorch that rebuild tensors are read, any other one gives an opaque value.
//
//===----------------------------------------------------------------------===//

#include "SavedTensors.h"

#include "mpopt/Import/ArchiveLimits.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

using namespace mpopt;
using namespace mpopt::exported;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// A tensor takes 120 bytes of a pickle and 12 values or more: both are reached
/// by 350,000 tensors, and the values take 56 bytes each.
static constexpr uint64_t kMaxPickle = 64 << 20;
static constexpr size_t kMaxValues = 1 << 22;
static constexpr size_t kMaxRank = 64;
static constexpr uint64_t kMaxWord = 1024; ///< of names, too

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

/// The c10::ScalarType of a class of storages, or of a dtype; -1 for others.
static int scalarTypeOf(StringRef name) {
  return llvm::StringSwitch<int>(name)
      .Case("torch\nByteStorage", 0)
      .Case("torch\nCharStorage", 1)
      .Case("torch\nShortStorage", 2)
      .Case("torch\nIntStorage", 3)
      .Case("torch\nLongStorage", 4)
      .Case("torch\nHalfStorage", 5)
      .Case("torch\nFloatStorage", 6)
      .Case("torch\nDoubleStorage", 7)
      .Case("torch\nComplexFloatStorage", 9)
      .Case("torch\nComplexDoubleStorage", 10)
      .Case("torch\nBoolStorage", 11)
      .Case("torch\nBFloat16Storage", 15)
      .Case("torch\nfloat8_e5m2", 23)
      .Case("torch\nfloat8_e4m3fn", 24)
      .Case("torch\nfloat8_e5m2fnuz", 25)
      .Case("torch\nfloat8_e4m3fnuz", 26)
      .Case("torch\nuint16", 27)
      .Case("torch\nuint32", 28)
      .Case("torch\nuint64", 29)
      .Case("torch\nfloat8_e8m0fnu", 44)
      .Default(-1);
}

namespace {

struct Value {
  enum class Kind { Opaque, Integer, String, Global, Tuple, Storage, Tensor };
  Kind kind = Kind::Opaque;
  int64_t integer = 0;
  /// A string; of a global its module and its name, in two lines. Of an opaque
  /// value nothing.
  StringRef text;
  std::vector<uint32_t> members; ///< of a tuple; keys and values of a dict
  size_t tensor = 0; ///< place in the table; of a storage its key and dtype
};

/// The machine that a pickle is a program of.
class PickleReader {
public:
  explicit PickleReader(StringRef bytes) : bytes(bytes) {}

  Expected<std::vector<SavedTensor>> run();

private:
  using Kind = Value::Kind;
  enum : uint32_t { kMark = UINT32_MAX };

  bool step(uint8_t opcode);
  bool readNumber(uint8_t opcode);
  bool readText(unsigned width);
  bool readGlobal();
  bool remember(unsigned width), recall(unsigned width);
  bool wrap(size_t count);
  bool wrapMarked();
  bool addItems(size_t first, bool isMarked);
  bool call();
  bool findStorage();
  StringRef nameOf(uint32_t value) const;
  bool readSizes(uint32_t tuple, std::vector<int64_t> &sizes) const;
  std::optional<SavedTensor> readTensor(ArrayRef<uint32_t> arguments) const;
  std::optional<SavedTensor> rebuild(StringRef function,
                                     ArrayRef<uint32_t> arguments) const;

  void push(Value value) {
    values.push_back(std::move(value));
    stack.push_back(uint32_t(values.size() - 1));
  }
  void add(Value &value, Kind kind, SavedTensor tensor) {
    value.kind = kind;
    value.tensor = tensors.size();
    tensors.push_back(std::move(tensor));
  }
  bool pushInteger(int64_t number) {
    Value value;
    value.kind = Kind::Integer;
    value.integer = number;
    push(std::move(value));
    return true;
  }
  /// True if the topmost `count` entries are values.
  bool has(size_t count) const {
    return stack.size() >= count &&
           !llvm::is_contained(ArrayRef(stack).take_back(count), kMark);
  }
  /// The position after the last mark; 0 without any.
  size_t findMark() const {
    size_t index = stack.size();
    while (index > 0 && stack[index - 1] != kMark)
      --index;
    return index;
  }
  bool take(unsigned width, uint64_t &number) {
    if (bytes.size() - at < width)
      return false;
    number = 0;
    for (unsigned byte = 0; byte < width; ++byte)
      number |= uint64_t(uint8_t(bytes[at + byte])) << (8 * byte);
    at += width;
    return true;
  }

  StringRef bytes;
  size_t at = 0;
  std::vector<Value> values;
  std::vector<SavedTensor> tensors;
  llvm::SmallVector<uint32_t> stack; ///< numbers of values, and marks
  llvm::DenseMap<uint64_t, uint32_t> memo;
};

} // namespace

bool PickleReader::wrap(size_t count) {
  if (!has(count))
    return false;
  Value tuple;
  tuple.kind = Kind::Tuple;
  tuple.members.assign(stack.end() - int64_t(count), stack.end());
  stack.truncate(stack.size() - count);
  push(std::move(tuple));
  return true;
}

bool PickleReader::wrapMarked() {
  size_t first = findMark();
  if (first == 0 || !wrap(stack.size() - first))
    return false;
  stack.erase(stack.end() - 2); // the mark below
  return true;
}

/// Adds everything from `first` on to the value below, with a mark in between.
bool PickleReader::addItems(size_t first, bool isMarked) {
  if (first < size_t(isMarked) + 1 ||
      stack[first - 1 - size_t(isMarked)] == kMark)
    return false;
  Value &target = values[stack[first - 1 - size_t(isMarked)]];
  target.members.insert(target.members.end(), stack.begin() + int64_t(first),
                        stack.end());
  stack.truncate(first - size_t(isMarked));
  return true;
}

bool PickleReader::readNumber(uint8_t opcode) {
  uint64_t number = 0, length = 0;
  switch (opcode) {
  case 'K': // BININT1
  case 'M': // BININT2
    return take(opcode == 'K' ? 1 : 2, number) && pushInteger(int64_t(number));
  case 'J': // BININT
    return take(4, number) && pushInteger(int32_t(uint32_t(number)));
  case 'G': // BINFLOAT
    push({});
    return take(8, number);
  case 0x8a: // LONG1, of 8 bytes and fewer
    return take(1, length) && length <= 8 && take(unsigned(length), number) &&
           pushInteger(length ? llvm::SignExtend64(number, unsigned(8 * length))
                              : 0);
  default:
    return false;
  }
}

bool PickleReader::readText(unsigned width) {
  uint64_t length = 0;
  if (!take(width, length) || bytes.size() - at < length)
    return false;
  Value value;
  value.kind = Kind::String;
  value.text = bytes.substr(at, size_t(length));
  at += size_t(length);
  push(std::move(value));
  return true;
}

bool PickleReader::readGlobal() {
  size_t middle = bytes.find('\n', at);
  size_t end =
      middle == StringRef::npos ? middle : bytes.find('\n', middle + 1);
  if (end == StringRef::npos)
    return false;
  Value value;
  value.kind = Kind::Global;
  value.text = bytes.slice(at, end);
  at = end + 1;
  push(std::move(value));
  return true;
}

bool PickleReader::remember(unsigned width) {
  uint64_t key = 0;
  if (!has(1) || !take(width, key))
    return false;
  memo[key] = stack.back();
  return true;
}

bool PickleReader::recall(unsigned width) {
  uint64_t key = 0;
  if (!take(width, key))
    return false;
  auto known = memo.find(key);
  if (known == memo.end())
    return false;
  stack.push_back(known->second);
  return true;
}

StringRef PickleReader::nameOf(uint32_t value) const {
  return values[value].kind == Kind::Global ? values[value].text : StringRef();
}

/// `('storage', class, key, device, number of elements)`, which torch.save has
/// as the name of a record.
bool PickleReader::findStorage() {
  if (!has(1))
    return false;
  ArrayRef<uint32_t> members = values[stack.pop_back_val()].members;
  Value storage;
  if (members.size() >= 3 && values[members[0]].text == "storage" &&
      values[members[2]].kind == Kind::String &&
      values[members[2]].text.size() <= kMaxWord) {
    SavedTensor tensor;
    tensor.storage = values[members[2]].text.str();
    tensor.scalarType = scalarTypeOf(nameOf(members[1]));
    add(storage, Kind::Storage, std::move(tensor));
  }
  push(std::move(storage));
  return true;
}

bool PickleReader::readSizes(uint32_t tuple,
                             std::vector<int64_t> &sizes) const {
  if (values[tuple].members.size() > kMaxRank)
    return false;
  for (uint32_t member : values[tuple].members) {
    if (values[member].kind != Kind::Integer)
      return false;
    sizes.push_back(values[member].integer);
  }
  return true;
}

/// `(storage, offset, sizes, strides, requires_grad, hooks[, dtype,
/// metadata])`, the arguments of _rebuild_tensor_v2 and v3.
std::optional<SavedTensor>
PickleReader::readTensor(ArrayRef<uint32_t> arguments) const {
  if (arguments.size() < 6 || values[arguments[0]].kind != Kind::Storage ||
      values[arguments[1]].kind != Kind::Integer)
    return std::nullopt;
  SavedTensor tensor = tensors[values[arguments[0]].tensor];
  tensor.offset = values[arguments[1]].integer;
  tensor.requiresGrad = values[arguments[4]].integer != 0;
  if (arguments.size() > 6)
    tensor.scalarType = scalarTypeOf(nameOf(arguments[6]));
  if (tensor.scalarType < 0 || !readSizes(arguments[2], tensor.sizes) ||
      !readSizes(arguments[3], tensor.strides) ||
      tensor.sizes.size() != tensor.strides.size())
    return std::nullopt;
  return tensor;
}

/// The result of a call; null for an opaque value. A tensor with attributes is
/// `_rebuild_from_type_v2(function, class, arguments, attributes)`, and one of
/// PyTorch's own classes what it is without them.
std::optional<SavedTensor>
PickleReader::rebuild(StringRef function, ArrayRef<uint32_t> arguments) const {
  if (function == "torch._tensor\n_rebuild_from_type_v2" &&
      arguments.size() > 2 &&
      llvm::is_contained({StringRef("torch\nTensor"),
                          StringRef("torch.nn.parameter\nParameter"),
                          StringRef("torch.nn.parameter\nBuffer")},
                         nameOf(arguments[1]))) {
    function = nameOf(arguments[0]);
    arguments = values[arguments[2]].members;
  }
  if (!function.consume_front("torch._utils\n_rebuild_"))
    return std::nullopt;
  if (function == "tensor_v2" || function == "tensor_v3")
    return readTensor(arguments);
  if (function != "parameter" && function != "parameter_with_state")
    return std::nullopt;
  if (arguments.size() < 2 || values[arguments[0]].kind != Kind::Tensor)
    return std::nullopt;
  SavedTensor tensor = tensors[values[arguments[0]].tensor];
  tensor.isParameter = true;
  tensor.requiresGrad = values[arguments[1]].integer != 0;
  return tensor;
}

bool PickleReader::call() {
  if (!has(2))
    return false;
  uint32_t arguments = stack.pop_back_val(), function = stack.pop_back_val();
  Value result;
  if (std::optional<SavedTensor> tensor =
          rebuild(nameOf(function), values[arguments].members))
    add(result, Kind::Tensor, std::move(*tensor));
  push(std::move(result));
  return true;
}

bool PickleReader::step(uint8_t opcode) {
  uint64_t unused = 0;
  switch (opcode) {
  case 0x80: // PROTO
    return take(1, unused);
  case '(': // MARK
    stack.push_back(kMark);
    return true;
  case 'N': // NONE
  case ')': // EMPTY_TUPLE
  case ']': // EMPTY_LIST, and a dict
  case '}':
    push({});
    return true;
  case 0x88: // NEWTRUE
  case 0x89: // NEWFALSE
    return pushInteger(opcode == 0x88);
  case 'X': // BINUNICODE
  case 'U': // SHORT_BINSTRING
    return readText(opcode == 'X' ? 4 : 1);
  case 0x85: // TUPLE1
  case 0x86: // TUPLE2
  case 0x87: // TUPLE3
    return wrap(opcode - 0x84);
  case 't': // TUPLE
    return wrapMarked();
  case 'e': // APPENDS
  case 'u': // SETITEMS
    return addItems(findMark(), /*isMarked=*/true);
  case 'b': // BUILD: attributes of a dict are not read
    return has(2) && (stack.pop_back(), true);
  case 'a': // APPEND
    return has(2) && addItems(stack.size() - 1, /*isMarked=*/false);
  case 's': // SETITEM
    return has(3) && addItems(stack.size() - 2, /*isMarked=*/false);
  case 'c': // GLOBAL
    return readGlobal();
  case 'R':  // REDUCE
  case 0x81: // NEWOBJ
    return call();
  case 'Q': // BINPERSID
    return findStorage();
  case 'q': // BINPUT
  case 'r': // LONG_BINPUT
    return remember(opcode == 'q' ? 1 : 4);
  case 'h': // BINGET
  case 'j': // LONG_BINGET
    return recall(opcode == 'h' ? 1 : 4);
  default:
    return readNumber(opcode);
  }
}

Expected<std::vector<SavedTensor>> PickleReader::run() {
  uint64_t opcode = 0;
  do {
    if (!take(1, opcode))
      return fail("has a pickle of weights without an end");
    if (values.size() > kMaxValues)
      return fail("has more weights than any model");
    if (opcode != '.' && !step(uint8_t(opcode)))
      return fail("has a damaged pickle of weights, at byte " + Twine(at));
  } while (opcode != '.');
  std::vector<SavedTensor> named;
  if (!has(1))
    return named;
  ArrayRef<uint32_t> items = values[stack.back()].members;
  for (size_t index = 0; index + 1 < items.size(); index += 2) {
    const Value &key = values[items[index]], &value = values[items[index + 1]];
    if (key.kind != Kind::String || key.text.size() > kMaxWord ||
        value.kind != Kind::Tensor)
      continue;
    named.push_back(tensors[value.tensor]);
    named.back().name = key.text.str();
  }
  return named;
}

namespace {
/// The members of an archive of torch.save, by name below its folder.
struct SavedArchive {
  std::vector<ZipMember> members;
  llvm::StringMap<const ZipMember *> byName;

  Error open(StringRef bytes);
  Expected<std::string> read(StringRef name, uint64_t maxSize) const;
};
} // namespace

Error SavedArchive::open(StringRef bytes) {
  Expected<std::vector<ZipMember>> found = readZipDirectory(bytes);
  if (!found)
    return fail("has weights in a file that " +
                llvm::toString(found.takeError()));
  members = std::move(*found);
  if (Error error = checkMembers(members))
    return error;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  std::optional<StringRef> folder;
  for (const ZipMember &member : members) {
    if (!member.bytes.empty())
      ranges.push_back({member.offset, member.offset + member.bytes.size()});
    if (StringRef name = member.name; name.consume_back("data.pkl"))
      folder = name;
  }
  if (Error error = checkOverlaps(std::move(ranges)))
    return error;
  if (!folder)
    return fail("has weights in a file that torch.save did not write");
  for (const ZipMember &member : members)
    if (StringRef name = member.name; name.consume_front(*folder) &&
                                      !byName.try_emplace(name, &member).second)
      return fail("has two members " + quoteName(name) + " of weights");
  return Error::success();
}

Expected<std::string> SavedArchive::read(StringRef name,
                                         uint64_t maxSize) const {
  Expected<std::string> text = unpackZipMember(*byName.lookup(name), maxSize);
  if (!text)
    return fail("has a damaged member " + quoteName(name) + " of weights (" +
                llvm::toString(text.takeError()) + ")");
  return text;
}

Expected<std::vector<SavedTensor>>
exported::readSavedTensors(const Record &file) {
  SavedArchive archive;
  if (Error error = archive.open(file.bytes))
    return std::move(error);
  // Archives of PyTorch 2.0 and earlier do not have it.
  if (archive.byName.contains("byteorder")) {
    Expected<std::string> order = archive.read("byteorder", kMaxWord);
    if (!order || StringRef(*order).trim() != "little")
      return order ? fail("has weights that are not little-endian")
                   : order.takeError();
  }
  Expected<std::string> pickle = archive.read("data.pkl", kMaxPickle);
  if (!pickle)
    return pickle.takeError();
  Expected<std::vector<SavedTensor>> tensors = PickleReader(*pickle).run();
  if (!tensors)
    return tensors;
  for (SavedTensor &tensor : *tensors) {
    const ZipMember *storage = archive.byName.lookup("data/" + tensor.storage);
    if (!storage || !storage->isStored())
      return fail("lacks the record of tensor " + quoteName(tensor.name));
    tensor.record = {file.offset + storage->offset, storage->bytes};
  }
  return tensors;
}
