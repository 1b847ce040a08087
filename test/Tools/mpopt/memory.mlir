// RUN: mpopt --check %s --train --memory --loss mse:y,t --optimizer adamw --batch 8,world=4,accumulate=2 --precision as-is --fail-on never 2>&1 | FileCheck %s
// RUN: mpopt --check %s --train --memory --loss mse:y,t --precision as-is --fail-on never 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: mpopt --check %s --train --memory --loss mse:y,t --optimizer adamw,master=yes --batch 16,world=4 --precision bf16 --fail-on never --format json | FileCheck %s --check-prefix=JSON
// RUN: not mpopt --check %s --memory 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not mpopt --emit-mlir %s --memory 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: mpopt --check %s --train --memory 64KiB --loss mse:y,t --optimizer adamw --batch 8 --precision as-is --fail-on never 2>&1 | FileCheck %s --check-prefix=FIT
// RUN: mpopt --check %s --train --memory=1GiB --loss mse:y,t --optimizer adamw --batch 8 --precision as-is --fail-on never --format json | FileCheck %s --check-prefix=ROOM
// RUN: not mpopt --check %s --train --memory=much 2>&1 | FileCheck %s --check-prefix=SIZE

// FIT: does not fit: 136 KiB of 64.0 KiB; it does with ZeRO 2 over 8 ranks: 52.1 KiB; as configured
// FIT-NEXT: one sample is too many

// ROOM: "fit": {
// ROOM-NEXT: "budget": 1073741824,
// ROOM-NEXT: "needed": 139392,
// ROOM-NEXT: "fits": true,
// ROOM-NEXT: "changes": [],
// ROOM-NEXT: "changed": null,
// ROOM-NEXT: "most_samples": {{[0-9]+}},
// ROOM-NEXT: "most_samples_checkpointed": {{[0-9]+}}

// SIZE: mpopt: error: --memory: 'much' is no size: 24GiB, 80GB

// Each block has 2 x 32 x 64 weights. Saved are the operands of products with a
// weight, [8, 32] and [8, 64], and what the loss reads, [8, 32] twice; a
// rectifier's result is what the next product reads.
// CHECK: memory: each of 4 ranks, adamw, 8 samples a pass, 2 passes a step
// CHECK-NEXT: DDP     ZeRO 1     ZeRO 2     ZeRO 3       FSDP
// CHECK-NEXT: parameters                 32.0 KiB   32.0 KiB   32.0 KiB   8.00 KiB   8.00 KiB
// CHECK-NEXT: gathered for a block              -          -          -   32.0 KiB   32.0 KiB
// CHECK-NEXT: gradients                  32.0 KiB   32.0 KiB   8.00 KiB   8.00 KiB   8.00 KiB
// CHECK-NEXT: optimizer state            64.0 KiB   16.0 KiB   16.0 KiB   16.0 KiB   16.0 KiB
// CHECK-NEXT: constants                     128 B      128 B      128 B      128 B      128 B
// CHECK-NEXT: activations                8.00 KiB   8.00 KiB   8.00 KiB   8.00 KiB   8.00 KiB
// CHECK-NEXT: total                       136 KiB   88.1 KiB   64.1 KiB   72.1 KiB   72.1 KiB
// CHECK-NEXT: checkpointed activations   6.00 KiB   6.00 KiB   6.00 KiB   6.00 KiB   6.00 KiB
// CHECK-NEXT: total, checkpointed         134 KiB   86.1 KiB   62.1 KiB   70.1 KiB   70.1 KiB
// CHECK-NEXT: sent in a step             48.0 KiB   48.0 KiB   72.0 KiB    144 KiB    144 KiB
// CHECK-NEXT: checkpointed: 2 blocks, layers.0 to layers.1; 4.00 KiB stays, the rest is one block's
// CHECK-NEXT: largest activations
// CHECK-NEXT: 4.00 KiB  f32  layers.#.hidden (2)
// CHECK-NEXT: 3.00 KiB  f32

