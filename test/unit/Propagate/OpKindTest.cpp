//===- OpKindTest.cpp - The kind of every op
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/OpKind.h"

#include "mpopt/Dialect/MPDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

#include <set>

using namespace mlir;
using namespace mpopt;

namespace {
struct OpKindTest : testing::Test {
  OpKindTest() : block(std::make_unique<Block>()) {
    context.loadDialect<mp::MPDialect>();
    for (int index = 0; index < 3; ++index)
      block->addArgument(tensor(Float32Type::get(&context)), unknown());
  }

  Location unknown() { return UnknownLoc::get(&context); }
  Type tensor(Type element) { return RankedTensorType::get({4}, element); }

  /// The kind of an op that is not verified, with floats as operands.
  OpKind kindOf(StringRef mnemonic, unsigned operands, Type result) {
    OperationState state(unknown(), ("mp." + mnemonic).str());
    state.addOperands(block->getArguments().take_front(operands));
    state.addTypes(result);
    Operation *op = Operation::create(state);
    OpKind kind = getOpKind(op);
    op->destroy();
    return kind;
  }
  OpKind kindOf(StringRef mnemonic, unsigned operands = 1) {
    return kindOf(mnemonic, operands, tensor(Float32Type::get(&context)));
  }

  MLIRContext context;
  std::unique_ptr<Block> block;
};
} // namespace

/// Ops that make truth values, indices or counts, and bits.
static const llvm::StringSet<> kOrders = {"all_finite",
                                          "arg_max",
                                          "arg_min",
                                          "bitwise_and",
                                          "bitwise_not",
                                          "bitwise_or",
                                          "bitwise_xor",
                                          "broadcast_gradient_args",
                                          "count_nonzero",
                                          "equal",
                                          "greater",
                                          "greater_equal",
                                          "is_finite",
                                          "is_inf",
                                          "is_nan",
                                          "less",
                                          "less_equal",
                                          "logical_and",
                                          "logical_not",
                                          "logical_or",
                                          "logical_xor",
                                          "multinomial",
                                          "non_max_suppression",
                                          "non_zero",
                                          "not_equal",
                                          "optional_has_element",
                                          "reduce_all",
                                          "reduce_any",
                                          "regex_full_match",
                                          "shift_left",
                                          "shift_right"};

TEST_F(OpKindTest, EachKindHasItsOps) {
  EXPECT_EQ(kindOf("constant", 0), OpKind::Source);
  for (StringRef op : {"reshape", "cast", "identity", "concat", "transpose"})
    EXPECT_EQ(kindOf(op), OpKind::Copy) << op.str();
  for (StringRef op : {"gather", "slice", "embedding", "gather_elements"})
    EXPECT_EQ(kindOf(op, 2), OpKind::Gather) << op.str();
  for (StringRef op : {"where", "max", "clip", "max_pool", "top_k", "pad"})
    EXPECT_EQ(kindOf(op, 3), OpKind::Select) << op.str();
  for (StringRef op : {"relu", "exp", "gelu", "sqrt", "square", "neg"})
    EXPECT_EQ(kindOf(op), OpKind::Elementwise) << op.str();
  for (StringRef op : {"add", "sub", "reduce_sum", "reduce_mean", "cum_sum"})
    EXPECT_EQ(kindOf(op, 2), OpKind::Linear) << op.str();
  for (StringRef op : {"mul", "matmul", "conv", "einsum"})
    EXPECT_EQ(kindOf(op, 2), OpKind::Product) << op.str();
  EXPECT_EQ(kindOf("div", 2), OpKind::Quotient);
  for (StringRef op : {"round", "floor", "quantize", "fake_quantize"})
    EXPECT_EQ(kindOf(op, 2), OpKind::Round) << op.str();
  for (StringRef op : {"softmax", "layer_norm", "batch_norm"})
    EXPECT_EQ(kindOf(op), OpKind::Normalize) << op.str();
}

