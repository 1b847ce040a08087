// RUN: mpopt-opt %s --mp-attach-loss="terms=cross-entropy:scores,labels:ignore=-100" 2>/dev/null | FileCheck %s --check-prefix=CE
// RUN: mpopt-opt %s --mp-attach-loss="terms=cross-entropy:tokens" 2>/dev/null | FileCheck %s --check-prefix=TOKENS
// RUN: mpopt-opt %s --mp-attach-loss="terms=cross-entropy:image:reduction=none" 2>/dev/null | FileCheck %s --check-prefix=IMAGE
// RUN: mpopt-opt %s --mp-attach-loss="terms=nll:tokens,labels:positions=last" 2>/dev/null | FileCheck %s --check-prefix=LAST
// RUN: mpopt-opt %s --mp-attach-loss="terms=bce-with-logits:scores:reduction=sum_then_batch_mean:weight=0.5" 2>/dev/null | FileCheck %s --check-prefix=BCE
// RUN: mpopt-opt %s --mp-attach-loss="terms=l1:scores,small" 2>/dev/null | FileCheck %s --check-prefix=L1
// RUN: mpopt-opt %s --mp-attach-loss="terms=smooth-l1:scores:reduction=sum" 2>/dev/null | FileCheck %s --check-prefix=SMOOTH
// RUN: mpopt-opt %s --mp-attach-loss="terms=kl:scores:reduction=none" 2>/dev/null | FileCheck %s --check-prefix=KL
// RUN: mpopt-opt %s --mp-attach-loss="terms=kl-normal:scores,other" 2>/dev/null | FileCheck %s --check-prefix=NORMAL
// RUN: mpopt-opt %s --mp-attach-loss="terms=contrastive:square" 2>/dev/null | FileCheck %s --check-prefix=PAIRS
// RUN: mpopt-opt %s --mp-attach-loss="terms=hinge:scores" 2>/dev/null | FileCheck %s --check-prefix=HINGE
// RUN: mpopt-opt %s --mp-attach-loss="terms=triplet:scores,other,third" 2>/dev/null | FileCheck %s --check-prefix=TRIPLET
// RUN: mpopt-opt %s --mp-attach-loss="terms=focal:scores" 2>/dev/null | FileCheck %s --check-prefix=FOCAL
// RUN: mpopt-opt %s --mp-attach-loss="terms=ctc:tokens" 2>/dev/null | FileCheck %s --check-prefix=CTC
// RUN: mpopt-opt %s --mp-attach-loss="terms=policy-gradient:scores,action" 2>/dev/null | FileCheck %s --check-prefix=POLICY
// RUN: mpopt-opt %s --mp-attach-loss="terms=sum:scores" 2>/dev/null | FileCheck %s --check-prefix=SUM
// RUN: mpopt-opt %s --mp-attach-loss="terms=mse:scores;mean:other:weight=0.1" 2>/dev/null | FileCheck %s --check-prefix=TWO
// RUN: mpopt-opt %s --mp-attach-loss="terms=mse:dynamic:reduction=sum_then_batch_mean" 2>/dev/null | FileCheck %s --check-prefix=DYNAMIC

// RUN: mpopt-opt %s --mp-attach-loss="terms=hinge:scores:margin=0.5;triplet:scores,other,third:margin=2" 2>/dev/null | FileCheck %s --check-prefix=MARGINS
// RUN: mpopt-opt %s --mp-attach-loss="terms=cross-entropy:scores:label_smoothing=0.1:share_counted=0.25" 2>/dev/null | FileCheck %s --check-prefix=SMOOTHED

// One composite a loss where there is one, in FP32 (FP64 for predictions in FP64), with
// its target as an argument.