// OPEN: memory: one rank, no optimizer declared
// OPEN-NEXT: parameters                 32.0 KiB{{$}}
// OPEN-NEXT: gradients                  32.0 KiB{{$}}
// OPEN-NEXT: optimizer state                   ?
// OPEN-NEXT: constants                     128 B
// OPEN-NEXT: activations                       ?
// OPEN-NEXT: total                    > 64.1 KiB
// OPEN: without 6 tensors of unknown sizes: --dim and --input-shape say them

// FSDP keeps the FP32 copies as its shards.
// JSON: "memory": {
// JSON: "ranks": 4,
// JSON: "samples": 16,
// JSON: "optimizer": "adamw",
// JSON-NEXT: "configured": null,
// JSON: "ddp": {
// JSON-NEXT: "parameters": 16384,
// JSON-NEXT: "gathered": 0,
// JSON-NEXT: "master_copies": 32768,
// JSON-NEXT: "gradients": 16384,
// JSON-NEXT: "optimizer_state": 65536,
// JSON-NEXT: "sent": 24576
// JSON: "zero_3": {
// JSON: "fsdp": {
// JSON-NEXT: "parameters": 8192,
// JSON-NEXT: "gathered": 16384,
// JSON-NEXT: "master_copies": 0,
// JSON: "activations": {
// JSON-NEXT: "saved": 10240,
// JSON-NEXT: "weight_casts": 0,
// JSON-NEXT: "unknown": 0,
// JSON-NEXT: "checkpointed": {
// JSON-NEXT: "configured": false,
// JSON-NEXT: "blocks": 2,
// JSON: "name": "layers.#.hidden",
// JSON-NEXT: "dtype": "bf16",
// JSON-NEXT: "count": 2,
// JSON-NEXT: "bytes": 4096,


// ALONE: mpopt: error: --memory goes with --train{{$}}
// EMIT: --memory

module {
  func.func @main(%x: tensor<?x32xf32> {mp.name = "x", mp.dim_params = ["batch", ""]})
      -> (tensor<?x32xf32> {mp.name = "y"}) {
    %w0 = mp.constant dense<0.1> : tensor<32x64xf32> loc(#w0)
    %v0 = mp.constant dense<0.1> : tensor<64x32xf32> loc(#v0)
    %w1 = mp.constant dense<0.1> : tensor<32x64xf32> loc(#w1)
    %v1 = mp.constant dense<0.1> : tensor<64x32xf32> loc(#v1)
    %table = mp.constant dense<0.5> : tensor<32xf32>
    %0 = mp.add %x, %table : (tensor<?x32xf32>, tensor<32xf32>) -> tensor<?x32xf32>
    %1 = mp.matmul %0, %w0 : (tensor<?x32xf32>, tensor<32x64xf32>) -> tensor<?x64xf32>
    %2 = mp.relu %1 : (tensor<?x64xf32>) -> tensor<?x64xf32> loc(#relu)
    %3 = mp.matmul %2, %v0 : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
    %4 = mp.add %0, %3 : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
    %5 = mp.matmul %4, %w1 : (tensor<?x32xf32>, tensor<32x64xf32>) -> tensor<?x64xf32>
    %6 = mp.relu %5 : (tensor<?x64xf32>) -> tensor<?x64xf32> loc(#relu1)
    %7 = mp.matmul %6, %v1 : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
    %8 = mp.add %4, %7 : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
    return %8 : tensor<?x32xf32>
  }
}
#w0 = loc(fused<#mp.origin<"", "Initializer", "", ["layers.0.up"]>>[unknown])
#v0 = loc(fused<#mp.origin<"", "Initializer", "", ["layers.0.down"]>>[unknown])
#w1 = loc(fused<#mp.origin<"", "Initializer", "", ["layers.1.up"]>>[unknown])
#v1 = loc(fused<#mp.origin<"", "Initializer", "", ["layers.1.down"]>>[unknown])
#relu = loc(fused<#mp.origin<"relu", "Relu", "", ["layers.0.hidden"]>>[unknown])
#relu1 = loc(fused<#mp.origin<"relu1", "Relu", "", ["layers.1.hidden"]>>[unknown])
