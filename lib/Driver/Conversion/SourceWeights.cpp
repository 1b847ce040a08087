//===- SourceWeights.cpp - The weights that a result rounds
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SourceWeights.h"

#include "Planning.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/FloatFormat.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpopt;

void SourceWeights::note(ModuleOp source) {
  source.walk([&](mp::ConstantOp constant) {
    std::string name = getTensorPath(constant);
    MaybeShape shape = getShape(constant);
    // Constants of one number become others: epsilons are kept from 0. Empty
    // ones have no errors.
    Type type = getElementType(constant);
    if (name.empty() || !(type.isF32() || type.isF16()) || !shape ||
        getNumElements(shape).value_or(0) < 2)
      return;
    Weight weight;
    weight.isHalf = type.isF16();
    weight.shape.assign(shape->begin(), shape->end());
    if (auto inFile = dyn_cast<mp::WeightAttr>(constant.getValue())) {
      weight.file = inFile.getFile().str();
      weight.offset = inFile.getOffset();
      weight.length = inFile.getLength();
    } else if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
      weight.bytes.assign(dense.getRawData().begin(), dense.getRawData().end());
    } else {
      return;
    }
    auto [entry, isNew] = weights.try_emplace(name, std::move(weight));
    if (!isNew)
      entry->second.reset();
  });
}

void SourceWeights::restore(ModuleOp result) const {
  result.walk([&](mp::ConstantOp constant) {
    auto known = weights.find(getTensorPath(constant));
    Type low = getElementType(constant);
    MaybeShape shape = getShape(constant);
    if (known == weights.end() || !known->second || !shape ||
        !(low.isBF16() || (low.isF16() && !known->second->isHalf)) ||
        ArrayRef<int64_t>(known->second->shape) != ArrayRef(*shape))
      return;
    const Weight &weight = *known->second;
    OpBuilder builder(constant);
    Type element =
        weight.isHalf ? Type(builder.getF16Type()) : Type(builder.getF32Type());
    auto type = RankedTensorType::get(*shape, element);
    Attribute value;
    if (weight.bytes.empty())
      value = mp::WeightAttr::get(builder.getContext(),
                                  builder.getStringAttr(weight.file),
                                  weight.offset, weight.length);
    else
      value = DenseElementsAttr::getFromRawBuffer(
          type, ArrayRef(weight.bytes.data(), weight.bytes.size()));
    auto exact =
        mp::ConstantOp::create(builder, constant.getLoc(), type, value);
    exact->setDiscardableAttrs(constant->getDiscardableAttrDictionary());
    constant.replaceAllUsesWith(storeIn(builder, exact, constant.getType()));
    constant.erase();
  });
}