// CE: %arg8: tensor<4xi64> {mp.loss_target = "cross-entropy", mp.name = "labels"}
// CE-SAME: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["cross-entropy:scores,labels:ignore=-100"]}
// CE-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// CE-NEXT: %[[V1:.*]] = mp.cross_entropy %[[V0]], %arg8 {ignore_index = -100 : i64, mp.loss_part} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
// CE-NEXT: return {{.*}}, %[[V1]] :

// TOKENS: %arg8: tensor<2x5xi64> {mp.loss_target = "cross-entropy", mp.name = "target"}
// TOKENS-SAME: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["cross-entropy:tokens,target:class_axis=2"]}
// TOKENS-NEXT: %[[V0:.*]] = mp.cast %arg3 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<2x5x7xf16>) -> tensor<2x5x7xf32>
// TOKENS-NEXT: %[[V1:.*]] = mp.constant {mp.loss_part} dense<[-1, 7]> : tensor<2xi64>
// TOKENS-NEXT: %[[V2:.*]] = mp.reshape %[[V0]], %[[V1]] {allow_zero, mp.loss_part} : (tensor<2x5x7xf32>, tensor<2xi64>) -> tensor<10x7xf32>
// TOKENS-NEXT: %[[V3:.*]] = mp.constant {mp.loss_part} dense<-1> : tensor<1xi64>
// TOKENS-NEXT: %[[V4:.*]] = mp.reshape %arg8, %[[V3]] {allow_zero, mp.loss_part} : (tensor<2x5xi64>, tensor<1xi64>) -> tensor<10xi64>
// TOKENS-NEXT: %[[V5:.*]] = mp.cross_entropy %[[V2]], %[[V4]] {mp.loss_part} : (tensor<10x7xf32>, tensor<10xi64>) -> tensor<f32>
// TOKENS-NEXT: return {{.*}}, %[[V5]] :

// IMAGE: %arg8: tensor<2x4x4xi64> {mp.loss_target = "cross-entropy", mp.name = "target"}
// IMAGE-SAME: tensor<2x4x4xf32> {mp.name = "loss"}) attributes {mp.loss = ["cross-entropy:image,target:reduction=none:class_axis=1"]}
// IMAGE-NEXT: %[[V0:.*]] = mp.cross_entropy %arg4, %arg8 {mp.loss_part, reduction = "none"} : (tensor<2x3x4x4xf32>, tensor<2x4x4xi64>) -> tensor<2x4x4xf32>
// IMAGE-NEXT: return {{.*}}, %[[V0]] :

// LAST: %arg8: tensor<2x1xi64> {mp.loss_target = "nll", mp.name = "labels"}
// LAST-SAME: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["nll:tokens,labels:class_axis=2:positions=last"]}
// LAST-NEXT: %[[V0:.*]] = mp.slice %arg3 {axes = array<i64: 1>, ends = array<i64: 9223372036854775807>, mp.loss_part, starts = array<i64: -1>} : (tensor<2x5x7xf16>) -> tensor<2x1x7xf16>
// LAST-NEXT: %[[V1:.*]] = mp.cast %[[V0]] {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<2x1x7xf16>) -> tensor<2x1x7xf32>
// LAST-NEXT: %[[V2:.*]] = mp.constant {mp.loss_part} dense<[-1, 7]> : tensor<2xi64>
// LAST-NEXT: %[[V3:.*]] = mp.reshape %[[V1]], %[[V2]] {allow_zero, mp.loss_part} : (tensor<2x1x7xf32>, tensor<2xi64>) -> tensor<2x7xf32>
// LAST-NEXT: %[[V4:.*]] = mp.constant {mp.loss_part} dense<-1> : tensor<1xi64>
// LAST-NEXT: %[[V5:.*]] = mp.reshape %arg8, %[[V4]] {allow_zero, mp.loss_part} : (tensor<2x1xi64>, tensor<1xi64>) -> tensor<2xi64>
// LAST-NEXT: %[[V6:.*]] = mp.nll_loss %[[V3]], %[[V5]] {mp.loss_part} : (tensor<2x7xf32>, tensor<2xi64>) -> tensor<f32>
// LAST-NEXT: return {{.*}}, %[[V6]] :

