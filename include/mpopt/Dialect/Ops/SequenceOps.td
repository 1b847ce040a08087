//===- SequenceOps.td - Sequences, optionals and strings --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_SEQUENCEOPS_TD
#define MPOPT_DIALECT_OPS_SEQUENCEOPS_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mpopt/Dialect/MPDialect.td"
include "mpopt/Dialect/Interfaces/RegionTypes.td"

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

// Positions count from the front, negative ones from the end; without one the
// last element is meant. A sequence value may be an unknown tensor where an op
// without a lowering made it.

def MP_SequenceConstructOp : MP_Op<"sequence_construct", [Pure]> {
  let summary = "the list of its operands";
  let description = [{ Source: ONNX SequenceConstruct; TorchScript prim::ListConstruct. }];
  let arguments = (ins Variadic<MP_Value>:$elements);
  let results = (outs MP_Value:$result);
  let tensorflow = ["TensorListFromTensor"];
  let onnx = ["SequenceConstruct"];
}

def MP_SequenceEmptyOp : MP_Op<"sequence_empty", [Pure]> {
  let summary = "a list without elements";
  let description = [{ The result type says of what. Source: ONNX SequenceEmpty. }];
  let results = (outs MP_Value:$result);
  let onnx = ["SequenceEmpty"];
}

