//===- Item.h - The value of a graph while it is imported -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph mixes tensors with Python's scalars, lists and objects, and
// changes tensors, lists and attributes in place. mp has values only. So the
// importer runs everything that is no tensor as far as it is known, and follows
// each piece of mutable state by hand:
//
// - A tensor variable holds the mp value that it has now. A view is a variable
//   derived from another one: reading it derives it again if the base changed,
//   writing it writes the base. Of some variables it is only known that they
//   may share their storage with others (views by ops that are not modelled,
//   the results of branches): what is written to one leaves the others unknown.
// - A collection (list, dict, object) is shared by all that refer to it.
// - Every change is recorded in a journal, so that the bodies of branches and
//   loops can be imported and then rolled back, and what they changed becomes
//   results of `mp.if` and `mp.loop`.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_INTERPRETER_ITEM_H
#define MPOPT_LIB_IMPORT_ATEN_INTERPRETER_ITEM_H

#include "mpopt/Import/Aten/Graph.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mpopt::aten {

/// How a view comes from its base, and how a write to it changes the base.
struct ViewFunctions {
  std::function<mlir::Value(mlir::Value base)> derive;
  /// Null where a write has no counterpart: the base is unknown after one.
  std::function<mlir::Value(mlir::Value base, mlir::Value updated)> writeBack;
};

/// A tensor that a program may change in place.
struct TensorVariable {
  mlir::Value value;
  uint64_t version = 0, number = 0; ///< numbered as they are made
  TensorVariable *base = nullptr;
  uint64_t baseVersion = 0;
  ViewFunctions view;
  /// Tensor::memory if the file holds the tensor, else -1.
  int64_t memory = -1;
  /// The variables without a base that may share this one's storage, each with
  /// the version that was seen last. Empty if this one has a base.
  std::vector<std::pair<TensorVariable *, uint64_t>> shares;
};

/// Variables without a base.
using Roots = llvm::SetVector<TensorVariable *>;

struct Item;

/// The state of a module that a method changes: a call starts with what the
/// last one left there.
struct WrittenState {
  std::set<int64_t> memory; ///< of tensors that are written in place
  /// From attributes that are set (Graph::slots) to the type of the tensors
  /// that they may hold; null where they hold something else.
  std::map<int64_t, mlir::Type> slots;

  bool operator==(const WrittenState &other) const {
    return memory == other.memory && slots == other.slots;
  }
};

/// The members of a list, tuple, dictionary or object.
struct Collection {
  std::vector<Item> items;
  /// True if the number of items is known. If not, `items` is empty, and the
  /// tensors among the items at run time may share the storage of `sources`.
  bool known = true;
  Roots sources;
  /// Collections are numbered as they are made.
  uint64_t number = ++count;
  /// The number in Graph::slots of the attribute that holds it, else -1.
  int64_t slot = -1;
  static inline uint64_t count = 0;
};

/// Everything that a value of the graph stands for, as far as it is known.
struct Item {
  enum class Kind : uint8_t {
    Unknown, ///< nothing is known, not even its type
    None,
    Tensor,
    Bool,
    Int,
    Float,
    Complex,
    String,
    Device,
    List,
    Tuple,
    Dict, ///< keys and values in turn
    Object
  };
  Kind kind = Kind::Unknown;
  TensorVariable *variable = nullptr; ///< of a tensor
  /// The rank-0 tensor of a Bool, Int or Float that is computed at run time.
  /// Null if `integer` or `real` is its value.
  mlir::Value dynamic;
  int64_t integer = 0;
  double real = 0, imaginary = 0;
  std::string text; ///< of a String, a Device (`cuda`), an Object (its class)
  std::shared_ptr<Collection> collection;

  bool isTensor() const { return kind == Kind::Tensor; }
  bool isNone() const { return kind == Kind::None; }
  bool isNumber() const {
    return kind == Kind::Bool || kind == Kind::Int || kind == Kind::Float;
  }
  bool isCollection() const {
    return kind == Kind::List || kind == Kind::Tuple || kind == Kind::Dict ||
           kind == Kind::Object;
  }
  /// True if it is a number whose value is known.
  bool isStatic() const { return isNumber() && !dynamic; }
  double number() const { return kind == Kind::Float ? real : double(integer); }

