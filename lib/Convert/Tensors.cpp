//===- Tensors.cpp - Weights on their way into another file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Tensors.h"

#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#include <bit>
#include <cstring>

using namespace mpopt;
using namespace mpopt::convert;
using llvm::ArrayRef;
using llvm::Expected;
using llvm::StringRef;
using onnx::TensorProto;

/// The key of the external_data entry that names the type of the data where it
/// is not the tensor's.
static constexpr llvm::StringLiteral kStoredKey = "mpopt.stored";

static StringRef findEntry(const TensorProto &tensor, StringRef key) {
  for (const auto &entry : tensor.external_data())
    if (entry.key() == key)
      return entry.value();
  return {};
}

static int32_t getStored(const TensorProto &tensor) {
  int32_t dtype;
  return findEntry(tensor, kStoredKey).getAsInteger(10, dtype)
             ? tensor.data_type()
             : dtype;
}

void convert::convertLater(TensorProto &tensor, int32_t dtype) {
  auto &entry = *tensor.add_external_data();
  entry.set_key(kStoredKey.str());
  entry.set_value(std::to_string(tensor.data_type()));
  tensor.set_data_type(dtype);
}

unsigned convert::getBits(int32_t dtype) {
  switch (dtype) {
  case TensorProto::COMPLEX128:
    return 128;
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
  case TensorProto::UINT64:
  case TensorProto::COMPLEX64:
    return 64;
  case TensorProto::FLOAT:
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return 32;
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return 16;
  case TensorProto::INT4:
  case TensorProto::UINT4:
  case TensorProto::FLOAT4E2M1:
    return 4;
  case TensorProto::INT2:
  case TensorProto::UINT2:
    return 2;
  case TensorProto::STRING:
  case TensorProto::UNDEFINED:
    return 0;
  default:
    return 8;
  }
}

/// The 16 bits of a finite or infinite number in a format with `mantissa` bits
/// and the exponent's `bias`, rounded to nearest even.
static uint16_t encode(float value, const FloatFormat &format, int mantissa,
                       int bias) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  auto sign = uint16_t(bits >> 16 & 0x8000);
  int width = 15 - mantissa; // of the exponent
  auto infinity = uint16_t(((1 << width) - 1) << mantissa);
  if (std::isnan(value))
    return uint16_t(sign | infinity | 1 << (mantissa - 1));
  if (std::isinf(value))
    return uint16_t(sign | infinity);
  double rounded = format.round(std::fabs(double(value)));
  if (std::isinf(rounded))
    return uint16_t(sign | (infinity - 1));
  if (rounded == 0)
    return sign;
  int exponent = std::max(std::ilogb(rounded), 1 - bias);
  auto digits = uint32_t(std::ldexp(rounded, mantissa - exponent));
  // The implicit bit adds one to the exponent of a normal number.
  return uint16_t(sign | (uint32_t(exponent + bias - 1) << mantissa) + digits);
}

void convert::narrow(ArrayRef<char> floats, int32_t to, char *out) {
  bool isHalf = to == TensorProto::FLOAT16;
  const FloatFormat &format = isHalf ? FloatFormat::f16() : FloatFormat::bf16();
  for (size_t at = 0; at + 4 <= floats.size(); at += 4, out += 2) {
    float value;
    std::memcpy(&value, floats.data() + at, 4);
    uint16_t bits =
        isHalf ? encode(value, format, 10, 15) : encode(value, format, 7, 127);
    std::memcpy(out, &bits, 2);
  }
}

void convert::widen(ArrayRef<char> halves, int32_t from, char *out) {
  const llvm::fltSemantics &semantics = from == TensorProto::FLOAT16
                                            ? llvm::APFloat::IEEEhalf()
                                            : llvm::APFloat::BFloat();
  for (size_t at = 0; at + 2 <= halves.size(); at += 2, out += 4) {
    uint16_t bits;
    std::memcpy(&bits, halves.data() + at, 2);
    float value =
        llvm::APFloat(semantics, llvm::APInt(16, bits)).convertToFloat();
    std::memcpy(out, &value, 4);
  }
}

bool TensorSource::isExternal(const TensorProto &tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

bool TensorSource::isPending(const TensorProto &tensor) {
  return tensor.external_data_size() > 0 || tensor.float_data_size() > 0;
}

uint64_t TensorSource::getSize(const TensorProto &tensor) {
  uint64_t count = 1;
  for (int64_t dim : tensor.dims())
    count *= uint64_t(std::max<int64_t>(dim, 0));
  return (count * getBits(tensor.data_type()) + 7) / 8;
}

void TensorSource::setRaw(TensorProto &tensor, std::string raw) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(raw));
}

