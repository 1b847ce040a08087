// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @reshape_two(%x: tensor<4xf32>) {
  %s = mp.constant dense<[-1, -1]> : tensor<2xi64>
  // expected-error @below {{shape has more than one -1}}
  %0 = mp.reshape %x, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @reshape_negative(%x: tensor<4xf32>) {
  %s = mp.constant dense<[-2, 2]> : tensor<2xi64>
  // expected-error @below {{shape has the negative dim -2}}
  %0 = mp.reshape %x, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @reshape_count(%x: tensor<4xf32>) {
  %s = mp.constant dense<[5, 2]> : tensor<2xi64>
  // expected-error @below {{gives 4 elements a shape for 10}}
  %0 = mp.reshape %x, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @reshape_rest(%x: tensor<4xf32>) {
  %s = mp.constant dense<[-1, 3]> : tensor<2xi64>
  // expected-error @below {{cannot give 4 elements a shape with a multiple of 3}}
  %0 = mp.reshape %x, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @reshape_copy(%x: tensor<4xf32>) {
  %s = mp.constant dense<[4, 0]> : tensor<2xi64>
  // expected-error @below {{shape copies dim 1 of an input of rank 1}}
  %0 = mp.reshape %x, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @reshape_matrix(%x: tensor<4xf32>, %s: tensor<2x2xi64>) {
  // expected-error @below {{shape has rank 2, not 1}}
  %0 = mp.reshape %x, %s : (tensor<4xf32>, tensor<2x2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @declared(%x: tensor<2x3xf32>) {
  // expected-error @below {{result has type 'tensor<2x3xf32>' where its operands give 'tensor<3x2xf32>'}}
  %0 = mp.transpose %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @flatten(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 3 is out of range for rank 2}}
  %0 = mp.flatten %x {axis = 3 : i64} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @perm_twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis -2 is there twice}}
  %0 = mp.transpose %x {perm = array<i64: 0, -2>} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @perm_length(%x: tensor<2x3xf32>) {
  // expected-error @below {{perm has 3 axes for rank 2}}
  %0 = mp.transpose %x {perm = array<i64: 0, 1, 2>} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @squeeze(%x: tensor<2x3xf32>) {
  // expected-error @below {{cannot drop dim 1 of size 3}}
  %0 = mp.squeeze %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @unsqueeze_none(%x: tensor<2x3xf32>) {
  // expected-error @below {{has no axes}}
  %0 = mp.unsqueeze %x : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @unsqueeze_both(%x: tensor<2x3xf32>, %a: tensor<1xi64>) {
  // expected-error @below {{has axes as an attribute and an operand}}
  %0 = mp.unsqueeze %x axes %a {axes = array<i64: 0>} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @expand(%x: tensor<2x3xf32>) {
  %s = mp.constant dense<[4, 3]> : tensor<2xi64>
  // expected-error @below {{cannot broadcast 'tensor<2x3xf32>' to 'tensor<4x3xf32>'}}
  %0 = mp.expand %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @tile(%x: tensor<2x3xf32>) {
  %r = mp.constant dense<[1, -1]> : tensor<2xi64>
  // expected-error @below {{has the negative repeat -1}}
  %0 = mp.tile %x, %r : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @tile_rank(%x: tensor<2x3xf32>, %r: tensor<3xi64>) {
  // expected-error @below {{has 3 repeats for rank 2}}
  %0 = mp.tile %x, %r : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @concat_dims(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{operands differ in dim 1: 3 and 4}}
  %0 = mp.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @concat_ranks(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error @below {{operands have ranks 2 and 1}}
  %0 = mp.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @split(%x: tensor<7xf32>) {
  // expected-error @below {{parts do not add up to a dim of size 7}}
  %0:2 = mp.split %x {sizes = array<i64: 3, 3>} : (tensor<7xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return
}

// -----

func.func @split_count(%x: tensor<7xf32>) {
  // expected-error @below {{has 1 sizes for 2 results}}
  %0:2 = mp.split %x {sizes = array<i64: 7>} : (tensor<7xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return
}

// -----

func.func @split_small(%x: tensor<5xf32>) {
  // expected-error @below {{cannot split a dim of size 5 into 4 parts of 2}}
  %0:4 = mp.split %x : (tensor<5xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  return
}

// -----

func.func @slice_step(%x: tensor<7xf32>) {
  // expected-error @below {{has a step of 0}}
  %0 = mp.slice %x {starts = array<i64: 0>, ends = array<i64: 7>, steps = array<i64: 0>} : (tensor<7xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @slice_lengths(%x: tensor<7xf32>) {
  // expected-error @below {{starts, ends, axes and steps have lengths 1 and 2}}
  %0 = mp.slice %x {starts = array<i64: 0>, ends = array<i64: 7, 7>} : (tensor<7xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<7xf32>) {
  // expected-error @below {{slices 2 dims of rank 1}}
  %0 = mp.slice %x {starts = array<i64: 0, 0>, ends = array<i64: 7, 7>} : (tensor<7xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @slice_axis(%x: tensor<7xf32>) {
  // expected-error @below {{axis 1 is out of range for rank 1}}
  %0 = mp.slice %x {starts = array<i64: 0>, ends = array<i64: 7>, axes = array<i64: 1>} : (tensor<7xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @pad_mode(%x: tensor<7xf32>) {
  // expected-error @below {{mode is 'mirror', not one of 'constant', 'reflect', 'edge', 'wrap'}}
  %0 = mp.pad %x {pads = array<i64: 0, 7>, mode = "mirror"} : (tensor<7xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @pad_count(%x: tensor<7xf32>) {
  // expected-error @below {{has 4 pads for 1 axes}}
  %0 = mp.pad %x {pads = array<i64: 0, 7, 0, 0>} : (tensor<7xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @pad_crop(%x: tensor<7xf32>) {
  // expected-error @below {{crops dim 0 of size 7 to -1}}
  %0 = mp.pad %x {pads = array<i64: -4, -4>} : (tensor<7xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @tensor_scatter(%x: tensor<2x8x4xf32>, %u: tensor<2x1x4xf32>) {
  // expected-error @below {{axis is the batch}}
  %0 = mp.tensor_scatter %x, %u {axis = 0 : i64} : (tensor<2x8x4xf32>, tensor<2x1x4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @roll(%x: tensor<2x8xf32>) {
  // expected-error @below {{has 2 shifts for 1 axes}}
  %0 = mp.roll %x {shifts = array<i64: 1, 1>, axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @trilu(%x: tensor<8xf32>) {
  // expected-error @below {{needs matrices, not rank 1}}
  %0 = mp.trilu %x : (tensor<8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @depth_to_space(%x: tensor<1x6x2x2xf32>) {
  // expected-error @below {{dim of size 6 is not a multiple of 4}}
  %0 = mp.depth_to_space %x {block_size = 2 : i64} : (tensor<1x6x2x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @space_to_depth(%x: tensor<1x6x2x2xf32>) {
  // expected-error @below {{has block_size 0}}
  %0 = mp.space_to_depth %x {block_size = 0 : i64} : (tensor<1x6x2x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @im2col(%x: tensor<1x6x2x2xf32>) {
  // expected-error @below {{window of 3 does not fit a dim of 2}}
  %0 = mp.im2col %x {kernel_shape = array<i64: 3, 3>} : (tensor<1x6x2x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @im2col_strides(%x: tensor<1x6x2x2xf32>) {
  // expected-error @below {{has strides below 1}}
  %0 = mp.im2col %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 0, 1>} : (tensor<1x6x2x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @resize_none(%x: tensor<1x6x2x2xf32>) {
  // expected-error @below {{needs either scales or sizes}}
  %0 = mp.resize %x : (tensor<1x6x2x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @resize_scale(%x: tensor<1x2xf32>) {
  %s = mp.constant dense<[1.0, 0.0]> : tensor<2xf32>
  // expected-error @below {{has a scale that is not positive}}
  %0 = mp.resize %x scales %s : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @resize_count(%x: tensor<1x2xf32>) {
  %s = mp.constant dense<[1, 2, 3]> : tensor<3xi64>
  // expected-error @below {{has 3 sizes for 2 axes}}
  %0 = mp.resize %x sizes %s : (tensor<1x2xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @grid_sample(%x: tensor<1x3x4x4xf32>, %g: tensor<1x2x2x3xf32>) {
  // expected-error @below {{grid holds positions of 3 coordinates for 2 dims}}
  %0 = mp.grid_sample %x, %g : (tensor<1x3x4x4xf32>, tensor<1x2x2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @fill(%s: tensor<2xi64>) {
  // expected-error @below {{value needs one element}}
  %0 = mp.fill %s {value = dense<0.0> : tensor<2xf32>} : (tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @fill_negative() {
  %s = mp.constant dense<[2, -1]> : tensor<2xi64>
  // expected-error @below {{shape has the negative dim -1}}
  %0 = mp.fill %s {value = dense<0.0> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @range(%a: tensor<i64>) {
  %d = mp.constant dense<0> : tensor<i64>
  // expected-error @below {{has a delta of 0}}
  %0 = mp.range %a, %a, %d : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
  return
}

// -----

func.func @one_hot(%i: tensor<2xi64>, %v: tensor<2xf32>) {
  %d = mp.constant dense<-3> : tensor<i64>
  // expected-error @below {{has the negative depth -3}}
  %0 = mp.one_hot %i, %d, %v : (tensor<2xi64>, tensor<i64>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @det(%x: tensor<2x3xf32>) {
  // expected-error @below {{needs square matrices, not 2 by 3}}
  %0 = mp.det %x : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}
