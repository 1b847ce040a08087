//===- TensorData.cpp - TensorProto to constants
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which field holds what is the table in onnx.proto at TensorProto.
//
//===----------------------------------------------------------------------===//

#include "TensorData.h"

#include "DenseElements.h"
#include "Types.h"

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Support/WeightStore.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;
using onnx::TensorProto;

RankedTensorType TensorReader::readType(const TensorProto &tensor,
                                        StringRef name) {
  Type element = elementTypeOf(context, tensor.data_type());
  if (!element || isUnknown(element)) {
    error(ImportCode::BadElementType, name,
          "element type " + Twine(tensor.data_type()) + " is not one of ONNX");
    return {};
  }
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  // kDynamic is a negative number; here every negative one is wrong.
  for (int64_t &dim : shape)
    if (dim < 0) {
      error(ImportCode::BadDim, name,
            "a tensor with a dimension of " + Twine(dim));
      return {};
    }
  if (!checkShape(shape, bitsInFile(element), name, sink))
    return {};
  return RankedTensorType::get(shape, element);
}

const CutBytes *TensorReader::findCut(const TensorProto &tensor) const {
  // The numbers are the walker's. A file that holds the key itself can only
  // name bytes of its own.
  if (tensor.data_location() == TensorProto::EXTERNAL)
    return nullptr;
  for (const auto &entry : tensor.external_data()) {
    size_t cut;
    if (entry.key() == kCutKey &&
        !StringRef(entry.value()).getAsInteger(10, cut) &&
        cut < file.cuts.size())
      return &file.cuts[cut];
  }
  return nullptr;
}

bool TensorReader::readCut(const TensorProto &tensor, const CutBytes &cut,
                           StringRef name, Bytes &bytes) {
  int32_t dtype = tensor.data_type();
  bool fits =
      cut.field == 9 ||
      (cut.field == 4 &&
       (dtype == TensorProto::FLOAT || dtype == TensorProto::COMPLEX64)) ||
      (cut.field == 10 &&
       (dtype == TensorProto::DOUBLE || dtype == TensorProto::COMPLEX128));
  if (!fits)
    return error(ImportCode::DataField, name,
                 "its data is in a field of another element type");
  bytes.path = file.path;
  bytes.offset = cut.offset;
  bytes.length = cut.length;
  bytes.data = ArrayRef<char>(file.bytes.data() + cut.offset, cut.length);
  return true;
}

/// Appends `value`'s low `width` bytes.
static void appendLittle(std::string &out, uint64_t value, unsigned width) {
  for (unsigned byte = 0; byte < width; ++byte)
    out += char(value >> (8 * byte));
}

/// 6-bit elements, one an entry, to the packed bit stream of raw data.
static void appendSixBit(std::string &out,
                         const google::protobuf::RepeatedField<int32_t> &data) {
  uint32_t bits = 0;
  unsigned count = 0;
  for (int32_t value : data) {
    bits |= uint32_t(value & 0x3f) << count;
    for (count += 6; count >= 8; count -= 8, bits >>= 8)
      out += char(bits);
  }
  if (count)
    out += char(bits);
}

bool TensorReader::readTyped(const TensorProto &tensor, StringRef name,
                             Type element, std::string &out) {
  auto copy = [&](const auto &data) {
    out.assign(reinterpret_cast<const char *>(data.data()),
               data.size() * sizeof(*data.data()));
  };
  unsigned bits = bitsInFile(element);
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
  case TensorProto::COMPLEX64:
    copy(tensor.float_data());
    return true;
  case TensorProto::DOUBLE:
  case TensorProto::COMPLEX128:
    copy(tensor.double_data());
    return true;
  case TensorProto::INT64:
    copy(tensor.int64_data());
    return true;
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    out.reserve(size_t(tensor.uint64_data_size()) * (bits / 8));
    for (uint64_t value : tensor.uint64_data())
      appendLittle(out, value, bits / 8);
    return true;
  default:
    break;
  }
  if (bits == 6) {
    appendSixBit(out, tensor.int32_data());
    return true;
  }
  // 4- and 2-bit elements come packed, a byte an entry.
  unsigned width = std::max(bits / 8, 1u);
  out.reserve(size_t(tensor.int32_data_size()) * width);
  for (int32_t value : tensor.int32_data())
    appendLittle(out, uint32_t(value), width);
  return true;
}

bool TensorReader::readBytes(const TensorProto &tensor, StringRef name,
                             RankedTensorType type, Bytes &bytes) {
  Type element = type.getElementType();
  uint64_t expected =
      (uint64_t(type.getNumElements()) * bitsInFile(element) + 7) / 8;
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    std::optional<ExternalRange> range = external.find(tensor, name, expected);
    if (!range)
      return false;
    bytes.path = range->file;
    bytes.offset = range->offset;
    bytes.length = expected;
    bytes.missing = range->missing;
    return true;
  }
  if (const CutBytes *cut = findCut(tensor)) {
    if (!readCut(tensor, *cut, name, bytes))
      return false;
  } else if (tensor.has_raw_data()) {
    bytes.data =
        ArrayRef<char>(tensor.raw_data().data(), tensor.raw_data().size());
  } else {
    if (!readTyped(tensor, name, element, bytes.storage))
      return false;
    bytes.data = ArrayRef<char>(bytes.storage.data(), bytes.storage.size());
  }
  if (bytes.data.size() == expected)
    return true;
  return error(ImportCode::DataLength, name,
               "has " + Twine(bytes.data.size()) +
                   " bytes of data where its type needs " + Twine(expected));
}

