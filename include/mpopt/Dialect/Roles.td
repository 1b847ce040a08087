//===- Roles.td - What an op means ------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words in which rules, hazards, fixes and the judgement of runs speak of
// ops. An op's record lists its roles (`let roles = [...]`), and whoever asks
// for a role covers every op that has it, those of tomorrow included.
//
// A role is a statement about the op's mathematics, true of it in every model.
// Roles that depend on operands (a power with the exponent 2 is a square) are
// for the caller to find.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_ROLES_TD
#define MPOPT_DIALECT_ROLES_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

class MP_Role<string symbol, int position>
    : I64BitEnumAttrCaseBit<symbol, position>;
// Several roles under one name: an op has it if it has one of them.
class MP_Roles<string symbol, list<BitEnumAttrCaseBase> roles>
    : I64BitEnumAttrCaseGroup<symbol, roles>;

//===----------------------------------------------------------------------===//
// Arithmetic of operands
//===----------------------------------------------------------------------===//

// The sum of the operands, the difference, product, quotient of two.
def RoleAddition : MP_Role<"Addition", 0>;
def RoleSubtraction : MP_Role<"Subtraction", 1>;
def RoleMultiplication : MP_Role<"Multiplication", 2>;
def RoleDivision : MP_Role<"Division", 3>;
def RoleArithmetic : MP_Roles<"Arithmetic",
  [RoleAddition, RoleSubtraction, RoleMultiplication, RoleDivision]>;
def RoleNegation : MP_Role<"Negation", 4>;
def RolePower : MP_Role<"Power", 5>;

// Adds up products of elements of its operands: matrix products, convolutions.
def RoleContraction : MP_Role<"Contraction", 6>;
def RoleProduct : MP_Roles<"Product", [RoleMultiplication, RoleContraction]>;
// Linear in operand 0 and in operand 1; operand 2, if there, is added.
def RoleBilinear : MP_Role<"Bilinear", 7>;
// Operand 1 is what a layer learned, operand 0 its input.
def RoleWeighted : MP_Role<"Weighted", 8>;
// Scaling all float operands by one positive factor scales the result by it.
def RoleJointlyHomogeneous : MP_Role<"JointlyHomogeneous", 9>;

// The smaller or larger of operands, element by element.
def RoleLimit : MP_Role<"Limit", 10>;
// Nothing below some number, or some operand, comes out.
def RoleLimitsBelow : MP_Role<"LimitsBelow", 11>;
// Nothing above some number, or some operand, comes out.
def RoleLimitsAbove : MP_Role<"LimitsAbove", 12>;
// Takes each element from one operand or another, as a condition says.
def RoleSelect : MP_Role<"Select", 13>;
def RoleConcatenation : MP_Role<"Concatenation", 14>;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

// One result for all elements along some axes, `axes` of operand 0.
def RoleReduction : MP_Role<"Reduction", 15>;
// The sum or mean of elements, along axes, in windows or of operands, or a
// function of it.
def RoleSum : MP_Role<"Sum", 16>;
// The mean of elements of operand 0.
def RoleMean : MP_Role<"Mean", 17>;
// Adds up magnitudes of elements, or powers of them.
def RoleMagnitudeSum : MP_Role<"MagnitudeSum", 18>;
// The product of many elements.
def RoleLongProduct : MP_Role<"LongProduct", 19>;
// The square of each element.
def RoleSquare : MP_Role<"Square", 20>;
// The sum of squares of elements.
def RoleSumOfSquares : MP_Role<"SumOfSquares", 21>;
// Forms squares on the way; the result is no such square.
def RoleInnerSquares : MP_Role<"InnerSquares", 22>;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// A square root, or its reciprocal.
def RoleRoot : MP_Role<"Root", 23>;
// 1 over the operand, or over its root.
def RoleReciprocal : MP_Role<"Reciprocal", 24>;
// Infinite where operand 0 is 0.
def RolePoleAtZero : MP_Role<"PoleAtZero", 25>;
// A logarithm of the operand, or of 1 more.
def RoleLogarithm : MP_Role<"Logarithm", 26>;
// Grows with e^|x|.
def RoleExponential : MP_Role<"Exponential", 27>;
// Takes an exponential of an element on the way.
def RoleInnerExponential : MP_Role<"InnerExponential", 28>;
// Adds up exponentials of a row.
def RoleExponentialSum : MP_Role<"ExponentialSum", 29>;
// Flat far from 0.
def RoleSaturating : MP_Role<"Saturating", 30>;
// Periodic: the angle counts modulo pi or 2 pi.
def RolePeriodic : MP_Role<"Periodic", 31>;
// Unboundedly steep at finite arguments.
def RoleSteep : MP_Role<"Steep", 32>;
// Steep at -1 and 1, where its domain ends; a relative error of x grows by at
// most |x| / sqrt(1 - x^2), or by the derivative if it is counted as absolute.
def RoleArc : MP_Role<"Arc", 33>;
// x above some number; below it 0, or x less steeply.
def RoleRectifier : MP_Role<"Rectifier", 34>;

// Exactly 0 for a whole range of arguments, at random, or at places that the
// attributes say.
def RoleMakesZeros : MP_Role<"MakesZeros", 35>;
// 0 only where the dtype loses a number that is not.
def RoleNeverZero : MP_Role<"NeverZero", 36>;
// 0 where operand 0 is, and nowhere else.
def RoleKeepsZeros : MP_Role<"KeepsZeros", 37>;
// Elements of the magnitude of operand 0's, but for rounding and what is
// dropped.
def RoleKeepsMagnitude : MP_Role<"KeepsMagnitude", 38>;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

