//===- Lowering.h - One aten node to mp ops ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface that lib/Import/Aten/Lowering/<Family>.cpp is written against.
// It shows no LibTorch: those files include MLIR only.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_ATEN_LOWERING_H
#define MPOPT_IMPORT_ATEN_LOWERING_H

#include "mpopt/Import/LoweringContext.h"

#include <functional>
#include <memory>

namespace mpopt::aten {

/// A view of a tensor: `value` now, `derive(base)` after the base changed,
/// `writeBack(base, updated)` when the view is written (null: the base is
/// unknown afterwards).
struct TensorView {
  mlir::Value value;
  std::function<mlir::Value(mlir::Value)> derive;
  std::function<mlir::Value(mlir::Value, mlir::Value)> writeBack;
};

/// One `aten::` (or custom) node being lowered. Inputs are asked for by the
/// name that the op's schema gives them (`dim`, `weight`), so that overloads
/// share a lowering; an input that the schema lacks or that is None is absent.
/// `hx.1` is the second member of the list or tuple `hx`. Numbers are inputs,
/// too; a single int counts as an `int[]` of one. A form that is unsupported
/// becomes `mp.opaque`.
class NodeContext : public LoweringContext {
public:
  /// The op without namespace and without the `_` of an in-place form (`add`),
  /// and its overload (`Scalar`).
  virtual llvm::StringRef name() const = 0;
  virtual llvm::StringRef overload() const = 0;

  /// Gives the same context to what runs after the lowering: functions of a
  /// view.
  virtual std::function<NodeContext &()> keep() const = 0;

  /// True if the input is there and not None.
  virtual bool has(llvm::StringRef input) const = 0;

  /// A tensor, or a number as a rank-0 tensor of its own dtype (i64, f64, i1).
  /// Null if absent.
  virtual mlir::Value tensor(llvm::StringRef input) = 0;
  /// True if the input is a number rather than a tensor: it then affects type
  /// promotion by its kind only.
  virtual bool isScalar(llvm::StringRef input) const = 0;
  /// The tensors of a `Tensor[]`; nothing if its length is unknown. Members
  /// that are None are null.
  virtual std::optional<llvm::SmallVector<mlir::Value>>
  tensors(llvm::StringRef input) = 0;

  // Numbers that are known at import; nothing if the input is absent or
  // computed at run time.
  virtual std::optional<double> findNumber(llvm::StringRef input) const = 0;
  virtual std::optional<llvm::SmallVector<double>>
  findNumbers(llvm::StringRef input) const = 0;

  bool getBool(llvm::StringRef input, bool otherwise = false) const {
    return findInt(input).value_or(otherwise) != 0;
  }
  double getNumber(llvm::StringRef input, double otherwise) const {
    return findNumber(input).value_or(otherwise);
  }
  /// True if the input is there and not known at import: most lowerings then
  /// return `unsupported()`.
  bool isDynamic(llvm::StringRef input) const {
    return has(input) && !findNumber(input) && !findInts(input) &&
           !findString(input);
  }

  /// A number, or a nested list of numbers, as a tensor of their own dtype
  /// (i64, f64, i1); null if it is ragged or of unknown length.
  virtual mlir::Value array(llvm::StringRef input) = 0;

  /// An `int[]` as a rank-1 tensor of i64, members computed at run time
  /// included; null if absent or of unknown length.
  virtual mlir::Value shapeOf(llvm::StringRef input) = 0;

  /// The MLIR element type of c10::ScalarType number `dtype`; null if none.
  static mlir::Type elementTypeOf(mlir::MLIRContext *context, int64_t dtype);
  /// The MLIR element type that `input` names; null if it is absent.
  mlir::Type findElementType(llvm::StringRef input = "dtype") const;

