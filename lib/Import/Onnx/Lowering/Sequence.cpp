//===- Sequence.cpp - Sequences, optionals and strings, from ONNX ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Lowering.h"

#include "Inputs.h"

#include "mpopt/Dialect/Ops/SequenceOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

template <typename OpT> static LogicalResult lowerUnary(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<OpT>(ctx.input(0)));
  return success();
}

template <typename OpT> static LogicalResult lowerBinary(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<OpT>(ctx.input(0), ctx.input(1)));
  return success();
}

static LogicalResult lowerConstruct(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::SequenceConstructOp>(ctx.inputs()));
  return success();
}

static LogicalResult lowerEmpty(NodeContext &ctx) {
  constexpr int64_t kFloat = 1; // of TensorProto.DataType
  Type element = ctx.elementTypeOf(ctx.getInt("dtype", kFloat));
  if (!element)
    return ctx.error("has an unknown dtype");
  Type type = mp::SequenceType::get(ctx.context(),
                                    getTensorType(std::nullopt, element));
  ctx.setOutput(0, ctx.makeTyped<mp::SequenceEmptyOp>({type}).getResult());
  return success();
}

static LogicalResult lowerInsert(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::SequenceInsertOp>(ctx.input(0), ctx.input(1),
                                                  ctx.input(2)));
  return success();
}

static LogicalResult lowerSplit(NodeContext &ctx) {
  // keepdims is for slices of size 1 only; `split` ignores it.
  ctx.setOutput(0, ctx.make<mp::SplitToSequenceOp>(
                       ctx.input(0), ctx.input(1), ctx.getInt("axis", 0),
                       ctx.getFlag("keepdims", true)));
  return success();
}

static LogicalResult lowerConcat(NodeContext &ctx) {
  std::optional<int64_t> axis = ctx.findInt("axis");
  if (!axis)
    return ctx.error("has no axis");
  ctx.setOutput(0, ctx.make<mp::ConcatFromSequenceOp>(ctx.input(0), *axis,
                                                      ctx.getFlag("new_axis")));
  return success();
}

static LogicalResult lowerMap(NodeContext &ctx) {
  SmallVector<Value> inputs = ctx.inputs();
  auto op = ctx.makeTyped<mp::SequenceMapOp>(ctx.unknownTypes(ctx.numOutputs()),
                                             inputs);
  SmallVector<Type> arguments;
  for (Value input : inputs) {
    auto sequence = dyn_cast<mp::SequenceType>(input.getType());
    arguments.push_back(sequence ? sequence.getElementType() : input.getType());
  }
  if (failed(ctx.importBody("body", op.getBody(), arguments))) {
    op->erase();
    return failure();
  }
  ctx.finish(op); // with its bodies
  for (OpResult result : op->getResults())
    ctx.setOutput(result.getResultNumber(), result);
  return success();
}

static LogicalResult lowerOptional(NodeContext &ctx) {
  if (ctx.hasInput(0))
    return lowerUnary<mp::OptionalOp>(ctx);
  Type type = ctx.findType("type");
  if (!type)
    return ctx.error("has neither an input nor a type");
  if (!isa<mp::OptionalType>(type))
    type = mp::OptionalType::get(ctx.context(), type);
  ctx.setOutput(0, ctx.makeTyped<mp::OptionalOp>({type}, Value()).getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// Strings and images
//===----------------------------------------------------------------------===//

static ArrayAttr getStrings(NodeContext &ctx, StringRef name) {
  auto strings = ctx.findStrings(name);
  return strings ? ctx.builder().getStrArrayAttr(*strings) : ArrayAttr();
}

static LogicalResult lowerNormalizer(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  ctx.setOutput(
      0, ctx.make<mp::StringNormalizerOp>(
             ctx.input(0),
             b.getStringAttr(ctx.getString("case_change_action", "NONE")),
             b.getBoolAttr(ctx.getFlag("is_case_sensitive")),
             b.getStringAttr(ctx.getString("locale", "")),
             getStrings(ctx, "stopwords")));
  return success();
}

static LogicalResult lowerStringSplit(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  std::optional<int64_t> most = ctx.findInt("maxsplit");
  auto op = ctx.makeTyped<mp::StringSplitOp>(
      ctx.unknownTypes(2), ctx.input(0),
      b.getStringAttr(ctx.getString("delimiter", "")),
      most ? b.getI64IntegerAttr(*most) : IntegerAttr());
  ctx.setOutput(0, op.getParts());
  ctx.setOutput(1, op.getCounts());
  return success();
}

static LogicalResult lowerRegex(NodeContext &ctx) {
  std::optional<StringRef> pattern = ctx.findString("pattern");
  if (!pattern)
    return ctx.error("has no pattern");
  ctx.setOutput(0, ctx.make<mp::RegexFullMatchOp>(ctx.input(0), *pattern));
  return success();
}

static LogicalResult lowerTfIdf(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  auto ints = ctx.findInts("pool_int64s");
  auto weights = ctx.findFloats("weights");
  ctx.setOutput(
      0, ctx.make<mp::TfIdfVectorizerOp>(
             ctx.input(0), b.getStringAttr(ctx.getString("mode", "")),
             b.getI64IntegerAttr(ctx.getInt("min_gram_length", 1)),
             b.getI64IntegerAttr(ctx.getInt("max_gram_length", 1)),
             b.getI64IntegerAttr(ctx.getInt("max_skip_count", 0)),
             b.getDenseI64ArrayAttr(ctx.getInts("ngram_counts")),
             b.getDenseI64ArrayAttr(ctx.getInts("ngram_indexes")),
             ints ? b.getDenseI64ArrayAttr(*ints) : DenseI64ArrayAttr(),
             getStrings(ctx, "pool_strings"),
             weights ? b.getDenseF64ArrayAttr(*weights) : DenseF64ArrayAttr()));
  return success();
}

static LogicalResult lowerImageDecoder(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::ImageDecoderOp>(
                       ctx.input(0), ctx.getString("pixel_format", "RGB")));
  return success();
}

void onnx_import::registerSequenceLowerings(LoweringRegistry &registry) {
  registry.add("SequenceConstruct", lowerConstruct);
  registry.add("SequenceEmpty", lowerEmpty);
  registry.add("SequenceInsert", withInputs<lowerInsert, 2>);
  registry.add("SequenceErase",
               withInputs<lowerBinary<mp::SequenceEraseOp>, 1>);
  registry.add("SequenceAt", withInputs<lowerBinary<mp::SequenceAtOp>, 2>);
  registry.add("SequenceLength",
               withInputs<lowerUnary<mp::SequenceLengthOp>, 1>);
  registry.add("SplitToSequence", withInputs<lowerSplit, 1>);
  registry.add("ConcatFromSequence", withInputs<lowerConcat, 1>);
  registry.add("SequenceMap", withInputs<lowerMap, 1>);
  registry.add("Optional", lowerOptional);
  registry.add("OptionalGetElement",
               withInputs<lowerUnary<mp::OptionalGetElementOp>, 1>);
  registry.add("OptionalHasElement", lowerUnary<mp::OptionalHasElementOp>);
  registry.add("StringConcat", withInputs<lowerBinary<mp::StringConcatOp>, 2>);
  registry.add("StringNormalizer", withInputs<lowerNormalizer, 1>);
  registry.add("StringSplit", withInputs<lowerStringSplit, 1>);
  registry.add("RegexFullMatch", withInputs<lowerRegex, 1>);
  registry.add("TfIdfVectorizer", withInputs<lowerTfIdf, 1>);
  registry.add("ImageDecoder", withInputs<lowerImageDecoder, 1>);
}