// Every element of operand 0 as often as any other, in another order or shape.
def RoleRearranges : MP_Role<"Rearranges", 39>;
// Elements of operand 0, some perhaps more often or not at all.
def RoleGathers : MP_Role<"Gathers", 40>;
// Each element is one of operand 0.
def RoleMovesElements : MP_Roles<"MovesElements", [RoleRearranges, RoleGathers]>;
// Each element is one of an operand, or a number that the op names. Where a
// `reduction` combines elements it does so for "none" only.
def RolePicks : MP_Role<"Picks", 41>;
def RoleCopiesElements : MP_Roles<"CopiesElements",
  [RoleRearranges, RoleGathers, RolePicks]>;

//===----------------------------------------------------------------------===//
// Parts of networks
//===----------------------------------------------------------------------===//

// A softmax of rows or its logarithm, of softmin's negated operand as well.
def RoleSoftmax : MP_Role<"Softmax", 42>;
// An operand element of -Inf, or a huge negative number, takes no part.
def RoleMaskable : MP_Role<"Maskable", 43>;
// Probabilities of logits.
def RoleProbability : MP_Role<"Probability", 44>;
def RoleAttention : MP_Role<"Attention", 45>;
def RoleRecurrent : MP_Role<"Recurrent", 46>;

// Normalises operand 0 by statistics of its own rows or groups.
def RoleRowNorm : MP_Role<"RowNorm", 47>;
// Normalises operand 0 by statistics of batches, its last two operands.
def RoleBatchNorm : MP_Role<"BatchNorm", 48>;
def RoleNormalization : MP_Roles<"Normalization", [RoleRowNorm, RoleBatchNorm]>;
// Takes a mean of operand 0 off it, which it computes itself.
def RoleCentring : MP_Role<"Centring", 49>;
// Computes a variance, or is normalised by a kept one.
def RoleStatistic : MP_Role<"Statistic", 50>;

// The quantity that training minimises; no gradient of it.
def RoleLoss : MP_Role<"Loss", 51>;
// Its result passes on what a layer learned: all zeros there is no accident.
def RoleLayer : MP_Role<"Layer", 52>;
// Makes whole numbers, positions or counts.
def RoleCounting : MP_Role<"Counting", 53>;
// To or from integers with a scale.
def RoleQuantization : MP_Role<"Quantization", 54>;

def MP_RoleEnum : I64BitEnumAttr<"Role", "the meaning of an op", [
    RoleAddition, RoleSubtraction, RoleMultiplication, RoleDivision,
    RoleArithmetic, RoleNegation, RolePower, RoleContraction, RoleProduct,
    RoleBilinear, RoleWeighted, RoleJointlyHomogeneous, RoleLimit,
    RoleLimitsBelow, RoleLimitsAbove, RoleSelect, RoleConcatenation,
    RoleReduction, RoleSum, RoleMean, RoleMagnitudeSum, RoleLongProduct,
    RoleSquare, RoleSumOfSquares, RoleInnerSquares, RoleRoot, RoleReciprocal,
    RolePoleAtZero, RoleLogarithm, RoleExponential, RoleInnerExponential,
    RoleExponentialSum, RoleSaturating, RolePeriodic, RoleSteep, RoleArc,
    RoleRectifier, RoleMakesZeros, RoleNeverZero, RoleKeepsZeros,
    RoleKeepsMagnitude, RoleRearranges, RoleGathers, RoleMovesElements,
    RolePicks, RoleCopiesElements, RoleSoftmax, RoleMaskable, RoleProbability,
    RoleAttention, RoleRecurrent, RoleRowNorm, RoleBatchNorm,
    RoleNormalization, RoleCentring, RoleStatistic, RoleLoss, RoleLayer,
    RoleCounting, RoleQuantization]> {
  let cppNamespace = "::mpopt";
  let genSpecializedAttr = 0;
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

def OpMeaningInterface : OpInterface<"OpMeaningInterface"> {
  let cppNamespace = "::mpopt";
  let description = [{
    What the op's record says about its meaning: roles, the operand that
    divides, the op whose gradient it is. It depends on no instance, so that the
    name of an op is enough to ask (`getMeaning` of `mpopt/Dialect/Roles.h`).
  }];
  let methods = [
    StaticInterfaceMethod<"The fields of the record.",
      "const ::mpopt::OpMeaning &", "getMeaning">,
  ];
}

// The body of getMeaning.
class MP_Meaning<list<MP_Role> roles, int divisor, string gradientOf,
                 string degree, int epsilonDegree> {
  string names = !interleave(
    !foreach(role, roles, "::mpopt::Role::" # role.symbol), " | ");
  // C++: the meaning is a constant of the op's method.
  string body = "      static constexpr ::mpopt::OpMeaning kMeaning = {"
    # !if(!empty(roles), "::mpopt::Role()", names) # ", " # divisor # ", \""
    # gradientOf # "\", " # !if(!empty(degree), "::std::nullopt", degree)
    # ", " # epsilonDegree # "};\n      return kMeaning;\n";
}

#endif // MPOPT_DIALECT_ROLES_TD
