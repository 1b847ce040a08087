//===- Types.cpp - ONNX types and mp types
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Types.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;
using onnx::TensorProto;

// No tensor of a model has a dim of 2^48 (2^48 bytes are 256 TiB).
static constexpr int64_t kMaxDim = int64_t(1) << 48;

template <typename T> static Type plain(MLIRContext *context) {
  return T::get(context);
}
template <typename T> static Type complex(MLIRContext *context) {
  return ComplexType::get(T::get(context));
}
template <unsigned width> static Type integer(MLIRContext *context) {
  return IntegerType::get(context, width);
}
template <unsigned width> static Type natural(MLIRContext *context) {
  return IntegerType::get(context, width, IntegerType::Unsigned);
}

/// The element types of onnx.proto (TensorProto.DataType).
static constexpr std::pair<TensorProto::DataType, Type (*)(MLIRContext *)>
    kElementTypes[] = {
        {TensorProto::UNDEFINED, plain<mp::UnknownType>},
        {TensorProto::FLOAT, plain<Float32Type>},
        {TensorProto::UINT8, natural<8>},
        {TensorProto::INT8, integer<8>},
        {TensorProto::UINT16, natural<16>},
        {TensorProto::INT16, integer<16>},
        {TensorProto::INT32, integer<32>},
        {TensorProto::INT64, integer<64>},
        {TensorProto::STRING, plain<mp::StringType>},
        {TensorProto::BOOL, integer<1>},
        {TensorProto::FLOAT16, plain<Float16Type>},
        {TensorProto::DOUBLE, plain<Float64Type>},
        {TensorProto::UINT32, natural<32>},
        {TensorProto::UINT64, natural<64>},
        {TensorProto::COMPLEX64, complex<Float32Type>},
        {TensorProto::COMPLEX128, complex<Float64Type>},
        {TensorProto::BFLOAT16, plain<BFloat16Type>},
        {TensorProto::FLOAT8E4M3FN, plain<Float8E4M3FNType>},
        {TensorProto::FLOAT8E4M3FNUZ, plain<Float8E4M3FNUZType>},
        {TensorProto::FLOAT8E5M2, plain<Float8E5M2Type>},
        {TensorProto::FLOAT8E5M2FNUZ, plain<Float8E5M2FNUZType>},
        {TensorProto::UINT4, natural<4>},
        {TensorProto::INT4, integer<4>},
        {TensorProto::FLOAT4E2M1, plain<Float4E2M1FNType>},
        {TensorProto::FLOAT8E8M0, plain<Float8E8M0FNUType>},
        {TensorProto::UINT2, natural<2>},
        {TensorProto::INT2, integer<2>},
        {TensorProto::FLOAT6E2M3, plain<Float6E2M3FNType>},
        {TensorProto::FLOAT6E3M2, plain<Float6E3M2FNType>},
};

Type onnx_import::elementTypeOf(MLIRContext *context, int64_t dtype) {
  for (auto [known, make] : kElementTypes)
    if (known == dtype)
      return make(context);
  return {};
}

int32_t onnx_import::dataTypeOf(Type elementType) {
  // The table above, searched: called for few values.
  for (int32_t dtype = 1; dtype < TensorProto::DataType_ARRAYSIZE; ++dtype)
    if (elementTypeOf(elementType.getContext(), dtype) == elementType)
      return dtype;
  return TensorProto::UNDEFINED;
}

unsigned onnx_import::bitsInFile(Type elementType) {
  if (elementType.isInteger(1))
    return 8;
  if (elementType.isIntOrFloat())
    return elementType.getIntOrFloatBitWidth();
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return 2 * complex.getElementType().getIntOrFloatBitWidth();
  return 0;
}

bool onnx_import::checkShape(ArrayRef<int64_t> shape, unsigned bits,
                             StringRef name, ErrorSink &sink) {
  int64_t size = std::max(bits, 1u);
  // A dim of 0 makes no other dim right.
  bool overflow = false;
  for (auto [index, dim] : llvm::enumerate(shape)) {
    if (dim == kDynamic)
      continue;
    if (dim < 0 || dim > kMaxDim) {
      sink.error(ImportCode::BadDim, name,
                 "dimension " + Twine(index) + " is " + Twine(dim));
      return false;
    }
    overflow |= llvm::MulOverflow(size, std::max<int64_t>(dim, 1), size);
  }
  if (overflow)
    sink.error(ImportCode::SizeOverflow, name,
               "the product of its dimensions overflows");
  return !overflow;
}

