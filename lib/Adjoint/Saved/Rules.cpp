//===- Rules.cpp - What autograd saves of ops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Saved variables of PyTorch's tools/autograd/derivatives.yaml, and of the ops
// of which a composite is made there (`l1_loss` is the `abs` of a difference),
// where they are not what the gradient here reads.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Adjoint/SavingInterface.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/RandomOps.h"
#include "mpopt/Dialect/Ops/RecurrentOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/SignalOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpopt;

#include "mpopt/Adjoint/SavingInterface.cpp.inc"

namespace {
/// The model that calls `function`: `void (OpTy, SavingContext &)`.
template <auto function, typename OpTy>
struct SavingModel
    : SavingOpInterface::ExternalModel<SavingModel<function, OpTy>, OpTy> {
  void save(Operation *op, SavingContext &ctx) const {
    function(cast<OpTy>(op), ctx);
  }
};
} // namespace

template <auto function, typename OpTy>
static void attach(MLIRContext *context) {
  OpTy::template attachInterface<SavingModel<function, OpTy>>(*context);
}

static std::optional<int64_t> sizeOf(Value value) {
  return getNumElements(getShape(value));
}

/// The product, if both are known.
static std::optional<int64_t> times(std::optional<int64_t> lhs, int64_t rhs) {
  if (!lhs)
    return std::nullopt;
  int64_t product;
  return llvm::MulOverflow(*lhs, rhs, product) ? std::nullopt
                                               : std::optional(product);
}

/// The dims of `value` from `begin` to `end` multiplied.
static std::optional<int64_t> dimsOf(Value value, unsigned begin,
                                     unsigned end) {
  MaybeShape shape = getShape(value);
  if (!shape || shape->size() < end)
    return std::nullopt;
  return getNumElements(Shape(shape->begin() + begin, shape->begin() + end));
}

static Type wide(Operation *op) { return Builder(op).getF32Type(); }

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// Leading dims of the input are folded to rows.
static void saveLinear(mp::LinearOp op, SavingContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  if (ctx.isRead(op.getInput()))
    ctx.keepMerged(op.getInput(), 0,
                   shape && !shape->empty() ? unsigned(shape->size() - 1) : 0,
                   /*transposed=*/false);
  if (ctx.isRead(op.getWeight()))
    ctx.keep(op.getWeight());
}

/// The elements of a factor of a product of batches of matrices, broadcast to
/// the result's batch.
static std::optional<int64_t> broadcastSize(Value factor, Value result) {
  MaybeShape shape = getShape(factor), whole = getShape(result);
  if (!shape || !whole || shape->size() < 2 || whole->size() < 2)
    return std::nullopt;
  Shape all(whole->begin(), whole->end() - 2);
  all.append(shape->end() - 2, shape->end());
  return getNumElements(all);
}

/// As `at::matmul` does: a tensor with a matrix or a vector becomes a product
/// of two matrices, two tensors a product of batches. Both reshape.
static void saveMatMul(mp::MatMulOp op, SavingContext &ctx) {
  MaybeShape left = getShape(op.getLhs()), right = getShape(op.getRhs());
  if (!left || !right)
    return ctx.keepReads();
  bool folds = left->size() <= 2 || right->size() <= 2;
  for (Value factor : ctx.reads()) {
    bool isLeft = factor == op.getLhs();
    unsigned rank = getShape(factor)->size();
    if (rank <= 2) {
      ctx.keep(factor);
      continue;
    }
    bool swaps = isLeft ? op.getTransA() : op.getTransB();
    // Folded from the right the tensor is read as its transpose.
    ctx.keepMerged(
        factor, 0, folds ? rank - 1 : rank - 2, folds ? swaps == isLeft : swaps,
        folds ? std::nullopt : broadcastSize(factor, op.getResult()));
  }
}

//===----------------------------------------------------------------------===//
// Norms, whose statistics are FP32
//===----------------------------------------------------------------------===//

template <typename OpTy> static void keepParts(OpTy op, SavingContext &ctx) {
  for (Value value : {Value(op.getInput()), Value(op.getScale())})
    if (value && ctx.isRead(value))
      ctx.keep(value);
}

/// The number of rows that are normalised.
static std::optional<int64_t> countRows(Value input, int64_t axis) {
  MaybeShape shape = getShape(input);
  std::optional<int64_t> first =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  return first ? dimsOf(input, 0, *first) : std::nullopt;
}

static void saveLayerNorm(mp::LayerNormOp op, SavingContext &ctx) {
  keepParts(op, ctx);
  ctx.keepNew(times(countRows(op.getInput(), op.getAxis()), 2), wide(op));
}

static void saveRmsNorm(mp::RMSNormOp op, SavingContext &ctx) {
  keepParts(op, ctx);
  ctx.keepNew(countRows(op.getInput(), op.getAxis()), wide(op));
}

static void saveBatchNorm(mp::BatchNormOp op, SavingContext &ctx) {
  keepParts(op, ctx);
  if (op.getTraining())
    ctx.keepNew(times(dimsOf(op.getInput(), 1, 2), 2), wide(op));
}

