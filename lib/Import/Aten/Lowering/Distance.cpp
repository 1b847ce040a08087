//===- Distance.cpp - Distances, from aten --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Norms.h"
#include "Operands.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static LogicalResult lowerCosine(NodeContext &context) {
  auto operands = promoteAll(context, {"x1", "x2"}, true);
  if (!operands || context.isDynamic("dim") || context.isDynamic("eps"))
    return context.unsupported();
  context.setOutput(0, context.make<mp::CosineSimilarityOp>(
                           (*operands)[0], (*operands)[1],
                           context.getInt("dim", 1),
                           APFloat(context.getNumber("eps", 1e-8))));
  return success();
}

/// The norm of x1 - x2 + eps over the last dim, in these steps
/// (aten/src/ATen/native/Distance.cpp).
static LogicalResult lowerPairwise(NodeContext &context) {
  auto operands = promoteAll(context, {"x1", "x2"});
  if (!operands || context.isDynamic("p") || context.isDynamic("eps") ||
      isIntegral((*operands)[0]))
    return context.unsupported();
  Value difference = context.make<mp::SubOp>((*operands)[0], (*operands)[1]);
  Value epsilon =
      constantLike(context, context.getNumber("eps", 1e-6), difference);
  if (!epsilon)
    return context.unsupported();
  context.setOutput(
      0, makeVectorNorm(context, context.make<mp::AddOp>(difference, epsilon),
                        context.getNumber("p", 2), intsAttr(context, {-1}),
                        context.getBool("keepdim")));
  return success();
}

static LogicalResult lowerCdist(NodeContext &context) {
  Value first = context.tensor("x1"), second = context.tensor("x2");
  if (!first || !second || context.isDynamic("p"))
    return context.unsupported();
  context.setOutput(0, context.make<mp::CdistOp>(
                           first, second, APFloat(context.getNumber("p", 2)),
                           /*squared=*/false));
  return success();
}

static LogicalResult lowerPdist(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("p"))
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::PdistOp>(input, APFloat(context.getNumber("p", 2))));
  return success();
}

static LogicalResult lowerDist(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"});
  if (!operands || context.isDynamic("p") || isIntegral((*operands)[0]))
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::DistOp>((*operands)[0], (*operands)[1],
                                  APFloat(context.getNumber("p", 2))));
  return success();
}

static LogicalResult lowerRenorm(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<int64_t> dim = context.findInt("dim");
  std::optional<double> order = context.findNumber("p"),
                        limit = context.findNumber("maxnorm");
  if (!input || !dim || !order || !limit)
    return context.unsupported();
  context.setOutput(0, context.make<mp::RenormOp>(input, APFloat(*order), *dim,
                                                  APFloat(*limit)));
  return success();
}

void mpopt::aten::registerDistance(LoweringRegistry &registry) {
  registry.add("cosine_similarity", lowerCosine);
  registry.add("pairwise_distance", lowerPairwise);
  registry.add({"cdist", "_cdist_forward", "_euclidean_dist"}, lowerCdist);
  registry.add({"pdist", "_pdist_forward"}, lowerPdist);
  registry.add("dist", lowerDist);
  registry.add("renorm", lowerRenorm);
}