Type TypeReader::readTensor(int64_t dtype, const onnx::TensorShapeProto *shape,
                            StringRef name) {
  Type element = elementTypeOf(context, dtype);
  if (!element) {
    sink.error(ImportCode::BadElementType, name,
               "element type " + Twine(dtype) + " is not one of ONNX");
    element = mp::UnknownType::get(context);
  }
  if (!shape)
    return UnrankedTensorType::get(element);
  SmallVector<int64_t> sizes;
  for (const auto &dim : shape->dim()) {
    int64_t size = kDynamic;
    if (dim.has_dim_value()) {
      size = dim.dim_value();
      // Some exporters write -1 for an open dimension, and runtimes accept it.
      if (size == -1) {
        sink.warn("'" + name + "' has a dimension of -1, read as unknown");
        size = kDynamic;
      }
    } else if (!dim.dim_param().empty()) {
      seen.insert(dim.dim_param());
      if (auto it = dims.find(dim.dim_param()); it != dims.end())
        size = it->second;
    }
    sizes.push_back(size);
  }
  if (!checkShape(sizes, bitsInFile(element), name, sink))
    return UnrankedTensorType::get(element);
  return RankedTensorType::get(sizes, element);
}

Type TypeReader::read(const onnx::TypeProto &type, StringRef name) {
  switch (type.value_case()) {
  case onnx::TypeProto::kTensorType:
    return readTensor(
        type.tensor_type().elem_type(),
        type.tensor_type().has_shape() ? &type.tensor_type().shape() : nullptr,
        name);
  case onnx::TypeProto::kSparseTensorType:
    return readTensor(type.sparse_tensor_type().elem_type(),
                      type.sparse_tensor_type().has_shape()
                          ? &type.sparse_tensor_type().shape()
                          : nullptr,
                      name);
  case onnx::TypeProto::kSequenceType:
    return mp::SequenceType::get(context,
                                 read(type.sequence_type().elem_type(), name));
  case onnx::TypeProto::kOptionalType:
    return mp::OptionalType::get(context,
                                 read(type.optional_type().elem_type(), name));
  case onnx::TypeProto::kMapType: {
    Type key = elementTypeOf(context, type.map_type().key_type());
    if (!key) {
      sink.error(ImportCode::BadElementType, name,
                 "key type " + Twine(type.map_type().key_type()) +
                     " is not one of ONNX");
      return getUnknownTensor(context);
    }
    return mp::MapType::get(context, key,
                            read(type.map_type().value_type(), name));
  }
  default:
    return getUnknownTensor(context);
  }
}

std::vector<std::string> TypeReader::dimNames(const onnx::TypeProto &type) {
  std::vector<std::string> names;
  bool any = false;
  for (const auto &dim : type.tensor_type().shape().dim()) {
    names.push_back(dim.dim_param());
    any |= !names.back().empty();
  }
  return any ? names : std::vector<std::string>();
}

onnx::TypeProto onnx_import::toOnnxType(Type type) {
  onnx::TypeProto result;
  if (auto tensor = dyn_cast<TensorType>(type)) {
    int32_t dtype = dataTypeOf(tensor.getElementType());
    if (dtype == TensorProto::UNDEFINED)
      return result;
    result.mutable_tensor_type()->set_elem_type(dtype);
    if (!tensor.hasRank())
      return result;
    auto *shape = result.mutable_tensor_type()->mutable_shape();
    for (int64_t size : tensor.getShape()) {
      auto *dim = shape->add_dim();
      if (size != kDynamic)
        dim->set_dim_value(size);
    }
  } else if (auto sequence = dyn_cast<mp::SequenceType>(type)) {
    *result.mutable_sequence_type()->mutable_elem_type() =
        toOnnxType(sequence.getElementType());
  } else if (auto optional = dyn_cast<mp::OptionalType>(type)) {
    *result.mutable_optional_type()->mutable_elem_type() =
        toOnnxType(optional.getElementType());
  }
  return result;
}
