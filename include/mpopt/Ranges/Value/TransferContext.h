//===- TransferContext.h - What a transfer function works with --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transfer function, in full:
//
//   static void transferNeg(mp::NegOp op, TransferContext &ctx) {
//     const AbstractValue &x = ctx.operand(0);
//     AbstractValue value = AbstractValue::boundedLike(x); // claims nothing
//     for (CellRef cell : value.mutableCells())
//       cell = negate(cell);
//     std::swap(value.posInf, value.negInf);
//     value.keepsNorm(x);
//     ctx.result(0, std::move(value));
//   }
//
// and `attachTransfer<transferNeg, mp::NegOp>(context)` in the family's
// `attach...Transfers`. Elementwise ops need less: ElementwiseSupport.h.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_TRANSFERCONTEXT_H
#define MPOPT_RANGES_VALUE_TRANSFERCONTEXT_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/ConstantLimits.h"
#include "mpopt/Numerics/Target.h"
#include "mpopt/Ranges/Value/AbstractValue.h"
#include "mpopt/Ranges/Weights/Kernels/SharedSums.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/Support/SaveAndRestore.h"

namespace mpopt {

/// The elements of a constant, as they are stored in their file.
struct WeightView {
  /// Little-endian, row-major; one element if `splat`.
  llvm::ArrayRef<char> data;
  bool splat = false;
  /// The element type of `data`.
  mlir::Type elementType;
  Shape shape;
  /// The formats to which the elements are rounded, in order, before the op
  /// reads them (casts of the constant); usually none or one.
  llvm::SmallVector<const FloatFormat *, 2> roundings;
  /// Within which a converter writes them, before it rounds.
  ConstantLimits limits;

  int64_t size() const;
  /// Elements [first, first + out.size()), rounded as the op reads them. A
  /// number that overflows becomes infinite.
  void read(int64_t first, llvm::MutableArrayRef<double> out) const;
};

/// The interface between transfer functions and the analysis, which
/// lib/Ranges/Analysis/RangeAnalysis implements.
class TransferContext {
public:
  virtual ~TransferContext() = default;

  mlir::Operation *op() const { return current; }
  /// The result of `function`, which sees `op` as the current op.
  template <typename Function> auto at(mlir::Operation *op, Function function) {
    llvm::SaveAndRestore<mlir::Operation *> now(current, op);
    return function();
  }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  /// An operand as the op reads it: rounded to the operand's dtype.
  const AbstractValue &operand(unsigned index) {
    return of(current->getOperand(index));
  }
  /// The same for any value computed before.
  virtual const AbstractValue &of(mlir::Value value) = 0;
  /// A value before it was rounded to its dtype.
  virtual const AbstractValue &preRounding(mlir::Value value) = 0;

  /// Sets a result, before it is rounded to its dtype. The context rounds it,
  /// limits its groups, and cuts the likely tier to the bounds.
  void result(unsigned index, AbstractValue value);
  /// Sets result `index` to every value that its dtype allows.
  void unknown(unsigned index = 0) {
    result(index, anything(current->getResult(index)));
  }
  /// The top element for a value: for integers the range of their type.
  static AbstractValue anything(mlir::Value value);

  /// True if both are the same numbers, element by element: one value, through
  /// identities and casts that lose nothing.
  bool isSameValue(mlir::Value lhs, mlir::Value rhs) const;

  //===--------------------------------------------------------------------===//
  // Constants and shapes
  //===--------------------------------------------------------------------===//

  /// The elements of a constant, through identities and casts between floats.
  /// Nothing for other values, and where the file is missing.
  virtual std::optional<WeightView> weights(mlir::Value value) = 0;
  /// The same of a matrix that may be a transposed constant, as exporters write
  /// a linear layer: `swapped` says so, and the view is that of the constant.
  virtual std::optional<WeightView> matrixWeights(mlir::Value value,
                                                  bool &swapped) = 0;
  /// Known elements of small integer tensors (shapes, axes, indices).
  virtual const ShapeFacts &shapes() = 0;

  /// The rank of a tensor; 0 if it is unknown.
  static size_t rankOf(mlir::Value value);
  /// The size of the (non-negative) axis; nothing if it is unknown.
  static std::optional<int64_t> dimOf(mlir::Value value, int64_t axis);
  /// The number of elements of a group of `value`, of unknown dims but the
  /// first some positions: the number of draws of which extremes are expected.
  double elementsPerGroup(mlir::Value value, size_t groups) const;

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  virtual const TargetProfile &target() = 0;
  /// The format in which this op adds up products, sums elements or evaluates
  /// functions, by the dtype it reads; f32 if that is no float.
  const FloatFormat &productFormat(mlir::Value operand);
  const FloatFormat &sumFormat(mlir::Value operand);
  /// The same of another op, by its first operand.
  const FloatFormat &sumFormat(mlir::Operation *kernel);
  /// The same where an op may state the type of its statistics: that type, if
  /// it is narrower than the target's sums (exporters write FP32 by default).
  const FloatFormat &statisticsFormat(mlir::Value operand,
                                      std::optional<mlir::Type> stated);
  const FloatFormat &functionFormat(mlir::Value operand);

  /// The largest number of groups that a result may have. It is smaller in
  /// larger models, so that the whole analysis stays linear.
  virtual GroupLimit groupLimit() const = 0;
  size_t maxGroups() const { return groupLimit().most; }
  /// False if only flags and estimates of results are read: facts that do
  /// nothing but tighten bounds need not be looked for.
  virtual bool needsBounds() const { return true; }
  /// Sums over large weights that an analysis before this one has computed.
  virtual SharedSums sharedSums() { return {}; }
  /// Threads that a transfer function may use.

  //===--------------------------------------------------------------------===//
  // Bodies (control flow)
  //===--------------------------------------------------------------------===//

  /// Gives a block argument of one of the op's bodies its value.
  virtual void setArgument(mlir::BlockArgument argument,
                           AbstractValue value) = 0;
  /// Computes every op of a body. Values recorded by an earlier walk are
  /// replaced: the last one must cover what the others found.
  virtual void walk(mlir::Region &region) = 0;

protected:
  virtual void setValue(mlir::Value value, AbstractValue pre) = 0;

  mlir::Operation *current = nullptr;
};

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_TRANSFERCONTEXT_H
