//===- Checkpoint.cpp - The tensors of safetensors files ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Checkpoint/Checkpoint.h"

#include "mpopt/Report/Keys.h"
#include "mpopt/Support/BoundedJson.h"
#include "mpopt/Support/InputFile.h"
#include "mpopt/Support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

//===----------------------------------------------------------------------===//
// Dtypes and tensors
//===----------------------------------------------------------------------===//

// Dtype of safetensors/src/tensor.rs.
static constexpr StoredDtype kDtypes[] = {{"BOOL", "i1", 8},
                                          {"F4", "f4E2M1FN", 4},
                                          {"F6_E2M3", "f6E2M3FN", 6},
                                          {"F6_E3M2", "f6E3M2FN", 6},
                                          {"U8", "ui8", 8},
                                          {"I8", "i8", 8},
                                          {"F8_E5M2", "f8E5M2", 8},
                                          {"F8_E4M3", "f8E4M3FN", 8},
                                          {"F8_E8M0", "f8E8M0FNU", 8},
                                          {"F8_E4M3FNUZ", "f8E4M3FNUZ", 8},
                                          {"F8_E5M2FNUZ", "f8E5M2FNUZ", 8},
                                          {"I16", "i16", 16},
                                          {"U16", "ui16", 16},
                                          {"F16", "f16", 16},
                                          {"BF16", "bf16", 16},
                                          {"I32", "i32", 32},
                                          {"U32", "ui32", 32},
                                          {"F32", "f32", 32},
                                          {"C64", "complex64", 64},
                                          {"F64", "f64", 64},
                                          {"I64", "i64", 64},
                                          {"U64", "ui64", 64}};

const StoredDtype *StoredDtype::byWord(StringRef word) {
  const auto *found = llvm::find_if(
      kDtypes, [&](const StoredDtype &dtype) { return dtype.word == word; });
  return found == std::end(kDtypes) ? nullptr : found;
}

int64_t StoredTensor::count() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

