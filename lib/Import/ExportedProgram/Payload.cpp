//===- Payload.cpp - Parameters, buffers and constants --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record is the storage of one or more tensors; each says by its strides and
// its offset where in it its elements lie.
//
//===----------------------------------------------------------------------===//

#include "Payload.h"

#include "SavedTensors.h"
#include "TensorMeta.h"

#include "mpopt/Import/ArchiveLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mpopt;
using namespace mpopt::exported;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

/// Bytes of an element of c10::ScalarType `number`.
static int64_t widthOf(int number) {
  switch (number) {
  case 2: // short
  case 5:
  case 15:
  case 27:
    return 2;
  case 3: // int
  case 6:
  case 8:
  case 28:
    return 4;
  case 4: // long
  case 7:
  case 9:
  case 29:
    return 8;
  case 10: // complex double
    return 16;
  default:
    return 1;
  }
}

Payload::Payload(const Archive &archive, bool isMapped, Damage &damage)
    : archive(archive), isMapped(isMapped), damage(damage),
      budget(archive.size()) {
  for (StringRef part : {"weights", "constants"})
    readPart(part);
}

const aten::Tensor *Payload::find(StringRef name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

void Payload::readPart(StringRef part) {
  std::string folder = ("data/" + part + "/").str();
  std::string config =
      (folder + archive.model() + "_" + part + "_config.json").str();
  // A program without constants may lack both lists of them.
  if (archive.contains(config))
    readConfig(folder, config);
  else if (std::string saved = archive.savedMember(part);
           archive.contains(saved))
    readSaved(saved);
}

void Payload::readConfig(StringRef folder, StringRef config) {
  llvm::Expected<json::Value> document = archive.readJson(config);
  if (!document)
    return damage.report("the archive " + llvm::toString(document.takeError()),
                         ImportCode::UnsafeArchive);
  for (const auto &[name, value] :
       getObject(asObject(*document, "config", damage), "config", damage))
    readTensor(folder, name, asObject(value, "config", damage));
}

void Payload::readSaved(StringRef member) {
  std::optional<Record> file = archive.findRecord(member);
  if (!file)
    return damage.report("the record '" + member +
                             "' is packed, and weights are read where they lie",
                         ImportCode::DataLength);
  // torch.save writes nothing into it where there is nothing to save.
  if (file->bytes.empty())
    return;
  llvm::Expected<std::vector<SavedTensor>> saved = readSavedTensors(*file);
  if (!saved)
    return damage.report("the archive " + llvm::toString(saved.takeError()),
                         ImportCode::UnsafeArchive);
  for (const SavedTensor &each : *saved) {
    aten::Tensor tensor;
    tensor.name = each.name;
    tensor.scalarType = each.scalarType;
    tensor.sizes = each.sizes;
    tensor.strides = each.strides;
    tensor.requiresGrad = each.requiresGrad;
    tensor.isParameter = each.isParameter;
    tensor.memory = memoryOf((member + "/" + each.storage).str());
    place(tensor, each.record, each.offset);
    if (damage.isThere())
      return;
    tensors.emplace(each.name, std::move(tensor));
  }
}

/// A number for a record: tensors that share one share memory.
int64_t Payload::memoryOf(StringRef record) {
  return memory.try_emplace(record.str(), memory.size()).first->second;
}

/// True if every element of the storage between the first and the last is one
/// of the tensor, once but for dims that repeat it.
static bool isDense(const aten::Tensor &tensor) {
  llvm::SmallVector<size_t> order(tensor.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t lhs, size_t rhs) {
    return tensor.strides[lhs] < tensor.strides[rhs];
  });
  int64_t expected = 1;
  for (size_t dim : order) {
    if (tensor.sizes[dim] == 1 || tensor.strides[dim] == 0)
      continue;
    if (tensor.strides[dim] != expected)
      return false;
    expected *= tensor.sizes[dim];
  }
  return true;
}

/// The sizes without dims that repeat elements.
static std::vector<int64_t> distinctSizes(const aten::Tensor &tensor) {
  std::vector<int64_t> sizes = tensor.sizes;
  for (auto [size, stride] : llvm::zip_equal(sizes, tensor.strides))
    if (stride == 0 && size > 1)
      size = 1;
  return sizes;
}

/// Strides of gathered elements.
static std::vector<int64_t> rowMajor(const aten::Tensor &tensor) {
  std::vector<int64_t> strides(tensor.sizes.size());
  int64_t stride = 1;
  for (size_t dim = strides.size(); dim-- > 0;) {
    if (tensor.strides[dim] == 0 && tensor.sizes[dim] > 1)
      continue;
    strides[dim] = stride;
    stride *= std::max<int64_t>(tensor.sizes[dim], 1);
  }
  return strides;
}