  /// `value` cast to `elementType`; `value` itself if it has that type.
  /// `promotion` marks a cast that type promotion does, not the user.
  mlir::Value cast(mlir::Value value, mlir::Type elementType,
                   bool promotion = true);
  /// The operands in the dtype that PyTorch computes in: tensors with dims
  /// first, then rank-0 tensors, then numbers, where a lower kind (bool, int,
  /// float, complex) never decides over a higher one. Source:
  /// torch.result_type, c10/core/ScalarType.h (promoteTypes).
  /// `toFloat`: integers become the default dtype, as true division does.
  llvm::SmallVector<mlir::Value> promote(llvm::ArrayRef<llvm::StringRef> inputs,
                                         bool toFloat = false);
  /// `value`, cast to the default dtype (f32) if it is an integer or bool, as
  /// in `exp`.
  mlir::Value toFloat(mlir::Value value);

  /// Rank of a tensor if it is known.
  static std::optional<int64_t> rankOf(mlir::Value value);
  /// `dim` counted from the front, where it may count from the end; nothing if
  /// the rank is needed and unknown. A rank-0 tensor has a dim 0.
  static std::optional<int64_t> axisOf(mlir::Value value, int64_t dim);

  /// Binds output `index`, which is a list of tensors.
  virtual void setOutputTensors(unsigned index,
                                llvm::ArrayRef<mlir::Value> values) = 0;
  /// Binds output `index`, which is a Python number computed at run time, to a
  /// rank-0 tensor.
  virtual void setOutputNumber(unsigned index, mlir::Value value) = 0;
  /// Binds output `index` to the input itself: a write to one changes the
  /// other.
  virtual void setAlias(unsigned index, llvm::StringRef input) = 0;
  /// Output `index` holds `value`, and may be a copy of the tensor input `of`
  /// or have its storage.
  virtual void setOutputSharing(unsigned index, mlir::Value value,
                                llvm::StringRef of) = 0;
  /// Output `index` is a view of the tensor input `of`.
  virtual void
  setView(unsigned index, llvm::StringRef of, mlir::Value value,
          std::function<mlir::Value(mlir::Value)> derive,
          std::function<mlir::Value(mlir::Value, mlir::Value)> writeBack) = 0;
  /// Output `index` is a list of views of the tensor input `of`.
  virtual void setOutputViews(unsigned index, llvm::StringRef of,
                              llvm::ArrayRef<TensorView> views) = 0;
  /// Changes the tensor input in place to `value`. It keeps its dtype.
  virtual void write(llvm::StringRef input, mlir::Value value) = 0;

protected:
  using LoweringContext::LoweringContext;
};

using Lowering = llvm::LogicalResult (*)(NodeContext &);

/// Lowerings by op name without `aten::` (`add`), for all its overloads, or by
/// name and overload (`add.Tensor`), which goes first. An in-place form
/// (`add_`) and an `out=` overload use the lowering of the plain one unless
/// they have their own. Ops of `quantized::` keep that prefix. A later one of
/// the same name replaces an earlier.
class LoweringRegistry {
public:
  virtual void add(llvm::StringRef name, Lowering lowering) = 0;
  void add(std::initializer_list<llvm::StringRef> names, Lowering lowering) {
    for (llvm::StringRef name : names)
      add(name, lowering);
  }

protected:
  ~LoweringRegistry() = default;
};

// Each adds the lowerings of one file of lib/Import/Aten/Lowering.
void registerElementwise(LoweringRegistry &registry);
void registerActivation(LoweringRegistry &registry);
void registerReduction(LoweringRegistry &registry);
void registerLinear(LoweringRegistry &registry);
void registerNormalization(LoweringRegistry &registry);
void registerPooling(LoweringRegistry &registry);
void registerShape(LoweringRegistry &registry);
void registerIndexing(LoweringRegistry &registry);
void registerCreation(LoweringRegistry &registry);
void registerAttention(LoweringRegistry &registry);
void registerRecurrent(LoweringRegistry &registry);
void registerLoss(LoweringRegistry &registry);
void registerRandom(LoweringRegistry &registry);
void registerQuantized(LoweringRegistry &registry);
void registerResample(LoweringRegistry &registry);

} // namespace mpopt::aten

#endif // MPOPT_IMPORT_ATEN_LOWERING_H