  static Item none() { return make(Kind::None); }
  static Item boolean(bool value) { return make(Kind::Bool, value); }
  static Item integerOf(int64_t value) { return make(Kind::Int, value); }
  static Item floating(double value);
  static Item string(llvm::StringRef text);
  static Item computed(Kind kind, mlir::Value value);
  static Item list(std::vector<Item> items) {
    return collectionOf(Kind::List, std::move(items));
  }
  static Item tuple(std::vector<Item> items) {
    return collectionOf(Kind::Tuple, std::move(items));
  }
  static Item collectionOf(Kind kind, std::vector<Item> items);

  /// True if both are static and equal.
  friend bool isSame(const Item &lhs, const Item &rhs);

private:
  static Item make(Kind kind, int64_t integer = 0) {
    Item item;
    item.kind = kind;
    item.integer = integer;
    return item;
  }
};

bool isSame(const Item &lhs, const Item &rhs);

/// The kind of the numbers of this static type: Bool, Int or Float. A `Scalar`
/// is taken to be a Float. None for a type of anything else.
std::optional<Item::Kind> numberKindOf(const StaticType &type);

/// The type of the rank-0 tensor that stands for a Bool, Int or Float.
mlir::RankedTensorType numberType(Item::Kind kind, mlir::MLIRContext *context);

/// The variables, collections and attributes, with a journal of their changes
/// that can be rolled back to a mark.
class State {
public:
  struct Mark {
    size_t changes, variables, collections;
  };

  /// A variable of its own.
  TensorVariable *makeVariable(mlir::Value value);
  TensorVariable *makeView(TensorVariable *base, mlir::Value value,
                           ViewFunctions view);

  /// The value now. Deriving a view again makes ops.
  mlir::Value read(TensorVariable *variable);
  /// Null if a view on the way cannot be written back to its base; the caller
  /// then makes the base unknown by `forget`.
  bool write(TensorVariable *variable, mlir::Value value);
  /// The variable that is no view.
  static TensorVariable *rootOf(TensorVariable *variable);

  /// Records that `variable`, which has no base, may share its storage with
  /// `roots`.
  void share(TensorVariable *variable, const Roots &roots);
  /// Adds the variables up to number `most` that tensors of the item may share
  /// their storage with, their own roots included.
  static void findRoots(const Item &item, Roots &roots, size_t most = SIZE_MAX);
  /// Makes the content of a collection unknown.
  void forget(const std::shared_ptr<Collection> &collection);

  /// Makes a value of which no more is known than the type of this one.
  std::function<mlir::Value(mlir::Value)> lose;

  /// To be called before a collection changes.
  void touch(const std::shared_ptr<Collection> &collection);

  const Item *findAttribute(llvm::StringRef path) const;
  /// Remembers what the archive holds at `path`. It was there before any mark,
  /// whenever it is read first.
  void addAttribute(llvm::StringRef path, Item item);
  /// The attributes that were set since the mark.
  std::vector<std::string> attributesSince(Mark mark) const;
  void setAttribute(llvm::StringRef path, Item item);

  Mark mark() const {
    return {journal.size(), variables.size(), Collection::count};
  }

  struct Changes {
    llvm::MapVector<TensorVariable *, mlir::Value> tensors; ///< roots
    llvm::MapVector<Collection *, Collection> collections;
    std::vector<std::shared_ptr<Collection>> owners;
    llvm::MapVector<llvm::StringRef, Item> attributes;
    bool empty() const {
      return tensors.empty() && collections.empty() && attributes.empty();
    }
  };
  /// Rolls the state back to `mark`, and returns what had changed since then,
  /// with the values that it had before the roll-back. Variables and
  /// collections made since are left out: nothing from before the mark refers
  /// to them.
  Changes takeBack(Mark mark);

  /// All that was ever changed, rolled back or not.
  WrittenState written;

private:
  struct Entry {
    TensorVariable *variable = nullptr;
    TensorVariable variableBefore;
    std::shared_ptr<Collection> collection;
    Collection collectionBefore;
    std::string attribute;
    std::optional<Item> attributeBefore;
  };
  void record(TensorVariable *variable);
  void set(TensorVariable *variable, mlir::Value value);

  std::deque<TensorVariable> variables;
  std::map<std::string, Item, std::less<>> attributes;
  std::vector<Entry> journal;
  uint64_t versions = 0;
};

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_INTERPRETER_ITEM_H