/// The elements in row-major order, without those that are repeated; `first` is
/// the place of the first one.
static std::string gather(const aten::Tensor &tensor, StringRef storage,
                          int64_t first, int64_t count, int64_t width) {
  std::string bytes;
  bytes.reserve(size_t(count * width));
  std::vector<int64_t> sizes = distinctSizes(tensor), index(sizes.size());
  int64_t at = first;
  for (int64_t element = 0; element < count; ++element) {
    bytes += storage.substr(size_t(at * width), size_t(width));
    for (size_t dim = index.size(); dim-- > 0;) {
      at += tensor.strides[dim];
      if (++index[dim] < sizes[dim])
        break;
      at -= tensor.strides[dim] * sizes[dim];
      index[dim] = 0;
    }
  }
  return bytes;
}

void Payload::place(aten::Tensor &tensor, const Record &record, int64_t first) {
  // The number of the last element that is read, and of elements.
  int64_t last = first, count = 1, width = widthOf(tensor.scalarType);
  bool overflows = first < 0;
  for (auto [size, stride] : llvm::zip_equal(tensor.sizes, tensor.strides)) {
    int64_t extent = 0;
    overflows |=
        size < 0 || stride < 0 || llvm::MulOverflow(count, size, count) ||
        llvm::MulOverflow(std::max<int64_t>(size - 1, 0), stride, extent) ||
        llvm::AddOverflow(last, extent, last);
  }
  int64_t end = 0;
  overflows |= llvm::AddOverflow<int64_t>(last, 1, end) ||
               llvm::MulOverflow(end, width, end) ||
               llvm::MulOverflow(count, width, count);
  if (overflows)
    return damage.report("tensor '" + tensor.name +
                             "' has sizes or strides that no memory holds",
                         ImportCode::SizeOverflow);
  count /= width;
  if (count == 0)
    return;
  if (uint64_t(end) > record.bytes.size())
    return damage.report("tensor '" + tensor.name + "' reaches to byte " +
                             Twine(end) + " of a record of " +
                             Twine(record.bytes.size()),
                         ImportCode::DataLength);
  if (isDense(tensor) && isMapped) {
    tensor.fileOffset = int64_t(record.offset) + first * width;
    return;
  }
  int64_t distinct = 1;
  for (int64_t size : distinctSizes(tensor))
    distinct *= size;
  if (!budget.take(uint64_t(distinct), uint64_t(width)))
    return damage.report("tensor '" + tensor.name +
                             "' repeats or leaves out elements, and would "
                             "unpack to " +
                             Twine(distinct) +
                             " of them: too many for the file",
                         ImportCode::SizeOverflow);
  tensor.bytes = gather(tensor, record.bytes, first, distinct, width);
  tensor.strides = rowMajor(tensor);
}

void Payload::readTensor(StringRef folder, StringRef name,
                         const json::Object &meta) {
  const json::Value *declared = meta.get("tensor_meta");
  // Objects of other classes have none.
  if (!declared || declared->kind() == json::Value::Null)
    return;
  TensorMeta type = readTensorMeta(asObject(*declared, "tensor_meta", damage),
                                   name, {}, damage);
  aten::Tensor tensor;
  tensor.name = name.str();
  tensor.scalarType = type.scalarType;
  tensor.sizes = type.sizes;
  tensor.strides = type.strides;
  tensor.requiresGrad = type.requiresGrad;
  tensor.isParameter = meta.getBoolean("is_param").value_or(false);
  if (tensor.sizes.size() != tensor.strides.size())
    return damage.report("tensor '" + name + "' has " +
                         Twine(tensor.sizes.size()) + " sizes and " +
                         Twine(tensor.strides.size()) + " strides");
  StringRef path = getString(meta, "path_name", damage);
  if (path.contains('/') || path.contains('\\') || path.starts_with("."))
    return damage.report("tensor '" + name + "' names the record " +
                             quoteName(path) + ", outside of its folder",
                         ImportCode::UnsafeArchive);
  tensor.memory = memoryOf((folder + path).str());
  if (meta.getBoolean("use_pickle").value_or(false)) {
    pickled.push_back(name.str());
  } else {
    std::string member = (folder + path).str();
    std::optional<Record> record = archive.findRecord(member);
    if (!record)
      return damage.report(archive.contains(member)
                               ? "the record '" + member +
                                     "' is packed, and weights are read where "
                                     "they lie"
                               : "the archive lacks the record '" + member +
                                     "' of tensor '" + name.str() + "'",
                           ImportCode::DataLength);
    place(tensor, *record, type.storageOffset);
  }
  if (damage.isThere())
    return;
  tensors.emplace(name.str(), std::move(tensor));
}