Expected<ArrayRef<char>> TensorSource::find(const TensorProto &tensor,
                                            std::string &storage) {
  uint64_t offset = 0;
  if (isExternal(tensor)) {
    llvm::SmallString<256> path(llvm::sys::path::parent_path(file.path));
    llvm::sys::path::append(path, findEntry(tensor, "location"));
    (void)findEntry(tensor, "offset").getAsInteger(10, offset);
    TensorProto stored;
    *stored.mutable_dims() = tensor.dims();
    stored.set_data_type(getStored(tensor));
    return weights.bytes(path, int64_t(offset), int64_t(getSize(stored)));
  }
  size_t cut;
  if (!findEntry(tensor, onnx_import::kCutKey).getAsInteger(10, cut) &&
      cut < file.cuts.size())
    return ArrayRef<char>(file.bytes.data() + file.cuts[cut].offset,
                          file.cuts[cut].length);
  if (tensor.has_raw_data())
    return ArrayRef<char>(tensor.raw_data().data(), tensor.raw_data().size());
  auto view = [](const auto &list) {
    return ArrayRef<char>(reinterpret_cast<const char *>(list.data()),
                          list.size() * sizeof(*list.data()));
  };
  switch (getStored(tensor)) {
  case TensorProto::DOUBLE:
    return view(tensor.double_data());
  case TensorProto::INT64:
    return view(tensor.int64_data());
  case TensorProto::INT32:
    return view(tensor.int32_data());
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    for (int32_t value : tensor.int32_data()) {
      storage += char(value);
      storage += char(value >> 8);
    }
    return ArrayRef<char>(storage.data(), storage.size());
  default:
    return view(tensor.float_data());
  }
}

Expected<ArrayRef<char>> TensorSource::read(const TensorProto &tensor,
                                            std::string &storage) {
  std::string stored;
  Expected<ArrayRef<char>> data = find(tensor, stored);
  int32_t from = getStored(tensor), to = tensor.data_type();
  if (!data)
    return data;
  if (from == to) {
    if (stored.empty())
      return data;
    storage = std::move(stored);
  } else if (from == TensorProto::FLOAT) {
    storage.resize(data->size() / 2);
    narrow(*data, to, storage.data());
  } else {
    storage.resize(data->size() * 2);
    widen(*data, from, storage.data());
    if (to != TensorProto::FLOAT) {
      std::string wide = std::move(storage);
      storage.assign(data->size(), 0);
      narrow(wide, to, storage.data());
    }
  }
  return ArrayRef<char>(storage.data(), storage.size());
}

//===----------------------------------------------------------------------===//
// All tensors
//===----------------------------------------------------------------------===//

using Visit = llvm::function_ref<void(TensorProto &)>;

static void visitGraph(onnx::GraphProto &graph, Visit visit);

template <typename Nodes> static void visitNodes(Nodes &nodes, Visit visit) {
  for (onnx::NodeProto &node : nodes)
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t())
        visit(*attribute.mutable_t());
      for (TensorProto &tensor : *attribute.mutable_tensors())
        visit(tensor);
      if (attribute.has_sparse_tensor()) {
        visit(*attribute.mutable_sparse_tensor()->mutable_values());
        visit(*attribute.mutable_sparse_tensor()->mutable_indices());
      }
      if (attribute.has_g())
        visitGraph(*attribute.mutable_g(), visit);
      for (onnx::GraphProto &graph : *attribute.mutable_graphs())
        visitGraph(graph, visit);
    }
}

static void visitGraph(onnx::GraphProto &graph, Visit visit) {
  for (TensorProto &tensor : *graph.mutable_initializer())
    visit(tensor);
  for (onnx::SparseTensorProto &sparse : *graph.mutable_sparse_initializer()) {
    visit(*sparse.mutable_values());
    visit(*sparse.mutable_indices());
  }
  visitNodes(*graph.mutable_node(), visit);
}

void convert::forEachTensor(onnx::ModelProto &model, Visit visit) {
  visitGraph(*model.mutable_graph(), visit);
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    for (onnx::AttributeProto &attribute : *function.mutable_attribute_proto())
      if (attribute.has_t())
        visit(*attribute.mutable_t());
    visitNodes(*function.mutable_node(), visit);
  }
}
