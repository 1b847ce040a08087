//===- ConstantReader.cpp - Attributes, literals and tensors --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GraphReader.h"

#include <ATen/ATen.h>
#include <ATen/native/quantized/PackedParams.h>
#include <ATen/native/quantized/cpu/EmbeddingPackedParams.h>
#include <ATen/quantized/Quantizer.h>

#include <stdexcept>

using namespace mpopt::torchscript;
namespace aten = mpopt::aten;

/// Quantised layers keep weight and bias in an object of LibTorch's own. As a
/// tuple: weight, bias (or none), then stride, padding, output padding,
/// dilation, groups, transpose of a convolution; the weight of an embedding;
/// what a cell of a recurrent network says is its state.
template <int Dims>
static bool unpackConv(const c10::IValue &value,
                       std::vector<c10::IValue> &members) {
  auto packed = value.toCustomClass<ConvPackedParamsBase<Dims>>();
  auto [weight, bias] = packed->unpack();
  members = {weight,
             bias,
             packed->stride().vec(),
             packed->padding().vec(),
             packed->output_padding().vec(),
             packed->dilation().vec(),
             packed->groups(),
             packed->transpose()};
  return true;
}

static bool unpack(const c10::IValue &value,
                   std::vector<c10::IValue> &members) {
  c10::ClassTypePtr type = value.toObjectRef().type();
  std::string name = type->name() ? type->name()->name() : "";
  if (name == "LinearPackedParamsBase") {
    auto packed = value.toCustomClass<LinearPackedParamsBase>();
    auto [weight, bias] = packed->unpack();
    members = {weight, bias};
    return true;
  }
  if (name == "EmbeddingPackedParamsBase") {
    members = {value.toCustomClass<EmbeddingPackedParamsBase>()->unpack()};
    return true;
  }
  // A tuple of its own: kind, tensors, numbers and packed weights.
  if (name == "CellParamsBase") {
    members = {type->getMethod("__getstate__")({value})};
    return true;
  }
  if (name == "Conv2dPackedParamsBase")
    return unpackConv<2>(value, members);
  if (name == "Conv3dPackedParamsBase")
    return unpackConv<3>(value, members);
  return false;
}

/// Fills in a constant that is no tensor and has no elements; false for others.
static bool readScalar(const c10::IValue &value, aten::Constant &result) {
  if (value.isBool()) {
    result.kind = aten::Constant::Kind::Bool;
    result.integer = value.toBool();
  } else if (value.isInt()) {
    result.kind = aten::Constant::Kind::Int;
    result.integer = value.toInt();
  } else if (value.isDouble()) {
    result.kind = aten::Constant::Kind::Float;
    result.real = value.toDouble();
  } else if (value.isComplexDouble()) {
    result.kind = aten::Constant::Kind::Complex;
    result.real = value.toComplexDouble().real();
    result.imaginary = value.toComplexDouble().imag();
  } else if (value.isString()) {
    result.kind = aten::Constant::Kind::String;
    result.string = value.toStringRef();
  } else if (value.isDevice()) {
    result.kind = aten::Constant::Kind::Device;
    result.string = c10::DeviceTypeName(value.toDevice().type(), true);
  } else {
    return false;
  }
  return true;
}

aten::Constant ConstantReader::read(const c10::IValue &value,
                                    const std::string &path, bool isParameter) {
  aten::Constant result;
  auto add = [&](const c10::IValue &element) {
    std::string name =
        path.empty() ? path
                     : path + "." + std::to_string(result.elements.size());
    result.elements.push_back(read(element, name));
  };
  if (value.isNone() || readScalar(value, result))
    return result;
  if (value.isTensor()) {
    if (!value.toTensor().defined())
      return result;
    result.kind = aten::Constant::Kind::Tensor;
    result.integer = readTensor(value.toTensor(), path, isParameter);
  } else if (value.isList()) {
    result.kind = aten::Constant::Kind::List;
    for (const c10::IValue &element : value.toListRef())
      add(element);
  } else if (value.isTuple()) {
    result.kind = aten::Constant::Kind::Tuple;
    for (const c10::IValue &element : value.toTupleRef().elements())
      add(element);
  } else if (value.isGenericDict()) {
    result.kind = aten::Constant::Kind::Dict;
    for (const auto &entry : value.toGenericDict()) {
      add(entry.key());
      add(entry.value());
    }
  } else if (value.isObject()) {
    std::vector<c10::IValue> members;
    if (value.isCustomClass() && unpack(value, members)) {
      result.kind = aten::Constant::Kind::Tuple;
      for (const c10::IValue &member : members)
        add(member);
      return result;
    }
    result.kind = aten::Constant::Kind::Object;
    result.string = path.empty() ? value.type()->repr_str() : path;
  } else {
    result.kind = aten::Constant::Kind::Object;
    result.string = value.tagKind();
  }
  return result;
}

