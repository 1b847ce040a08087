//===- Roofline.cpp - The time of a model on a device
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Advise/Roofline.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/Arithmetic.h"
#include "mpopt/Propagate/AddedTerms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mpopt;

namespace {
class Measurement {
public:
  Measurement(const DeviceProfile &device, StringRef products)
      : device(device), forced(products) {}

  void addOp(Operation *op);
  void findPeak(mlir::Block &block);

  Workload work;

private:
  double getBytes(Value value);
  double getTraffic(Operation *op);
  void addProduct(Operation *op, StringRef format);
  bool isUneven(Operation *op, int64_t multiple) const;

  const DeviceProfile &device;
  StringRef forced;
};
} // namespace

/// The cast to an operand of a product that is stored with scales.
static bool isScaled(Operation *op) { return op && op->hasAttr(kScaledAttr); }

/// True for the cast that stands for a tensor's dtype in a file: no kernel
/// runs.
static bool isStorage(Operation *op) {
  auto cast = dyn_cast_or_null<mp::CastOp>(op);
  return cast &&
         (cast.getOrigin() == mp::CastOrigin::Storage ||
          (isScaled(op) && cast.getInput().getDefiningOp<mp::ConstantOp>()));
}

/// Bytes of an element of a scaled format, whose dtype the IR does not name.
static double getWidth(StringRef format) {
  return format == "f4" ? 0.5 : format == "f8" || format == "i8" ? 1 : 0;
}

static std::string getFormat(Type element) {
  std::string dtype = getDtypeName(element);
  StringRef name = dtype;
  return name.starts_with("f8")                         ? "f8"
         : name.starts_with("f4")                       ? "f4"
         : name.ends_with("i8") && element.isInteger(8) ? "i8"
                                                        : dtype;
}

double Measurement::getBytes(Value value) {
  double width = isScaled(value.getDefiningOp()) ? getWidth(forced) : 0;
  MaybeShape shape = getShape(value);
  Type element = getElementType(value);
  if (!shape || !element.isIntOrFloat())
    return 0;
  double count = 1;
  bool isOpen = false;
  for (int64_t dim : *shape) {
    isOpen |= dim < 0;
    count *= double(std::max<int64_t>(dim, 1));
  }
  work.open += isOpen;
  return count * (width > 0
                      ? width
                      : std::max(element.getIntOrFloatBitWidth(), 8u) / 8.0);
}

double Measurement::getTraffic(Operation *op) {
  double bytes = 0;
  SmallPtrSet<Value, 4> read;
  for (Value operand : op->getOperands())
    if (read.insert(operand).second)
      bytes += getBytes(operand);
  for (Value result : op->getResults())
    bytes += getBytes(result);
  return bytes;
}

/// A kernel reads vectors along the channels of a convolution, and along the
/// summed length and the last dimension of the result of other products.
bool Measurement::isUneven(Operation *op, int64_t multiple) const {
  auto isOff = [&](std::optional<int64_t> size) {
    return size && *size > 1 && *size % multiple != 0;
  };
  if (auto conv = dyn_cast<mp::ConvOp>(op)) {
    MaybeShape filter = getShape(conv.getFilter());
    return filter && filter->size() > 1 &&
           (isOff((*filter)[0]) || isOff((*filter)[1]));
  }
  MaybeShape result = getShape(op->getResult(0));
  return isOff(countProducts(op)) ||
         (result && !result->empty() && isOff(result->back()));
}

void Measurement::addProduct(Operation *op, StringRef format) {
  ++work.products;
  if (!device.rate(format))
    work.lacking.insert(format.str());
  auto multiple = device.multiples.find(format.str());
  if (multiple != device.multiples.end())
    work.uneven += isUneven(op, multiple->second);
}

void Measurement::addOp(Operation *op) {
  if (!isa_and_present<mp::MPDialect>(op->getDialect()) ||
      op->getNumRegions() != 0 || op->getNumResults() == 0 || isViewLike(op) ||
      isStorage(op))
    return;
  if (isa<mp::ConstantOp>(op)) {
    Value value = op->getResult(0);
    if (value.hasOneUse() && isStorage(*value.user_begin()))
      value = (*value.user_begin())->getResult(0);
    work.weights += getBytes(value);
    return;
  }
  bool isProduct = countProducts(op).has_value();
  std::string format = isProduct && !forced.empty()
                           ? forced.str()
                           : getFormat(getElementType(op->getOperand(0)));
  double operations = countArithmetic(op) * (isProduct ? 2 : 1);
  if (isProduct) {
    work.operations += operations;
    addProduct(op, format);
  }
  double rate = *device.rate("f32");
  if (isProduct)
    rate = device.rate(format).value_or(rate);
  double compute = operations / rate;
  double memory = getTraffic(op) / device.bandwidth;
  double longest = std::max({compute, memory, device.launch});
  work.seconds += longest;
  (longest == compute  ? work.compute
   : longest == memory ? work.memory
                       : work.launches) += longest;
}

/// The most bytes of inputs and results that a later op of the block still
/// reads. A view has no bytes of its own, but keeps what it shows.
void Measurement::findPeak(mlir::Block &block) {
  DenseMap<Value, Value> shown;
  auto find = [&](Value value) { return shown.lookup_or(value, value); };
  DenseMap<Value, Operation *> lastRead;
  for (Operation &op : block) {
    if (isViewLike(&op) && op.getNumOperands() && op.getNumResults())
      shown[op.getResult(0)] = find(op.getOperand(0));
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        lastRead[find(operand)] = &op;
    });
  }
  double live = 0;
  DenseMap<Operation *, double> freed;
  unsigned open = work.open;
  auto hold = [&](Value value) {
    double bytes = getBytes(value);
    live += bytes;
    freed[lastRead.lookup(value)] += bytes;
  };
  llvm::for_each(block.getArguments(), hold);
  for (Operation &op : block) {
    if (!isa<mp::ConstantOp>(op) && !isStorage(&op) && !isViewLike(&op))
      llvm::for_each(op.getResults(), hold);
    work.peak = std::max(work.peak, live);
    live -= freed.lookup(&op);
  }
  work.open = open;
}

Workload mpopt::measureWorkload(ModuleOp module, const DeviceProfile &device,
                                StringRef products) {
  Measurement measurement(device, products);
  module.walk([&](Operation *op) { measurement.addOp(op); });
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration())
      measurement.findPeak(function.getBody().front());
  return std::move(measurement.work);
}