/// External bytes of a tensor whose elements are wanted now.
bool TensorReader::mapExternal(Bytes &bytes) {
  if (bytes.data.data() || bytes.missing)
    return !bytes.missing;
  auto *dialect = context->getLoadedDialect<mp::MPDialect>();
  llvm::Expected<ArrayRef<char>> mapped =
      dialect->getWeights().bytes(bytes.path, bytes.offset, bytes.length);
  if (!mapped) {
    llvm::consumeError(mapped.takeError());
    return false;
  }
  bytes.data = *mapped;
  return true;
}

Attribute TensorReader::readStrings(const TensorProto &tensor, StringRef name,
                                    RankedTensorType type) {
  if (tensor.string_data_size() != type.getNumElements()) {
    error(ImportCode::DataLength, name,
          "has " + Twine(tensor.string_data_size()) +
              " strings where its type needs " + Twine(type.getNumElements()));
    return {};
  }
  SmallVector<StringRef> strings(tensor.string_data().begin(),
                                 tensor.string_data().end());
  return DenseStringElementsAttr::get(type, strings);
}

/// True if analyses read such a tensor element by element: scalars and short
/// vectors, and integers that may be shapes.
static bool isSmall(RankedTensorType type) {
  constexpr int64_t kSmall = 64;
  int64_t count = type.getNumElements();
  return count <= kSmall || (isa<IntegerType>(type.getElementType()) &&
                             count <= ShapeFacts::kMaxElements);
}

TensorValue TensorReader::read(const TensorProto &tensor, StringRef name) {
  RankedTensorType type = readType(tensor, name);
  if (!type)
    return {};
  if (tensor.has_segment()) {
    error(ImportCode::DataField, name,
          "is stored in segments, which no "
          "runtime reads");
    return {};
  }
  if (isa<mp::StringType>(type.getElementType()))
    return {readStrings(tensor, name, type), type};
  Bytes bytes;
  if (!readBytes(tensor, name, type, bytes))
    return {};
  bool inFile = !bytes.path.empty() && type.getNumElements() > 0;
  if (inFile && !(isSmall(type) && mapExternal(bytes)))
    return {mp::WeightAttr::get(context, StringAttr::get(context, bytes.path),
                                bytes.offset, bytes.length),
            type};
  return {makeDenseElements(type, bytes.data), type};
}

/// Linear positions of a sparse tensor's values: [n] linear, or [n, rank].
static std::optional<SmallVector<int64_t>>
readPositions(DenseElementsAttr indices, ArrayRef<int64_t> shape,
              int64_t elements, int64_t count) {
  auto type = cast<RankedTensorType>(indices.getType());
  int64_t rank = type.getRank() == 2 ? type.getDimSize(1) : 1;
  if (!type.getElementType().isInteger(64) || type.getRank() < 1 ||
      type.getRank() > 2 || type.getDimSize(0) != count ||
      (type.getRank() == 2 && rank != int64_t(shape.size())))
    return std::nullopt;
  SmallVector<int64_t> flat(indices.getValues<int64_t>()), positions;
  for (int64_t index = 0; index < count; ++index) {
    int64_t position = 0;
    if (type.getRank() == 1)
      position = flat[index];
    else
      for (int64_t axis = 0; axis < rank; ++axis) {
        int64_t coordinate = flat[index * rank + axis];
        if (coordinate < 0 || coordinate >= shape[axis])
          return std::nullopt;
        position = position * shape[axis] + coordinate;
      }
    if (position < 0 || position >= elements)
      return std::nullopt;
    positions.push_back(position);
  }
  return positions;
}

TensorValue TensorReader::read(const onnx::SparseTensorProto &sparse,
                               StringRef name) {
  RankedTensorType valuesType = readType(sparse.values(), name);
  if (!valuesType)
    return {};
  auto bad = [&](const Twine &reason) {
    error(ImportCode::BadSparse, name, reason);
    return TensorValue();
  };
  Type element = valuesType.getElementType();
  unsigned bits = bitsInFile(element);
  SmallVector<int64_t> shape(sparse.dims().begin(), sparse.dims().end());
  if (llvm::any_of(shape, [](int64_t dim) { return dim < 0; }))
    return bad("a sparse tensor with a negative dimension");
  if (!checkShape(shape, bits, name, sink))
    return {};
  if (bits % 8 != 0 || bits == 0)
    return bad("a sparse tensor of packed elements or strings");
  auto type = RankedTensorType::get(shape, element);
  if (!budget.take(uint64_t(type.getNumElements()), bits / 8))
    return bad("filled in, the sparse tensor would take too much memory for "
               "the file: it has " +
               Twine(type.getNumElements()) + " elements");

  Bytes values;
  if (!readBytes(sparse.values(), name, valuesType, values))
    return {};
  if (!mapExternal(values))
    return bad("the file of its values is missing");
  TensorValue indices = read(sparse.indices(), name);
  if (!indices)
    return {};
  Bytes indexBytes;
  auto dense = dyn_cast<DenseElementsAttr>(indices.value);
  if (!dense) {
    // Many indices stayed in the file.
    if (!readBytes(sparse.indices(), name, indices.type, indexBytes) ||
        !mapExternal(indexBytes))
      return bad("the file of its indices is missing");
    dense = makeDenseElements(indices.type, indexBytes.data);
  }
  std::optional<SmallVector<int64_t>> positions = readPositions(
      dense, shape, type.getNumElements(), valuesType.getNumElements());
  if (!positions)
    return bad("indices of a sparse tensor do not fit its shape");

  unsigned width = bits / 8;
  std::string filled(size_t(type.getNumElements()) * width, '\0');
  for (auto [index, position] : llvm::enumerate(*positions))
    std::copy_n(values.data.begin() + index * width, width,
                filled.begin() + position * width);
  return {makeDenseElements(type, ArrayRef<char>(filled.data(), filled.size())),
          type};
}