/// A number for the memory of a tensor, which its views share.
int64_t ConstantReader::memoryOf(const at::Tensor &tensor) {
  const void *address = tensor.unsafeGetTensorImpl();
  if (tensor.has_storage())
    address = tensor.storage().unsafeGetStorageImpl();
  return memory.try_emplace(address, memory.size()).first->second;
}

/// The memory of `from` in that layout or dtype is claimed before it is made.
void ConstantReader::claim(const at::Tensor &from, int64_t width,
                           const std::string &path) {
  if (!budget.take(uint64_t(from.numel()), uint64_t(width)))
    throw std::runtime_error("tensor '" + path + "' would unpack to " +
                             std::to_string(from.numel()) +
                             " elements: too many for the file");
}

/// The tensor with one element along each dim that repeats it.
static at::Tensor withoutRepeats(at::Tensor tensor) {
  for (int64_t dim = 0; dim < tensor.dim(); ++dim)
    if (tensor.stride(dim) == 0 && tensor.size(dim) > 1)
      tensor = tensor.narrow(dim, 0, 1);
  return tensor;
}

/// Row-major elements; strides follow.
static std::string copyElements(at::Tensor &tensor) {
  tensor = tensor.resolve_conj().resolve_neg().contiguous();
  return std::string(static_cast<const char *>(tensor.const_data_ptr()),
                     tensor.nbytes());
}

static void readQuantizer(const at::Tensor &tensor, aten::Tensor &result) {
  if (tensor.qscheme() == at::kPerTensorAffine) {
    result.scales = {tensor.q_scale()};
    result.zeroPoints = {tensor.q_zero_point()};
    return;
  }
  at::Tensor scales = tensor.q_per_channel_scales().to(at::kDouble);
  at::Tensor zeros = tensor.q_per_channel_zero_points().to(at::kLong);
  for (int64_t index = 0; index < scales.numel(); ++index) {
    result.scales.push_back(scales[index].item<double>());
    result.zeroPoints.push_back(zeros[index].item<int64_t>());
  }
  result.axis = tensor.q_per_channel_axis();
}

int64_t ConstantReader::readTensor(const at::Tensor &given,
                                   const std::string &path, bool isParameter) {
  auto [known, isNew] = seen.try_emplace(given.unsafeGetTensorImpl(), 0);
  if (!isNew && (path.empty() || graph.tensors[known->second].name == path))
    return known->second;
  kept.push_back(given);
  aten::Tensor result;
  result.name = path;
  result.isParameter = isParameter;
  result.requiresGrad = given.requires_grad();
  result.memory = memoryOf(given);
  at::Tensor tensor = given.detach();
  if (tensor.layout() != at::kStrided) {
    claim(tensor, tensor.element_size(), path);
    tensor = tensor.to_dense();
  }
  int64_t offset = -1;
  if (tensor.numel() && !tensor.is_meta())
    offset = archive.offsetOf(tensor.const_data_ptr());
  // Scales of embeddings have zero points between integers, and pack codes of 4
  // bits: the numbers themselves are as good.
  if (tensor.is_quantized() &&
      tensor.qscheme() == at::kPerChannelAffineFloatQParams) {
    claim(tensor, sizeof(float), path);
    tensor = tensor.dequantize();
    offset = -1;
  }
  if (tensor.is_quantized()) {
    readQuantizer(tensor, result);
    c10::ScalarType stored = c10::toUnderlying(tensor.scalar_type());
    if (offset < 0)
      claim(tensor, tensor.element_size(), path);
    tensor = offset < 0 ? tensor.int_repr()
                        : at::from_blob(tensor.data_ptr(), tensor.sizes(),
                                        tensor.strides(), stored);
  }
  result.scalarType = int(tensor.scalar_type());
  result.sizes = tensor.sizes().vec();
  graph.parameters += isParameter ? tensor.numel() : 0;
  tensor = tensor.numel() ? withoutRepeats(tensor) : tensor;
  if (offset >= 0 && tensor.is_non_overlapping_and_dense() &&
      !tensor.is_conj() && !tensor.is_neg()) {
    result.fileOffset = offset;
  } else if (tensor.numel() && !tensor.is_meta()) {
    // Elements that the reader did not load are still in the file.
    if (offset >= 0)
      tensor =
          at::from_blob(const_cast<char *>(archive.bytes() + offset),
                        tensor.sizes(), tensor.strides(), tensor.scalar_type());
    claim(tensor, tensor.element_size(), path);
    result.bytes = copyElements(tensor);
  }
  result.strides = tensor.strides().vec();
  for (size_t dim = 0; dim < result.sizes.size(); ++dim)
    if (tensor.size(int64_t(dim)) != result.sizes[dim])
      result.strides[dim] = 0;
  graph.tensors.push_back(std::move(result));
  known->second = int64_t(graph.tensors.size()) - 1;
  return known->second;
}
