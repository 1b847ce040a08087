//===- RecurrentOps.td - Recurrent cells -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_RECURRENTOPS_TD
#define MPOPT_DIALECT_OPS_RECURRENTOPS_TD

include "mpopt/Dialect/MPDialect.td"

//===----------------------------------------------------------------------===//
// Whole sequences
//===----------------------------------------------------------------------===//

// X is [T, B, I], [B, T, I] with `batch_first`. W [dirs, gates H, I], R [dirs,
// gates H, H], bias [dirs, 2 gates H] (of W, then of R), initial states [dirs,
// B, H] ([B, dirs, H]). Results: every step's hidden state [T, dirs, B, H]
// ([B, T, dirs, H]), then the last states in the form of the initial ones.
// `direction` is forward, reverse or bidirectional (dirs 2). `activations` by
// gate and direction with their `alpha` and `beta`; `clip` bounds what goes into
// an activation (0: not). `sequence_lengths` [B] are i32.
class MP_Sequence<dag more, dag attributes> {
  dag arguments = !con((ins MP_Tensor:$input, MP_Tensor:$weights,
    MP_Tensor:$recurrence, Optional<MP_Tensor>:$bias,
    Optional<MP_Tensor>:$sequence_lengths, Optional<MP_Tensor>:$initial_h),
    more, (ins I64Attr:$hidden_size,
    DefaultValuedAttr<StrAttr, "\"forward\"">:$direction,
    StrArrayAttr:$activations,
    DefaultValuedAttr<DenseF64ArrayAttr, "{}">:$activation_alpha,
    DefaultValuedAttr<DenseF64ArrayAttr, "{}">:$activation_beta,
    DefaultValuedAttr<F64Attr, "0.0">:$clip,
    DefaultValuedAttr<BoolAttr, "false">:$batch_first), attributes);
}