// BCE: %arg8: tensor<4x3xf32> {mp.loss_target = "bce-with-logits", mp.name = "target"}
// BCE-SAME: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["bce-with-logits:scores,target:weight=0.5:reduction=sum_then_batch_mean"]}
// BCE-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// BCE-NEXT: %[[V1:.*]] = mp.binary_cross_entropy_with_logits %[[V0]], %arg8 {mp.loss_part, reduction = "sum"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<f32>
// BCE-NEXT: %[[V2:.*]] = mp.constant {mp.loss_part} dense<4.000000e+00> : tensor<f32>
// BCE-NEXT: %[[V3:.*]] = mp.div %[[V1]], %[[V2]] {mp.loss_part} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// BCE-NEXT: %[[V4:.*]] = mp.constant {mp.loss_part} dense<5.000000e-01> : tensor<f32>
// BCE-NEXT: %[[V5:.*]] = mp.mul %[[V3]], %[[V4]] {mp.loss_part} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// BCE-NEXT: return {{.*}}, %[[V5]] :

// L1: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["l1:scores,small"]}
// L1-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// L1-NEXT: %[[V1:.*]] = mp.l1_loss %[[V0]], %arg7 {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<f32>
// L1-NEXT: return {{.*}}, %[[V1]] :

// SMOOTH: %arg8: tensor<4x3xf32> {mp.loss_target = "smooth-l1", mp.name = "target"}
// SMOOTH-SAME: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["smooth-l1:scores,target:reduction=sum"]}
// SMOOTH-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// SMOOTH-NEXT: %[[V1:.*]] = mp.smooth_l1_loss %[[V0]], %arg8 {mp.loss_part, reduction = "sum"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<f32>
// SMOOTH-NEXT: return {{.*}}, %[[V1]] :

// KL: %arg8: tensor<4x3xf32> {mp.loss_target = "kl", mp.name = "target"}
// KL-SAME: tensor<4x3xf32> {mp.name = "loss"}) attributes {mp.loss = ["kl:scores,target:reduction=none"]}
// KL-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// KL-NEXT: %[[V1:.*]] = mp.kl_div %[[V0]], %arg8 {mp.loss_part, reduction = "none"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// KL-NEXT: return {{.*}}, %[[V1]] :

// NORMAL: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["kl-normal:scores,other"]}
// NORMAL-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// NORMAL-NEXT: %[[V1:.*]] = mp.cast %arg1 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// NORMAL-NEXT: %[[V2:.*]] = mp.exp %[[V1]] {mp.loss_part} : (tensor<4x3xf32>) -> tensor<4x3xf32>
// NORMAL-NEXT: %[[V3:.*]] = mp.constant {mp.loss_part} dense<1.000000e+00> : tensor<f32>
// NORMAL-NEXT: %[[V4:.*]] = mp.add %[[V1]], %[[V3]] {mp.loss_part} : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// NORMAL-NEXT: %[[V5:.*]] = mp.mul %[[V0]], %[[V0]] {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// NORMAL-NEXT: %[[V6:.*]] = mp.sub %[[V4]], %[[V5]] {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// NORMAL-NEXT: %[[V7:.*]] = mp.sub %[[V6]], %[[V2]] {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// NORMAL-NEXT: %[[V8:.*]] = mp.constant {mp.loss_part} dense<-5.000000e-01> : tensor<f32>
// NORMAL-NEXT: %[[V9:.*]] = mp.mul %[[V7]], %[[V8]] {mp.loss_part} : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// NORMAL-NEXT: %[[V10:.*]] = mp.reduce_mean %[[V9]] {mp.loss_part} : (tensor<4x3xf32>) -> tensor<f32>
// NORMAL-NEXT: return {{.*}}, %[[V10]] :

