// RUN: mpopt-opt %s --mp-attach-loss="terms=cross-entropy:nothing" --split-input-file --verify-diagnostics
// RUN: not mpopt-opt %s --mp-attach-loss="terms=rmse" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mpopt-opt %s --mp-attach-loss="terms=cross-entropy:ids" 2>&1 | FileCheck %s --check-prefix=INTEGER
// RUN: not mpopt-opt %s --mp-attach-loss="terms=cross-entropy:scalar" 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not mpopt-opt %s --mp-attach-loss="terms=cross-entropy:y:class_axis=2" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not mpopt-opt %s --mp-attach-loss="terms=mse:y:class_axis=1" 2>&1 | FileCheck %s --check-prefix=NO-AXIS
// RUN: not mpopt-opt %s --mp-attach-loss="terms=mse:y,small" 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not mpopt-opt %s --mp-attach-loss="terms=cross-entropy:y,x" 2>&1 | FileCheck %s --check-prefix=FLOATS
// RUN: not mpopt-opt %s --mp-attach-loss="terms=contrastive:y" 2>&1 | FileCheck %s --check-prefix=SQUARE
// RUN: not mpopt-opt %s --mp-attach-loss="terms=kl-normal:y,scalar" 2>&1 | FileCheck %s --check-prefix=NORMAL
// RUN: not mpopt-opt %s --mp-attach-loss="terms=triplet:y,y,scalar" 2>&1 | FileCheck %s --check-prefix=TRIPLET
// RUN: not mpopt-opt %s --mp-attach-loss="terms=ctc:scalar" 2>&1 | FileCheck %s --check-prefix=CTC
// RUN: not mpopt-opt %s --mp-attach-loss="terms=mse:y:ignore=0" 2>&1 | FileCheck %s --check-prefix=IGNORE
// RUN: not mpopt-opt %s --mp-attach-loss="terms=sum:y:reduction=mean" 2>&1 | FileCheck %s --check-prefix=REDUCTION
// RUN: not mpopt-opt %s --mp-attach-loss="terms=mse:y:reduction=none;sum:scalar" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mpopt-opt %s --mp-attach-loss="terms=mse:scalar:positions=last" 2>&1 | FileCheck %s --check-prefix=POSITIONS
// RUN: not mpopt-opt %s --mp-attach-loss="terms=nll:unranked:class_axis=-1" 2>&1 | FileCheck %s --check-prefix=UNRANKED

// UNKNOWN: error: no loss is called 'rmse'; there are: cross-entropy, bce-with-logits, bce, mse,
// INTEGER: error: loss 'cross-entropy:ids': output 'ids' is 'tensor<4xi64>', and a prediction is of floats
// SCALAR: error: loss 'cross-entropy:scalar,target': 'scalar' is a scalar, without a class axis
// AXIS: error: loss 'cross-entropy:y,target:class_axis=2': class_axis 2 is none of the 2 axes of 'y'
// NO-AXIS: error: loss 'mse:y:class_axis=1': mse has no class axis
// RANK: error: loss 'mse:y,small': target 'small' is 'tensor<3xf32>', and needs to be 'tensor<4x3xf32>'
// FLOATS: error: loss 'cross-entropy:y,x': target 'x' is 'tensor<4x3xf32>', and needs to be 'tensor<4xi64>'
// SQUARE: error: loss 'contrastive:y': 'y' is 'tensor<4x3xf32>', not a square matrix of similarities
// NORMAL: error: loss 'kl-normal:y,scalar': the mean is 'tensor<4x3xf32>', the logarithm of the variance 'tensor<f32>'
// TRIPLET: error: loss 'triplet:y,y,scalar': 'scalar' is 'tensor<f32>', the anchor 'tensor<4x3xf32>'
// CTC: error: loss 'ctc:scalar,target': 'scalar' is 'tensor<f32>'; log-probabilities of steps, batch and classes have rank 2 or 3
// IGNORE: error: loss 'mse:y:ignore=0': mse ignores no index
// REDUCTION: error: loss 'sum:y:reduction=mean': sum is a reduction itself
// NONE: error: loss 'mse:y:reduction=none': reduction none leaves nothing that can be added to other terms
// UNRANKED: error: loss 'nll:unranked,target:class_axis=-1': the rank of 'unranked' is not known, and its classes need to be along axis 1
// POSITIONS: error: loss 'mse:scalar,target:positions=last': 'scalar' has no axis of positions

// expected-error @+1 {{loss 'cross-entropy:nothing': no output is called 'nothing'; there are: y, ids, scalar, unranked, output4}}
func.func @main(%x: tensor<4x3xf32> {mp.name = "x"}, %small: tensor<3xf32> {mp.name = "small"}, %ids: tensor<4xi64> {mp.name = "in"}, %s: tensor<f32>, %u: tensor<*xf32>) -> (tensor<4x3xf32> {mp.name = "y"}, tensor<4xi64> {mp.name = "ids"}, tensor<f32> {mp.name = "scalar"}, tensor<*xf32> {mp.name = "unranked"}, tensor<f32>) {
  return %x, %ids, %s, %u, %s : tensor<4x3xf32>, tensor<4xi64>, tensor<f32>, tensor<*xf32>, tensor<f32>
}