def MP_RNNOp : MP_Op<"rnn", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleRecurrent, RoleLayer];
  let summary = "h' = f(W x + R h + b)";
  let description = [{ Operands as above the record; one gate. Source: ONNX RNN. }];
  let arguments = MP_Sequence<(ins), (ins)>.arguments;
  let results = (outs MP_Tensor:$result, MP_Tensor:$last_h);
  let assemblyFormat = [{
    $input `,` $weights `,` $recurrence (`bias` $bias^)?
    (`lengths` $sequence_lengths^)? (`initial` $initial_h^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["rnn_tanh.input", "rnn_relu.input", "_cudnn_rnn",
               "rnn_tanh_cell", "rnn_relu_cell"];
  let tensorflow = ["CudnnRNNV3"];
  let onnx = ["RNN"];
}

def MP_LSTMOp : MP_Op<"lstm", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleRecurrent, RoleLayer];
  let summary = "long short-term memory";
  let description = [{
    Gates in the order input, output, forget, cell (i o f c):
    `c' = f c + i g(cell)`, `h' = o h(c')`. `peepholes` [dirs, 3 H] are for i, o,
    f; `input_forget` couples f = 1 - i. Source: ONNX LSTM.
  }];
  let arguments = MP_Sequence<
    (ins Optional<MP_Tensor>:$initial_c, Optional<MP_Tensor>:$peepholes),
    (ins DefaultValuedAttr<BoolAttr, "false">:$input_forget)>.arguments;
  let results = (outs MP_Tensor:$result, MP_Tensor:$last_h, MP_Tensor:$last_c);
  let assemblyFormat = [{
    $input `,` $weights `,` $recurrence (`bias` $bias^)?
    (`lengths` $sequence_lengths^)? (`initial` $initial_h^)?
    (`initial_c` $initial_c^)? (`peepholes` $peepholes^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["lstm.input", "_cudnn_rnn", "mkldnn_rnn_layer",
               "_thnn_fused_lstm_cell", "lstm_cell"];
  let tensorflow = ["BlockLSTMV2", "CudnnRNNV3"];
  let onnx = ["LSTM"];
}

def MP_GRUOp : MP_Op<"gru", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleRecurrent, RoleLayer];
  let summary = "gated recurrent unit";
  let description = [{
    Gates in the order update, reset, hidden (z r h): `h' = (1 - z) n + z h`, the
    reset gate applied to h before the matrix product, after it with
    `linear_before_reset` (PyTorch, cuDNN). Source: ONNX GRU.
  }];
  let arguments = MP_Sequence<(ins),
    (ins DefaultValuedAttr<BoolAttr, "false">:$linear_before_reset)>.arguments;
  let results = (outs MP_Tensor:$result, MP_Tensor:$last_h);
  let assemblyFormat = [{
    $input `,` $weights `,` $recurrence (`bias` $bias^)?
    (`lengths` $sequence_lengths^)? (`initial` $initial_h^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["gru.input", "_cudnn_rnn", "_thnn_fused_gru_cell", "gru_cell"];
  let tensorflow = ["GRUBlockCell", "CudnnRNNV3"];
  let onnx = ["GRU"];
}

//===----------------------------------------------------------------------===//
// One step (TorchScript)
//===----------------------------------------------------------------------===//

// Input [B, I] or [I], hidden [B, H] or [H], weights [gates H, I] and
// [gates H, H], biases [gates H]; gates in PyTorch's order.
class MP_Cell<dag states, dag attributes> {
  dag arguments = !con((ins MP_Tensor:$input, MP_Tensor:$hidden), states,
    (ins MP_Tensor:$input_weights, MP_Tensor:$hidden_weights,
     Optional<MP_Tensor>:$input_bias, Optional<MP_Tensor>:$hidden_bias),
    attributes);
}

def MP_RNNCellOp : MP_Op<"rnn_cell", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleRecurrent, RoleLayer];
  let summary = "one step of a simple recurrent network";
  let description = [{
    `activation` is `tanh` or `relu`. Source: torch.nn.RNNCell.
  }];
  let arguments = MP_Cell<(ins),
    (ins DefaultValuedAttr<StrAttr, "\"tanh\"">:$activation)>.arguments;
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $hidden `,` $input_weights `,` $hidden_weights
    (`input_bias` $input_bias^)? (`hidden_bias` $hidden_bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let torch = ["rnn_tanh_cell", "rnn_relu_cell"];
}
def MP_LSTMCellOp : MP_Op<"lstm_cell", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleRecurrent, RoleLayer];
  let summary = "one step of an LSTM";
  let description = [{
    Gates input, forget, cell, output. Source: torch.nn.LSTMCell.
  }];
  let arguments = MP_Cell<(ins MP_Tensor:$cell), (ins)>.arguments;
  let results = (outs MP_Tensor:$next_hidden, MP_Tensor:$next_cell);
  let assemblyFormat = [{
    $input `,` $hidden `,` $cell `,` $input_weights `,` $hidden_weights
    (`input_bias` $input_bias^)? (`hidden_bias` $hidden_bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let torch = ["lstm_cell", "_thnn_fused_lstm_cell"];
  let tensorflow = ["LSTMBlockCell"];
}
def MP_GRUCellOp : MP_Op<"gru_cell", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleRecurrent, RoleLayer];
  let summary = "one step of a GRU";
  let description = [{
    Gates reset, update, new; the reset gate after the matrix product.
    Source: torch.nn.GRUCell.
  }];
  let arguments = MP_Cell<(ins), (ins)>.arguments;
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $hidden `,` $input_weights `,` $hidden_weights
    (`input_bias` $input_bias^)? (`hidden_bias` $hidden_bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let torch = ["gru_cell", "_thnn_fused_gru_cell"];
  let tensorflow = ["GRUBlockCell"];
}

#endif // MPOPT_DIALECT_OPS_RECURRENTOPS_TD