// PAIRS: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["contrastive:square"]}
// PAIRS-NEXT: %[[V0:.*]] = mp.cast %arg5 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<6x6xbf16>) -> tensor<6x6xf32>
// PAIRS-NEXT: %[[V1:.*]] = mp.constant {mp.loss_part} dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi64>
// PAIRS-NEXT: %[[V2:.*]] = mp.cross_entropy %[[V0]], %[[V1]] {mp.loss_part} : (tensor<6x6xf32>, tensor<6xi64>) -> tensor<f32>
// PAIRS-NEXT: %[[V3:.*]] = mp.transpose %[[V0]] {mp.loss_part, perm = array<i64: 1, 0>} : (tensor<6x6xf32>) -> tensor<6x6xf32>
// PAIRS-NEXT: %[[V4:.*]] = mp.cross_entropy %[[V3]], %[[V1]] {mp.loss_part} : (tensor<6x6xf32>, tensor<6xi64>) -> tensor<f32>
// PAIRS-NEXT: %[[V5:.*]] = mp.add %[[V2]], %[[V4]] {mp.loss_part} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// PAIRS-NEXT: %[[V6:.*]] = mp.constant {mp.loss_part} dense<5.000000e-01> : tensor<f32>
// PAIRS-NEXT: %[[V7:.*]] = mp.mul %[[V5]], %[[V6]] {mp.loss_part} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// PAIRS-NEXT: return {{.*}}, %[[V7]] :

// HINGE: %arg8: tensor<4x3xf32> {mp.loss_target = "hinge", mp.name = "target"}
// HINGE-SAME: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["hinge:scores,target"]}
// HINGE-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// HINGE-NEXT: %[[V1:.*]] = mp.constant {mp.loss_part} dense<0.000000e+00> : tensor<4x3xf32>
// HINGE-NEXT: %[[V2:.*]] = mp.margin_ranking_loss %[[V0]], %[[V1]], %arg8 {margin = 1.000000e+00 : f64, mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<f32>
// HINGE-NEXT: return {{.*}}, %[[V2]] :

// TRIPLET: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["triplet:scores,other,third"]}
// TRIPLET-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// TRIPLET-NEXT: %[[V1:.*]] = mp.cast %arg1 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// TRIPLET-NEXT: %[[V2:.*]] = mp.cast %arg2 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// TRIPLET-NEXT: %[[V3:.*]] = mp.triplet_margin_loss %[[V0]], %[[V1]], %[[V2]] {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<f32>
// TRIPLET-NEXT: return {{.*}}, %[[V3]] :

// FOCAL: %arg8: tensor<4x3xf32> {mp.loss_target = "focal", mp.name = "target"}
// FOCAL-SAME: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["focal:scores,target"]}
// FOCAL-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V1:.*]] = mp.binary_cross_entropy_with_logits %[[V0]], %arg8 {mp.loss_part, reduction = "none"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V2:.*]] = mp.sigmoid %[[V0]] {mp.loss_part} : (tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V3:.*]] = mp.mul %[[V2]], %arg8 {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V4:.*]] = mp.constant {mp.loss_part} dense<1.000000e+00> : tensor<f32>
// FOCAL-NEXT: %[[V5:.*]] = mp.sub %[[V4]], %[[V2]] {mp.loss_part} : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V6:.*]] = mp.constant {mp.loss_part} dense<1.000000e+00> : tensor<f32>
// FOCAL-NEXT: %[[V7:.*]] = mp.sub %[[V6]], %arg8 {mp.loss_part} : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V8:.*]] = mp.mul %[[V5]], %[[V7]] {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V9:.*]] = mp.add %[[V3]], %[[V8]] {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V10:.*]] = mp.constant {mp.loss_part} dense<1.000000e+00> : tensor<f32>
// FOCAL-NEXT: %[[V11:.*]] = mp.sub %[[V10]], %[[V9]] {mp.loss_part} : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V12:.*]] = mp.constant {mp.loss_part} dense<2.500000e-01> : tensor<f32>
// FOCAL-NEXT: %[[V13:.*]] = mp.mul %arg8, %[[V12]] {mp.loss_part} : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V14:.*]] = mp.constant {mp.loss_part} dense<1.000000e+00> : tensor<f32>
// FOCAL-NEXT: %[[V15:.*]] = mp.sub %[[V14]], %arg8 {mp.loss_part} : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V16:.*]] = mp.constant {mp.loss_part} dense<7.500000e-01> : tensor<f32>
// FOCAL-NEXT: %[[V17:.*]] = mp.mul %[[V15]], %[[V16]] {mp.loss_part} : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V18:.*]] = mp.add %[[V13]], %[[V17]] {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V19:.*]] = mp.mul %[[V11]], %[[V11]] {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V20:.*]] = mp.mul %[[V1]], %[[V19]] {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V21:.*]] = mp.mul %[[V18]], %[[V20]] {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// FOCAL-NEXT: %[[V22:.*]] = mp.reduce_mean %[[V21]] {mp.loss_part} : (tensor<4x3xf32>) -> tensor<f32>
// FOCAL-NEXT: return {{.*}}, %[[V22]] :