TEST_F(OpKindTest, ComparisonsDecideAndShapesReadNothing) {
  Type indices = tensor(IntegerType::get(&context, 64));
  Type truth = tensor(IntegerType::get(&context, 1));
  for (StringRef op : {"arg_max", "arg_min", "non_zero"})
    EXPECT_EQ(kindOf(op, 1, indices), OpKind::Decide) << op.str();
  for (StringRef op : {"less", "equal", "greater_equal"})
    EXPECT_EQ(kindOf(op, 2, truth), OpKind::Decide) << op.str();
  EXPECT_EQ(kindOf("shape", 1, indices), OpKind::Source);
  EXPECT_EQ(kindOf("size", 1, indices), OpKind::Source);
  EXPECT_EQ(kindOf("cast", 1, indices), OpKind::Copy);
  EXPECT_EQ(kindOf("quantize", 2, indices), OpKind::Round);
}

/// A domain knows nothing of these but that the result depends on the operands.
/// A new op that should not be among them lacks a role or a row of the function
/// table.
TEST_F(OpKindTest, OnlyTheseOpsAreOpaque) {
  const std::set<std::string> expected = {"accumulate",
                                          "adagrad",
                                          "adam",
                                          "addcdiv",
                                          "addcmul",
                                          "affine_grid",
                                          "atan2",
                                          "attention",
                                          "bernoulli",
                                          "binary_cross_entropy",
                                          "binary_cross_entropy_with_logits",
                                          "bit_cast",
                                          "cdist",
                                          "clip_grad_norm",
                                          "cosine_similarity",
                                          "cross_entropy",
                                          "cum_prod",
                                          "custom",
                                          "det",
                                          "dft",
                                          "dist",
                                          "dropout",
                                          "eye_like",
                                          "floor_div",
                                          "global_lp_pool",
                                          "global_norm",
                                          "gradient",
                                          "grid_sample",
                                          "gru",
                                          "gru_cell",
                                          "hardmax",
                                          "if",
                                          "image_decoder",
                                          "kl_div",
                                          "lamb",
                                          "lerp",
                                          "loop",
                                          "lp_normalize",
                                          "lp_pool",
                                          "lrn",
                                          "lstm",
                                          "lstm_cell",
                                          "mel_weight_matrix",
                                          "mod",
                                          "momentum",
                                          "norm",
                                          "opaque",
                                          "optional",
                                          "optional_get_element",
                                          "pdist",
                                          "pow",
                                          "prelu",
                                          "random_int",
                                          "random_normal",
                                          "random_uniform",
                                          "range",
                                          "reduce_l1",
                                          "reduce_l2",
                                          "reduce_log_sum_exp",
                                          "reduce_prod",
                                          "reduce_sum_square",
                                          "renorm",
                                          "resize",
                                          "rnn",
                                          "rnn_cell",
                                          "roi_align",
                                          "rotary_embedding",
                                          "scan",
                                          "sgd",
                                          "softmax_cross_entropy",
                                          "std",
                                          "stft",
                                          "string_concat",
                                          "string_normalizer",
                                          "string_split",
                                          "swiglu",
                                          "tf_idf_vectorizer",
                                          "variance",
                                          "window",
                                          "zero_gradient"};
  std::set<std::string> opaque;
  Type indices = tensor(IntegerType::get(&context, 64));
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("mp")) {
    StringRef mnemonic = name.stripDialect();
    // Backward ops are linear in their operand 0, losses have no readers.
    bool isSpecial = mnemonic.ends_with("_grad") || mnemonic.contains("loss") ||
                     mnemonic.contains("sequence") || mnemonic == "yield";
    // Ops that make no floats whatever they read.
    bool decides = kOrders.contains(mnemonic);
    if (decides)
      EXPECT_EQ(kindOf(mnemonic, 2, indices), OpKind::Decide) << mnemonic.str();
    else if (!isSpecial && kindOf(mnemonic, 2) == OpKind::Opaque)
      opaque.insert(mnemonic.str());
  }
  EXPECT_EQ(opaque, expected);
}