std::string StoredTensor::shape() const {
  std::string text = "[";
  for (int64_t dim : dims)
    text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

// The end of an index's name, after which `model.safetensors.index.json` goes.
static constexpr StringRef kIndexEnding = ".safetensors.index.json";

bool Checkpoint::isNamed(StringRef path) {
  return path.ends_with(".safetensors") || path.ends_with(kIndexEnding);
}

Expected<Checkpoint> Checkpoint::read(StringRef path) {
  Checkpoint result;
  Error error = path.ends_with(kIndexEnding) ? result.readIndex(path)
                                             : result.readFile(path);
  if (error)
    return std::move(error);
  llvm::sort(result.held, [](const StoredTensor &a, const StoredTensor &b) {
    return a.name < b.name;
  });
  auto twice = llvm::adjacent_find(
      result.held, [](const StoredTensor &a, const StoredTensor &b) {
        return a.name == b.name;
      });
  if (twice != result.held.end())
    return fail("holds '" + printable(twice->name) + "' twice");
  StringRef folder = llvm::sys::path::parent_path(path);
  result.readSettingsFile(folder, "config.json", "quantization_config");
  result.readSettingsFile(folder, "hf_quant_config.json", "quantization");
  return result;
}

/// The object of a file of JSON.
static Expected<json::Value> readObject(StringRef path) {
  auto buffer = readInputFile(path);
  if (!buffer)
    return buffer.takeError();
  Expected<json::Value> value = parseJson((*buffer)->getBuffer());
  if (value && !value->getAsObject())
    return fail("is no object of JSON");
  return value;
}

Error Checkpoint::readIndex(StringRef path) {
  Expected<json::Value> value = readObject(path);
  if (!value)
    return value.takeError();
  settingsFiles.push_back(path.str());
  const json::Object *map = value->getAsObject()->getObject("weight_map");
  if (!map)
    return fail("is no index of safetensors files: it has no \"weight_map\"");
  std::vector<std::string> names;
  for (const auto &[tensor, file] : *map) {
    auto name = file.getAsString();
    // A name that leads elsewhere is none that a writer of checkpoints gives.
    if (!name || name->empty() || llvm::sys::path::is_absolute(*name) ||
        name->contains(".."))
      return fail("\"weight_map\": the file of '" + printable(tensor) +
                  "' is no name of a file beside it");
    names.push_back(name->str());
  }
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  for (const std::string &name : names) {
    llvm::SmallString<128> file(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(file, name);
    if (Error error = readFile(file))
      return fail(printable(name) + ": " + llvm::toString(std::move(error)));
  }
  llvm::StringMap<size_t> files;
  for (const StoredTensor &tensor : held)
    files[tensor.name] = tensor.file;
  for (const auto &[tensor, file] : *map) {
    auto found = files.find(StringRef(tensor));
    size_t wanted =
        llvm::lower_bound(names, *file.getAsString()) - names.begin();
    if (found == files.end() || found->second != wanted)
      return fail("\"weight_map\": '" + printable(*file.getAsString()) +
                  "' does not hold '" + printable(tensor) + "'");
  }
  return Error::success();
}

Error Checkpoint::readFile(StringRef path) {
  fs::file_status status;
  if (std::error_code code = fs::status(path, status))
    return fail("cannot be read: " + code.message());
  if (status.type() != fs::file_type::regular_file)
    return fail("is no regular file");
  uint64_t size = status.getSize(), length = 0;
  size_t file = shards.size();
  shards.push_back(path.str());
  StoredTensor bytes{.file = file, .bytes = size};
  if (size < sizeof(length))
    return fail("is no safetensors file: it has " + Twine(size) + " bytes");
  char head[sizeof(length)];
  if (Error error = read(bytes, 0, head))
    return error;
  length = llvm::support::endian::read64le(head);
  // The bound of safetensors' own reader.
  constexpr uint64_t kMostHeader = 100'000'000;
  if (length > kMostHeader || length > size - sizeof(length))
    return fail("is no safetensors file: its header would have " +
                Twine(length) + " bytes");
  std::string text(length, '\0');
  if (Error error = read(bytes, sizeof(length), {text.data(), text.size()}))
    return error;
  Expected<json::Value> header = parseJson(text);
  if (!header || !header->getAsObject()) {
    std::string why = header ? "is no object" : toString(header.takeError());
    return fail("its header " + why);
  }
  size_t first = held.size();
  for (const auto &[name, value] : *header->getAsObject())
    if (name != "__metadata__") {
      if (Error error = addTensor(name, value, sizeof(length) + length, size))
        return fail("'" + printable(name) +
                    "': " + llvm::toString(std::move(error)));
    } else if (const json::Object *metadata = value.getAsObject()) {
      readSettings(*metadata);
    }
  return checkPlaces(first);
}

Error Checkpoint::addTensor(StringRef name, const json::Value &value,
                            uint64_t data, uint64_t size) {
  const json::Object *object = value.getAsObject();
  const json::Array *shape = object ? object->getArray(keys::kShape) : nullptr;
  const json::Array *places =
      object ? object->getArray("data_offsets") : nullptr;
  auto word = object ? object->getString("dtype") : std::nullopt;
  if (!word || !shape || !places || places->size() != 2)
    return fail("needs dtype, shape and data_offsets");
  StoredTensor tensor{.name = name.str(), .file = shards.size() - 1};
  tensor.dtype = StoredDtype::byWord(*word);
  if (!tensor.dtype)
    return fail("there is no dtype '" + printable(*word) + "'");
  int64_t count = 1;
  for (const json::Value &dim : *shape) {
    auto number = dim.getAsInteger();
    auto product = number && *number >= 0 ? llvm::checkedMul(count, *number)
                                          : std::nullopt;
    if (!product)
      return fail("its shape is no list of sizes");
    tensor.dims.push_back(*number);
    count = *product;
  }
  auto begin = (*places)[0].getAsInteger(), end = (*places)[1].getAsInteger();
  auto bits = llvm::checkedMul(count, int64_t(tensor.dtype->bits));
  if (!begin || !end || *begin < 0 || *end < *begin ||
      uint64_t(*end) > size - data)
    return fail("its data_offsets are not within the file");
  if (!bits || *bits % 8 || *bits / 8 != *end - *begin)
    return fail("has " + Twine(*end - *begin) +
                " bytes, which are not those "
                "of " +
                *word + " " + tensor.shape());
  tensor.offset = data + *begin;
  tensor.bytes = *end - *begin;
  held.push_back(std::move(tensor));
  return Error::success();
}

/// No byte is in two tensors of a file.
Error Checkpoint::checkPlaces(size_t first) {
  std::vector<const StoredTensor *> order;
  for (const StoredTensor &tensor : llvm::ArrayRef(held).drop_front(first))
    order.push_back(&tensor);
  llvm::sort(order, [](const StoredTensor *a, const StoredTensor *b) {
    return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
  });
  for (size_t index = 1; index < order.size(); ++index)
    if (order[index]->offset <
        order[index - 1]->offset + order[index - 1]->bytes)
      return fail("'" + printable(order[index]->name) + "' begins within '" +
                  printable(order[index - 1]->name) + "'");
  return Error::success();
}

Error Checkpoint::read(const StoredTensor &tensor, uint64_t from,
                       llvm::MutableArrayRef<char> into) const {
  if (!open || open->file != tensor.file) {
    auto descriptor = fs::openNativeFileForRead(shards[tensor.file]);
    if (!descriptor)
      return descriptor.takeError();
    open = std::make_unique<Open>(tensor.file, *descriptor);
  }
  while (!into.empty()) {
    auto got =
        fs::readNativeFileSlice(open->descriptor, into, tensor.offset + from);
    if (!got)
      return got.takeError();
    if (*got == 0)
      return fail("became shorter while it was read");
    from += *got;
    into = into.drop_front(*got);
  }
  return Error::success();
}

const StoredTensor *Checkpoint::find(StringRef name) const {
  auto found = llvm::lower_bound(
      held, name, [](const StoredTensor &tensor, StringRef wanted) {
        return StringRef(tensor.name) < wanted;
      });
  return found != held.end() && found->name == name ? &*found : nullptr;
}

std::vector<std::string> Checkpoint::files() const {
  std::vector<std::string> all = shards;
  llvm::append_range(all, settingsFiles);
  return all;
}

//===----------------------------------------------------------------------===//
// How it was quantised
//===----------------------------------------------------------------------===//

/// transformers' `weight_block_size`, and what a group of compressed-tensors
/// says of weights. Metadata hold JSON as text.
void Checkpoint::readSettings(const json::Object &settings) {
  const json::Value *block = settings.get("weight_block_size");
  std::optional<json::Value> parsed;
  if (auto text = block ? block->getAsString() : std::nullopt) {
    Expected<json::Value> value = parseJson(*text);
    if (value)
      parsed = std::move(*value);
    else
      llvm::consumeError(value.takeError());
    block = parsed ? &*parsed : nullptr;
  }
  if (const json::Object *groups = settings.getObject("config_groups"))
    for (const auto &[name, group] : *groups)
      if (const json::Object *object = group.getAsObject())
        if (const json::Object *weights = object->getObject("weights"))
          if (const json::Value *structure = weights->get("block_structure"))
            block = structure;
  const json::Array *sizes = block ? block->getAsArray() : nullptr;
  if (!sizes || sizes->size() != 2)
    return;
  auto rows = (*sizes)[0].getAsInteger(), columns = (*sizes)[1].getAsInteger();
  if (rows && columns && *rows > 0 && *columns > 0)
    declared = {*rows, *columns};
}

void Checkpoint::readSettingsFile(StringRef folder, StringRef file,
                                  StringRef key) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, file);
  if (!fs::is_regular_file(path))
    return;
  // A file beside the checkpoint is no part of it: what is wrong with it is not
  // told here.
  Expected<json::Value> value = readObject(path);
  if (!value)
    return llvm::consumeError(value.takeError());
  settingsFiles.push_back(path.str().str());
  if (const json::Object *settings = value->getAsObject()->getObject(key))
    readSettings(*settings);
}