// CTC: %arg8: tensor<5x?xi64> {mp.loss_target = "ctc", mp.name = "target"}
// CTC-SAME: %arg9: tensor<5xi64> {mp.loss_target = "length", mp.name = "lengths(target)"}
// CTC-SAME: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["ctc:tokens,target"]}
// CTC-NEXT: %[[V0:.*]] = mp.cast %arg3 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<2x5x7xf16>) -> tensor<2x5x7xf32>
// CTC-NEXT: %[[V1:.*]] = mp.constant {mp.loss_part} dense<2> : tensor<5xi64>
// CTC-NEXT: %[[V2:.*]] = mp.ctc_loss %[[V0]], %arg8, %[[V1]], %arg9 {mp.loss_part} : (tensor<2x5x7xf32>, tensor<5x?xi64>, tensor<5xi64>, tensor<5xi64>) -> tensor<f32>
// CTC-NEXT: return {{.*}}, %[[V2]] :

// POLICY: %arg8: tensor<4xi64> {mp.loss_target = "policy-gradient", mp.name = "action"}
// POLICY-SAME: %arg9: tensor<4xf32> {mp.loss_target = "advantage", mp.name = "advantage(action)"}
// POLICY-SAME: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["policy-gradient:scores,action"]}
// POLICY-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// POLICY-NEXT: %[[V1:.*]] = mp.cross_entropy %[[V0]], %arg8 {mp.loss_part, reduction = "none"} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
// POLICY-NEXT: %[[V2:.*]] = mp.mul %[[V1]], %arg9 {mp.loss_part} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// POLICY-NEXT: %[[V3:.*]] = mp.reduce_mean %[[V2]] {mp.loss_part} : (tensor<4xf32>) -> tensor<f32>
// POLICY-NEXT: return {{.*}}, %[[V3]] :

// SUM: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["sum:scores"]}
// SUM-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// SUM-NEXT: %[[V1:.*]] = mp.reduce_sum %[[V0]] {mp.loss_part} : (tensor<4x3xf32>) -> tensor<f32>
// SUM-NEXT: return {{.*}}, %[[V1]] :

