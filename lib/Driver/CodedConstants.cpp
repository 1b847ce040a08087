//===- CodedConstants.cpp - Numbers of constants in codes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CodedConstants.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Propagate/CodeMismatch.h"
#include "mpopt/Propagate/IntegerProduct.h"
#include "mpopt/Ranges/Weights/Dequantized.h"

using namespace mlir;
using namespace mpopt;

/// Codes of N x K elements in blocks along K, low bits first.
static std::optional<CodedConstant> readBlocks(mp::MatMulNBitsOp op,
                                               const RangeAnalysis &ranges) {
  int64_t bits = op.getBits(), block = op.getBlockSize(), k = op.getK(),
          n = op.getN();
  std::optional<WeightView> codes = ranges.context().weights(op.getWeight()),
                            scales = ranges.context().weights(op.getScales());
  if (op.getCode() != "int" || (bits != 4 && bits != 8) || k % block != 0 ||
      !codes || !scales || codes->splat || scales->splat ||
      codes->size() * 8 != n * k * bits || scales->size() * block != n * k)
    return std::nullopt;
  std::optional<WeightView> zeros;
  int64_t perByte = 8 / bits, blocks = k / block,
          rowOfZeros = (blocks + perByte - 1) / perByte;
  if (op.getZeroPoints()) {
    zeros = ranges.context().weights(op.getZeroPoints());
    if (!zeros || zeros->splat || !isa<IntegerType>(zeros->elementType) ||
        zeros->size() != n * rowOfZeros)
      return std::nullopt;
  }
  std::vector<double> bytes = readAll(*codes), factors = readAll(*scales),
                      zeroBytes =
                          zeros ? readAll(*zeros) : std::vector<double>();
  auto field = [&](ArrayRef<double> list, int64_t row, int64_t at) {
    unsigned byte = unsigned(list[row + at / perByte]);
    return double(byte >> (at % perByte * bits) & ((1u << bits) - 1));
  };
  CodedConstant constant{op, op.getWeight(), op.getResult(), {k, n}, {}};
  constant.numbers.resize(n * k);
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column < k; ++column) {
      int64_t at = column / block;
      double zero = zeros ? field(zeroBytes, row * rowOfZeros, at)
                          : double(1u << (bits - 1));
      constant.numbers[column * n + row] =
          float((field(bytes, row * k / perByte, column) - zero) *
                factors[row * blocks + at]);
    }
  return constant;
}

static std::optional<CodedConstant>
readDequantized(mp::DequantizeOp op, const RangeAnalysis &ranges) {
  TransferContext &ctx = ranges.context();
  if (!isConstant(op.getInput()))
    return std::nullopt;
  CodedConstant constant{op, op.getInput(), op.getResult(), {}, {}};
  if (std::optional<WeightView> numbers = ctx.weights(op.getResult())) {
    constant.shape = numbers->shape;
    for (double number : readAll(*numbers))
      constant.numbers.push_back(float(number));
    return constant;
  }
  // A bias, whose scale is a product of two.
  std::optional<WeightView> codes = ctx.weights(op.getInput());
  if (!codes || codes->splat || codes->shape.size() != 1 || op.getZeroPoint())
    return std::nullopt;
  auto scales = readElements(op.getScale(), ranges);
  if (!scales || codes->size() % scales->size() != 0)
    return std::nullopt;
  constant.shape = codes->shape;
  for (auto [at, code] : llvm::enumerate(readAll(*codes)))
    constant.numbers.push_back(float(code * (*scales)[at % scales->size()]));
  return constant;
}

/// The right operand of a product of codes.
static std::optional<CodedConstant> readProduct(const IntegerProduct &product,
                                                const RangeAnalysis &ranges) {
  TransferContext &ctx = ranges.context();
  if (!isConstant(product.rhs) || !product.rhsScale)
    return std::nullopt;
  std::optional<WeightView> codes = ctx.weights(product.rhs),
                            scales = ctx.weights(product.rhsScale), zeros;
  auto format = storageFormatOf(getElementType(product.rhs));
  if (product.rhsZeroPoint)
    zeros = ctx.weights(product.rhsZeroPoint);
  if (!format || !codes || codes->splat || !scales ||
      (product.rhsZeroPoint && !zeros))
    return std::nullopt;
  format->axis = product.axis;
  return CodedConstant{product.rhs.getDefiningOp(), product.rhs,
                       product.numbers, codes->shape,
                       dequantize(*codes, *scales, zeros, *format)};
}

std::optional<CodedConstant>
mpopt::readCodedConstant(Operation *op, const RangeAnalysis &ranges) {
  if (auto blocks = dyn_cast<mp::MatMulNBitsOp>(op))
    return readBlocks(blocks, ranges);
  if (auto dequantize = dyn_cast<mp::DequantizeOp>(op))
    return readDequantized(dequantize, ranges);
  if (auto product = findIntegerProduct(op))
    return readProduct(*product, ranges);
  return std::nullopt;
}