static void saveInstanceNorm(mp::InstanceNormOp op, SavingContext &ctx) {
  keepParts(op, ctx);
  ctx.keepNew(times(dimsOf(op.getInput(), 0, 2), 2), wide(op));
}

static void saveGroupNorm(mp::GroupNormOp op, SavingContext &ctx) {
  keepParts(op, ctx);
  ctx.keepNew(
      times(dimsOf(op.getInput(), 0, 1), 2 * int64_t(op.getNumGroups())),
      wide(op));
}

/// The padded squares, their average and the power, of the input's size each.
static void saveLocalNorm(mp::LRNOp op, SavingContext &ctx) {
  ctx.keep(op.getInput());
  ctx.keepNew(times(sizeOf(op.getInput()), 3), getElementType(op.getInput()));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// x / (1 + |x|), op by op.
static void saveSoftsign(mp::SoftsignOp op, SavingContext &ctx) {
  ctx.keep(op.getInput());
  ctx.keepNew(sizeOf(op.getInput()), getElementType(op.getInput()));
}

/// x - tanh(x), op by op.
static void saveTanhShrink(mp::TanhShrinkOp op, SavingContext &ctx) {
  ctx.keepNew(sizeOf(op.getInput()), getElementType(op.getInput()));
}

/// No result, which the gradient here reads.
template <typename OpTy> static void saveOperands(OpTy op, SavingContext &ctx) {
  for (Value value : op->getOperands())
    if (ctx.isRead(value))
      ctx.keep(value);
}

/// The result, too.
template <typename OpTy> static void saveResult(OpTy op, SavingContext &ctx) {
  ctx.keepReads();
  ctx.keep(op->getResult(0));
}

/// Nothing is dropped at 0.
static void saveDropout(mp::DropoutOp op, SavingContext &ctx) {
  if (op.getDynamicRatio() || !op.getRatio().isZero())
    ctx.keepReads();
}

//===----------------------------------------------------------------------===//
// Pools and samples
//===----------------------------------------------------------------------===//

/// Positions of maxima are i64.
template <typename OpTy> static void saveMaxPool(OpTy op, SavingContext &ctx) {
  ctx.keep(op.getInput());
  ctx.keepNew(sizeOf(op->getResult(0)), Builder(op).getI64Type());
}

/// A pool to one position is a mean.
static void saveAdaptiveAvgPool(mp::AdaptiveAvgPoolOp op, SavingContext &ctx) {
  std::optional<int64_t> all = sizeOf(op.getResult());
  if (!all || all != dimsOf(op.getResult(), 0, 2))
    ctx.keepReads();
}

/// Their gradients know the shapes, which here are read off operands.
template <typename OpTy> static void saveNothing(OpTy, SavingContext &) {}

/// The operand is kept for its shape (`gather_backward`).
static void saveGatherElements(mp::GatherElementsOp op, SavingContext &ctx) {
  ctx.keep(op.getInput());
  ctx.keepReads();
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// The log-softmax, and what its negative likelihood reads: the target, and the
/// sum of the weights.
static void saveCrossEntropy(mp::CrossEntropyOp op, SavingContext &ctx) {
  ctx.keepNew(sizeOf(op.getInput()), getElementType(op.getInput()));
  ctx.keep(op.getTarget());
  ctx.keepNew(1, getElementType(op.getInput()));
}

/// The sum of the targets' weights, too.
static void saveNllLoss(mp::NllLossOp op, SavingContext &ctx) {
  ctx.keepReads();
  ctx.keepNew(1, getElementType(op.getInput()));
}

/// The difference.
static void saveL1Loss(mp::L1LossOp op, SavingContext &ctx) {
  ctx.keepNew(sizeOf(op.getInput()), getElementType(op.getInput()));
}

/// Both operands, and both over their norms.
static void saveCosine(mp::CosineSimilarityOp op, SavingContext &ctx) {
  for (Value value : op->getOperands())
    if (ctx.isRead(value)) {
      ctx.keep(value);
      ctx.keepNew(sizeOf(value), getElementType(value));
    }
}

/// A product of target and input.
static void saveKlDiv(mp::KlDivOp op, SavingContext &ctx) {
  if (op.getLogTarget())
    ctx.keepNew(sizeOf(op.getInput()), getElementType(op.getInput()));
  else
    ctx.keep(op.getTarget());
}

//===----------------------------------------------------------------------===//
// Attention and recurrent networks
//===----------------------------------------------------------------------===//

/// The kernels that do not store the probabilities keep the result and the
/// logarithm of each row's sum instead (Dao et al., 2022).
static void saveAttention(mp::AttentionOp op, SavingContext &ctx) {
  for (Value value : op->getOperands())
    if (ctx.isRead(value))
      ctx.keep(value);
  ctx.keep(op.getResult());
  MaybeShape shape = getShape(op.getQuery());
  std::optional<int64_t> rows;
  if (shape && shape->size() == 3 && op.getNumHeads() > 0)
    rows = times(dimsOf(op.getQuery(), 0, 2), op.getNumHeads());
  else if (shape && shape->size() >= 2)
    rows = dimsOf(op.getQuery(), 0, unsigned(shape->size()) - 1);
  ctx.keepNew(rows, wide(op));
}

/// Each step and direction has `step` tensors of the state's size, and `first`
/// more: hidden states, gates, cells as PyTorch's own kernels run them
/// (ATen/native/RNN.cpp).
template <typename OpTy>
static void keepSteps(OpTy op, int64_t step, int64_t first,
                      SavingContext &ctx) {
  ctx.keep(op.getInput());
  ctx.keepPacked(op.getWeights());
  ctx.keepPacked(op.getRecurrence());
  std::optional<int64_t> all = sizeOf(op->getResult(0));
  std::optional<int64_t> state = sizeOf(op.getLastH());
  Type element = getElementType(op->getResult(0));
  ctx.keepNew(times(all, step), element);
  if (first)
    ctx.keepNew(times(state, first), element);
}
/// The result of each step, for its own slope and the next product.
static void saveRnn(mp::RNNOp op, SavingContext &ctx) {
  keepSteps(op, 1, 1, ctx);
}
/// h, four gates, c and tanh(c).
static void saveLstm(mp::LSTMOp op, SavingContext &ctx) {
  keepSteps(op, 7, 0, ctx);
}
/// h, three gates' place, the new state before and behind its function, and its
/// difference from h.
static void saveGru(mp::GRUOp op, SavingContext &ctx) {
  keepSteps(op, 7, 0, ctx);
}

template <typename OpTy>
static void keepStep(OpTy op, int64_t more, SavingContext &ctx) {
  ctx.keepReads();
  ctx.keepNew(times(sizeOf(op->getResult(0)), more),
              getElementType(op->getResult(0)));
}
static void saveRnnCell(mp::RNNCellOp op, SavingContext &ctx) {
  ctx.keepReads();
  ctx.keep(op.getResult());
}
/// Gates and tanh(c) beside the operands.
static void saveLstmCell(mp::LSTMCellOp op, SavingContext &ctx) {
  keepStep(op, 5, ctx);
}
static void saveGruCell(mp::GRUCellOp op, SavingContext &ctx) {
  keepStep(op, 6, ctx);
}

void mpopt::attachSavingModels(MLIRContext *context) {
  attach<saveLinear, mp::LinearOp>(context);
  attach<saveMatMul, mp::MatMulOp>(context);
  attach<saveLayerNorm, mp::LayerNormOp>(context);
  attach<saveRmsNorm, mp::RMSNormOp>(context);
  attach<saveBatchNorm, mp::BatchNormOp>(context);
  attach<saveInstanceNorm, mp::InstanceNormOp>(context);
  attach<saveGroupNorm, mp::GroupNormOp>(context);
  attach<saveLocalNorm, mp::LRNOp>(context);
  attach<saveSoftsign, mp::SoftsignOp>(context);
  attach<saveTanhShrink, mp::TanhShrinkOp>(context);
  attach<saveOperands<mp::MaxOp>, mp::MaxOp>(context);
  attach<saveOperands<mp::MinOp>, mp::MinOp>(context);
  attach<saveResult<mp::ReduceL2Op>, mp::ReduceL2Op>(context);
  attach<saveResult<mp::NormOp>, mp::NormOp>(context);
  attach<saveResult<mp::ReduceLogSumExpOp>, mp::ReduceLogSumExpOp>(context);
  attach<saveResult<mp::ReduceProdOp>, mp::ReduceProdOp>(context);
  attach<saveDropout, mp::DropoutOp>(context);
  attach<saveCosine, mp::CosineSimilarityOp>(context);
  attach<saveMaxPool<mp::MaxPoolOp>, mp::MaxPoolOp>(context);
  attach<saveMaxPool<mp::AdaptiveMaxPoolOp>, mp::AdaptiveMaxPoolOp>(context);
  attach<saveMaxPool<mp::GlobalMaxPoolOp>, mp::GlobalMaxPoolOp>(context);
  attach<saveAdaptiveAvgPool, mp::AdaptiveAvgPoolOp>(context);
  attach<saveNothing<mp::ResizeOp>, mp::ResizeOp>(context);
  attach<saveNothing<mp::DFTOp>, mp::DFTOp>(context);
  attach<saveGatherElements, mp::GatherElementsOp>(context);
  attach<saveCrossEntropy, mp::CrossEntropyOp>(context);
  attach<saveNllLoss, mp::NllLossOp>(context);
  attach<saveL1Loss, mp::L1LossOp>(context);
  attach<saveKlDiv, mp::KlDivOp>(context);
  attach<saveAttention, mp::AttentionOp>(context);
  attach<saveRnn, mp::RNNOp>(context);
  attach<saveLstm, mp::LSTMOp>(context);
  attach<saveGru, mp::GRUOp>(context);
  attach<saveRnnCell, mp::RNNCellOp>(context);
  attach<saveLstmCell, mp::LSTMCellOp>(context);
  attach<saveGruCell, mp::GRUCellOp>(context);
}