// TWO: %arg8: tensor<4x3xf32> {mp.loss_target = "mse", mp.name = "target"}
// TWO-SAME: tensor<f32> {mp.name = "loss"}) attributes {mp.loss = ["mse:scores,target", "mean:other:weight=0.1"]}
// TWO-NEXT: %[[V0:.*]] = mp.cast %arg0 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// TWO-NEXT: %[[V1:.*]] = mp.mse_loss %[[V0]], %arg8 {mp.loss_part} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<f32>
// TWO-NEXT: %[[V2:.*]] = mp.cast %arg1 {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// TWO-NEXT: %[[V3:.*]] = mp.reduce_mean %[[V2]] {mp.loss_part} : (tensor<4x3xf32>) -> tensor<f32>
// TWO-NEXT: %[[V4:.*]] = mp.constant {mp.loss_part} dense<1.000000e-01> : tensor<f32>
// TWO-NEXT: %[[V5:.*]] = mp.mul %[[V3]], %[[V4]] {mp.loss_part} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// TWO-NEXT: %[[V6:.*]] = mp.add %[[V1]], %[[V5]] {mp.loss_part} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// TWO-NEXT: return {{.*}}, %[[V6]] :

// DYNAMIC: %arg8: tensor<?x3xf64> {mp.loss_target = "mse", mp.name = "target"}
// DYNAMIC-SAME: tensor<f64> {mp.name = "loss"}) attributes {mp.loss = ["mse:dynamic,target:reduction=sum_then_batch_mean"]}
// DYNAMIC-NEXT: %[[V0:.*]] = mp.mse_loss %arg6, %arg8 {mp.loss_part, reduction = "sum"} : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<f64>
// DYNAMIC-NEXT: %[[V1:.*]] = mp.shape %arg6 {end = 1 : i64, mp.loss_part} : (tensor<?x3xf64>) -> tensor<1xi64>
// DYNAMIC-NEXT: %[[V2:.*]] = mp.squeeze %[[V1]] {axes = array<i64: 0>, mp.loss_part} : (tensor<1xi64>) -> tensor<i64>
// DYNAMIC-NEXT: %[[V3:.*]] = mp.cast %[[V2]] {mp.loss_part, origin = #mp.cast_origin<promotion>} : (tensor<i64>) -> tensor<f64>
// DYNAMIC-NEXT: %[[V4:.*]] = mp.div %[[V0]], %[[V3]] {mp.loss_part} : (tensor<f64>, tensor<f64>) -> tensor<f64>
// DYNAMIC-NEXT: return {{.*}}, %[[V4]] :

// MARGINS: mp.loss = ["hinge:scores,target:margin=0.5", "triplet:scores,other,third:margin=2"]
// MARGINS: mp.margin_ranking_loss {{.*}} {margin = 5.000000e-01 : f64, mp.loss_part}
// MARGINS: mp.triplet_margin_loss {{.*}} {margin = 2.000000e+00 : f64, mp.loss_part}

// What is known of the targets is left for estimates.
// SMOOTHED: mp.loss = ["cross-entropy:scores,target:label_smoothing=0.1:share_counted=0.25"]
// SMOOTHED: mp.cross_entropy {{.*}} {label_smoothing = 1.000000e-01 : f64, mp.loss_part, mp.share_counted = 2.500000e-01 : f64}

func.func @main(%scores: tensor<4x3xf16>, %other: tensor<4x3xf16>, %third: tensor<4x3xf16>, %tokens: tensor<2x5x7xf16>, %image: tensor<2x3x4x4xf32>, %square: tensor<6x6xbf16>, %dynamic: tensor<?x3xf64>, %small: tensor<4x3xf32> {mp.name = "small"}) -> (tensor<4x3xf16> {mp.name = "scores"}, tensor<4x3xf16> {mp.name = "other"}, tensor<4x3xf16> {mp.name = "third"}, tensor<2x5x7xf16> {mp.name = "tokens"}, tensor<2x3x4x4xf32> {mp.name = "image"}, tensor<6x6xbf16> {mp.name = "square"}, tensor<?x3xf64> {mp.name = "dynamic"}) {
  return %scores, %other, %third, %tokens, %image, %square, %dynamic : tensor<4x3xf16>, tensor<4x3xf16>, tensor<4x3xf16>, tensor<2x5x7xf16>, tensor<2x3x4x4xf32>, tensor<6x6xbf16>, tensor<?x3xf64>
}