def MP_SequenceInsertOp : MP_Op<"sequence_insert", [Pure]> {
  let summary = "a list with one more element";
  let description = [{ Source: ONNX SequenceInsert. }];
  let arguments = (ins MP_Value:$sequence, MP_Value:$element,
    Optional<MP_Tensor>:$position);
  let results = (outs MP_Value:$result);
  let tensorflow = ["TensorListPushBack"];
  let onnx = ["SequenceInsert"];
  let assemblyFormat = [{
    $sequence `,` $element (`at` $position^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def MP_SequenceEraseOp : MP_Op<"sequence_erase", [Pure]> {
  let summary = "a list with one element less";
  let description = [{ Source: ONNX SequenceErase. }];
  let arguments = (ins MP_Value:$sequence, Optional<MP_Tensor>:$position);
  let results = (outs MP_Value:$result);
  let tensorflow = ["TensorListPopBack"];
  let onnx = ["SequenceErase"];
  let assemblyFormat = [{
    $sequence (`at` $position^)? attr-dict `:` functional-type(operands, results)
  }];
}

def MP_SequenceAtOp : MP_Op<"sequence_at", [Pure]> {
  let summary = "one element of a list";
  let description = [{ Source: ONNX SequenceAt; TorchScript aten::__getitem__. }];
  let arguments = (ins MP_Value:$sequence, MP_Tensor:$position);
  let results = (outs MP_Value:$result);
  let tensorflow = ["TensorListGetItem"];
  let onnx = ["SequenceAt"];
  let assemblyFormat = [{
    $sequence `at` $position attr-dict `:` functional-type(operands, results)
  }];
}

def MP_SequenceLengthOp : MP_Op<"sequence_length", [Pure,
    DeclareOpInterfaceMethods<ElementInferenceOpInterface>]> {
  let summary = "number of elements of a list, as an i64 scalar";
  let description = [{ Source: ONNX SequenceLength. }];
  let arguments = (ins MP_Value:$sequence);
  let results = (outs MP_Tensor:$result);
  let onnx = ["SequenceLength"];
}

def MP_SplitToSequenceOp : MP_Op<"split_to_sequence", [Pure]> {
  let summary = "the slices of a tensor, as a list";
  let description = [{
    `split` is the size of every slice (a scalar; the last may be smaller) or a
    list of sizes. Without it slices have size 1, and lose that dim unless
    `keep_dims`. Source: ONNX SplitToSequence.
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$split,
    DefaultValuedAttr<I64Attr, "0">:$axis,
    DefaultValuedAttr<BoolAttr, "true">:$keep_dims);
  let results = (outs MP_Value:$result);
  let tensorflow = ["TensorListSplit"];
  let onnx = ["SplitToSequence"];
  let assemblyFormat = [{
    $input (`by` $split^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def MP_ConcatFromSequenceOp : MP_Op<"concat_from_sequence", [Pure]> {
  let roles = [RoleConcatenation, RolePicks];
  let summary = "the elements of a list in one tensor";
  let description = [{
    Along `axis`, or with `new_axis` stacked along a new one there.
    Source: ONNX ConcatFromSequence.
  }];
  let arguments = (ins MP_Value:$sequence, I64Attr:$axis,
    DefaultValuedAttr<BoolAttr, "false">:$new_axis);
  let results = (outs MP_Tensor:$result);
  let torch = ["cat", "stack"];
  let tensorflow = ["TensorListConcatV2", "TensorListConcat", "TensorListStack"];
  let onnx = ["ConcatFromSequence"];
}

def MP_SequenceMapOp : MP_Op<"sequence_map", [RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<RegionTypeOpInterface>,
    DeclareOpInterfaceMethods<RegionBranchOpInterface>]> {
  let summary = "a body for every element of a list";
  let description = [{
    The body's arguments are an element of each operand that is a sequence, and
    the other operands; the results are the sequences of what it yields.

    ```mlir
    %r = mp.sequence_map %s : (!mp.sequence<tensor<4xf32>>) -> !mp.sequence<tensor<4xf32>> {
    ^bb0(%x: tensor<4xf32>):
      %y = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      mp.yield %y : tensor<4xf32>
    }
    ```
    Source: ONNX SequenceMap.
  }];
  let arguments = (ins Variadic<MP_Value>:$inputs);
  let results = (outs Variadic<MP_Value>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let onnx = ["SequenceMap"];
  let assemblyFormat = [{
    $inputs attr-dict `:` functional-type(operands, results) $body
  }];
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Optionals
//===----------------------------------------------------------------------===//

def MP_OptionalOp : MP_Op<"optional", [Pure]> {
  let summary = "its operand, or nothing without one";
  let description = [{ Source: ONNX Optional. }];
  let arguments = (ins Optional<MP_Value>:$input);
  let results = (outs MP_Value:$result);
  let onnx = ["Optional"];
}

def MP_OptionalGetElementOp : MP_Op<"optional_get_element", [Pure]> {
  let summary = "what an optional holds";
  let description = [{
    An operand that is not an optional is the result itself.
    Source: ONNX OptionalGetElement.
  }];
  let arguments = (ins MP_Value:$input);
  let results = (outs MP_Value:$result);
  let onnx = ["OptionalGetElement"];
}

def MP_OptionalHasElementOp : MP_Op<"optional_has_element", [Pure,
    DeclareOpInterfaceMethods<ElementInferenceOpInterface>]> {
  let summary = "whether an optional holds something, as an i1 scalar";
  let description = [{ Source: ONNX OptionalHasElement. }];
  let arguments = (ins Optional<MP_Value>:$input);
  let results = (outs MP_Tensor:$result);
  let onnx = ["OptionalHasElement"];
}

//===----------------------------------------------------------------------===//
// Strings and images
//===----------------------------------------------------------------------===//

def MP_StringConcatOp : MP_Op<"string_concat", [Pure]> {
  let summary = "elementwise concatenation of strings, with broadcasting";
  let description = [{ Source: ONNX StringConcat. }];
  let arguments = (ins MP_Tensor:$lhs, MP_Tensor:$rhs);
  let results = (outs MP_Tensor:$result);
  let onnx = ["StringConcat"];
}

def MP_StringNormalizerOp : MP_Op<"string_normalizer", [Pure]> {
  let summary = "strings in one case, without stop words";
  let description = [{
    Of a list of strings, or one row of them. `case_action` is LOWER, UPPER or
    NONE. Source: ONNX StringNormalizer.
  }];
  let arguments = (ins MP_Tensor:$input,
    DefaultValuedStrAttr<StrAttr, "NONE">:$case_action,
    DefaultValuedAttr<BoolAttr, "false">:$case_sensitive,
    DefaultValuedStrAttr<StrAttr, "">:$locale, OptionalAttr<StrArrayAttr>:$stop_words);
  let results = (outs MP_Tensor:$result);
  let onnx = ["StringNormalizer"];
  let hasVerifier = 1;
}

def MP_StringSplitOp : MP_Op<"string_split", [Pure]> {
  let summary = "the parts of strings, and how many";
  let description = [{
    Shapes [..., most parts] and [...]. An empty `delimiter` is whitespace.
    Source: ONNX StringSplit.
  }];
  let arguments = (ins MP_Tensor:$input,
    DefaultValuedStrAttr<StrAttr, "">:$delimiter, OptionalAttr<I64Attr>:$max_split);
  let results = (outs MP_Tensor:$parts, MP_Tensor:$counts);
  let onnx = ["StringSplit"];
}

def MP_RegexFullMatchOp : MP_Op<"regex_full_match", [Pure]> {
  let summary = "whether each string matches a pattern as a whole";
  let description = [{ Source: ONNX RegexFullMatch. }];
  let arguments = (ins MP_Tensor:$input, StrAttr:$pattern);
  let results = (outs MP_Tensor:$result);
  let onnx = ["RegexFullMatch"];
}

def MP_TfIdfVectorizerOp : MP_Op<"tf_idf_vectorizer", [Pure]> {
  let summary = "counts of known n-grams in rows of tokens";
  let description = [{
    [C] gives [max(ngram_indexes) + 1], [N, C] a row for each. `mode` is TF (the
    count), IDF (its weight where there is any) or TFIDF (count times weight).
    Source: ONNX TfIdfVectorizer.
  }];
  let arguments = (ins MP_Tensor:$input, StrAttr:$mode,
    I64Attr:$min_gram_length, I64Attr:$max_gram_length, I64Attr:$max_skip_count,
    DenseI64ArrayAttr:$ngram_counts, DenseI64ArrayAttr:$ngram_indexes,
    OptionalAttr<DenseI64ArrayAttr>:$pool_ints,
    OptionalAttr<StrArrayAttr>:$pool_strings,
    OptionalAttr<DenseF64ArrayAttr>:$weights);
  let results = (outs MP_Tensor:$result);
  let onnx = ["TfIdfVectorizer"];
  let hasVerifier = 1;
}

def MP_ImageDecoderOp : MP_Op<"image_decoder", [Pure]> {
  let summary = "pixels of an encoded image, [height, width, channels]";
  let description = [{
    `pixel_format` is RGB, BGR or Grayscale. Source: ONNX ImageDecoder.
  }];
  let arguments = (ins MP_Tensor:$input,
    DefaultValuedStrAttr<StrAttr, "RGB">:$pixel_format);
  let results = (outs MP_Tensor:$result);
  let onnx = ["ImageDecoder"];
  let hasVerifier = 1;
}

#endif // MPOPT_DIALECT_OPS_SEQUENCEOPS_TD
