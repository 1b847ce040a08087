// Fixes of how a model is trained are tried like others: the step is declared
// otherwise, or ops of its forward and backward pass are kept in FP32.

// RUN: split-file %s %t
// RUN: not mpopt --check %t/linear.mlir --train --precision autocast-fp16 --loss mse:y,t:weight=1e-9 --scaler none | FileCheck %s --check-prefix=SCALE
// RUN: mpopt --check %t/linear.mlir --train --precision autocast-fp16 --loss mse:y,t:reduction=sum --fail-on never | FileCheck %s --check-prefix=START
// RUN: mpopt --check %t/linear.mlir --train --precision autocast-bf16 --loss mse:y,t --scaler dynamic | FileCheck %s --check-prefix=NONE
// RUN: not mpopt --check %t/linear.mlir --train --precision autocast-fp16 --loss mse:y,t --scaler dynamic,growth=1,backoff=2 | FileCheck %s --check-prefix=GROWTH
// RUN: not mpopt --check %t/linear.mlir --train --precision fp16 --loss mse:y,t:weight=0.01 --optimizer adam,lr=0.01 --select MP407,MP408 --format json | FileCheck %s --check-prefix=EPS
// RUN: mpopt --check %t/linear.mlir --train --precision bf16 --loss mse:y,t --optimizer adamw,lr=0.0001 --fail-on never | FileCheck %s --check-prefix=COPIES
// RUN: not mpopt --check %t/linear.mlir --train --precision autocast-fp16 --loss mse:y,t:reduction=sum --batch 8,world=256 --reduce f16,after --scaler 32 | FileCheck %s --check-prefix=REDUCE
// RUN: not mpopt --check %t/two.mlir --train --precision as-is --loss sum:loss --format json | FileCheck %s --check-prefix=ISLAND
// RUN: not mpopt --check %t/edges.mlir --train --loss sum:loss --select MP412,MP414 | FileCheck %s --check-prefix=EDGES

//--- linear.mlir
module {
  func.func @main(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<8x4xf32> {mp.name = "y"}) {
    %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
    %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc(#y)
    return %y : tensor<8x4xf32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])
#y = loc(fused<#mp.origin<"/y", "MatMul", "", ["y"]>>["f"])

// SCALE: error[MP401]
// SCALE: = safe fix: use a loss scaler that starts at 2^16 (65536)
// SCALE: = safe fix: compute /y in f32, whose gradients are f32 then
// SCALE: error[MP411]
// SCALE: = safe fix: use a loss scaler that starts at 2^16 (65536)

// START: note[MP402]
// START: the first 5 steps are skipped; 2^9 (512) is a better start
// START: = safe fix: start the loss scaler at 2^9 (512)

// START: {{^}}gradients of the unscaled loss
// START: {{^}}  lost: the share of elements that are not 0 and are stored as 0 without a loss scale{{$}}
// START-NEXT: {{^}}  off by: the expected error

// NONE: note[MP411]
// NONE: = safe fix: train without a loss scaler

// GROWTH: error[MP411]
// GROWTH: = safe fix: use GradScaler's growth of 2, backoff of 0.5 and interval of 2000 steps

// An epsilon that FP16 holds leaves second moments that are 0.
// EPS:      "rule": "MP407"
// EPS:      "kind": "optimizer",
// EPS-NEXT: "safe": true,
// EPS-NEXT: "text": "keep the optimizer's state in f32"
// EPS:      "kind": "optimizer",
// EPS-NEXT: "safe": true,
// EPS-NEXT: "text": "keep f32 copies of the weights, with the optimizer's state in f32"
// EPS:      "kind": "optimizer",
// EPS-NEXT: "safe": false,
// EPS-NEXT: "text": "set eps to 0.0001"

// COPIES: warning[MP408]
// COPIES: = safe fix: keep the optimizer's state in f32
// COPIES: = safe fix: keep f32 copies of the weights, with the optimizer's state in f32
// COPIES: = safe fix: set beta2 to 0.995
// COPIES: warning[MP409]
// COPIES: = safe fix: keep f32 copies of the weights to update

// REDUCE: error[MP410]
// REDUCE: past 65504
// REDUCE: = safe fix: add the gradients in f32
// REDUCE: = safe fix: divide by 16 before the sum over 256 workers, and by the rest after it

//--- two.mlir
// The gradients of two layers are too far apart for one scale.
module {
  func.func @main(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
    %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
    %v = mp.constant dense<0.5> : tensor<4x64xf16> loc(#v)
    %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16> loc(#large)
    %z = mp.matmul %x, %v : (tensor<8x4xf16>, tensor<4x64xf16>) -> tensor<8x64xf16> loc(#small)
    %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
    %g = mp.cast %z : (tensor<8x64xf16>) -> tensor<8x64xf32>
    %c = mp.constant dense<1.0e+3> : tensor<f32>
    %d = mp.constant dense<1.0e-12> : tensor<f32>
    %l = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %s = mp.mul %g, %d : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
    %first = mp.reduce_sum %l : (tensor<8x4xf32>) -> tensor<f32>
    %second = mp.reduce_sum %s : (tensor<8x64xf32>) -> tensor<f32>
    %loss = mp.add %first, %second : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>["f"])
#large = loc(fused<#mp.origin<"/large", "MatMul", "", ["y"]>>["f"])
#small = loc(fused<#mp.origin<"/small", "MatMul", "", ["z"]>>["f"])

// ISLAND:      "rule": "MP403"
// ISLAND:      "kind": "keep-fp32",
// ISLAND-NEXT: "safe": true,
// ISLAND-NEXT: "text": "compute /large in f32, whose gradients are f32 then"

//--- edges.mlir
module {
  func.func @main(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
    %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
    %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc(#y)
    %r = mp.relu %y : (tensor<8x4xf32>) -> tensor<8x4xf32> loc(#r)
    %s = mp.sqrt %r : (tensor<8x4xf32>) -> tensor<8x4xf32> loc(#s)
    %p = mp.sigmoid %s : (tensor<8x4xf32>) -> tensor<8x4xf32> loc(#p)
    %l = mp.log %p : (tensor<8x4xf32>) -> tensor<8x4xf32> loc(#l)
    %loss = mp.reduce_sum %l {mp.loss_part} : (tensor<8x4xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])
#y = loc(fused<#mp.origin<"/y", "MatMul", "", ["y"]>>["f"])
#r = loc(fused<#mp.origin<"/Relu", "Relu", "", ["r"]>>["f"])
#s = loc(fused<#mp.origin<"/Sqrt", "Sqrt", "", ["s"]>>["f"])
#p = loc(fused<#mp.origin<"/Sigmoid", "Sigmoid", "", ["p"]>>["f"])
#l = loc(fused<#mp.origin<"/Log", "Log", "", ["l"]>>["f"])

// EDGES: [MP412]
// EDGES: = safe fix: clip the argument to at least 0.0001
// EDGES: warning[MP414]
// EDGES: = safe fix: compute log_sigmoid(x)
