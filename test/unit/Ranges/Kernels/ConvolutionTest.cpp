//===- ConvolutionTest.cpp - Ranges of a convolution with known weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By brute force: every output element from every input element, written as the
// ONNX operators define Conv (gather) and ConvTranspose (scatter).
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/Kernels/Convolution.h"
#include "mpopt/Numerics/Accumulation.h"

#include "Samples.h"

#include "gtest/gtest.h"

#include <map>

using namespace mpopt;
using namespace mpopt::test;

namespace {

/// One or two axes; the first is of size 1 if there is one.
struct Case {
  uint64_t outputs, inputs, groups;
  bool transposed;
  llvm::SmallVector<ConvolutionAxis, 3> axes;

  ConvolutionAxis axis(size_t index) const {
    ConvolutionAxis whole;
    whole.inputSize = 1;
    size_t missing = 2 - axes.size();
    return index < missing ? whole : axes[index - missing];
  }
  size_t taps() const { return axis(0).kernel * axis(1).kernel; }
  size_t weights() const { return outputs * inputs / groups * taps(); }
  size_t inputSize() const { return axis(0).inputSize * axis(1).inputSize; }
  int64_t width() const { return axis(1).outputSize(transposed); }
  size_t positions() const { return axis(0).outputSize(transposed) * width(); }
};

struct Term {
  size_t output, position, weight, channel, element;
};

/// Every product that the convolution sums.
std::vector<Term> allTerms(const Case &shape) {
  std::vector<Term> terms;
  ConvolutionAxis y = shape.axis(0), x = shape.axis(1);
  int64_t height = y.outputSize(shape.transposed), width = shape.width();
  size_t in = shape.inputs / shape.groups, out = shape.outputs / shape.groups;
  for (size_t group = 0; group < shape.groups; ++group)
    for (size_t i = 0; i < in; ++i)
      for (size_t o = 0; o < out; ++o)
        for (int64_t ky = 0; ky < y.kernel; ++ky)
          for (int64_t kx = 0; kx < x.kernel; ++kx) {
            size_t tap = ky * x.kernel + kx;
            size_t channel = group * in + i, output = group * out + o;
            size_t weight =
                shape.transposed ? channel * out + o : output * in + i;
            weight = weight * shape.taps() + tap;
            auto add = [&](int64_t oy, int64_t ox, int64_t iy, int64_t ix) {
              if (oy >= 0 && oy < height && ox >= 0 && ox < width && iy >= 0 &&
                  iy < y.inputSize && ix >= 0 && ix < x.inputSize)
                terms.push_back({output, size_t(oy * width + ox), weight,
                                 channel, size_t(iy * x.inputSize + ix)});
            };
            if (shape.transposed)
              for (int64_t iy = 0; iy < y.inputSize; ++iy)
                for (int64_t ix = 0; ix < x.inputSize; ++ix)
                  add(iy * y.stride + ky * y.dilation - y.padBegin,
                      ix * x.stride + kx * x.dilation - x.padBegin, iy, ix);
            else
              for (int64_t oy = 0; oy < height; ++oy)
                for (int64_t ox = 0; ox < width; ++ox)
                  add(oy, ox, oy * y.stride + ky * y.dilation - y.padBegin,
                      ox * x.stride + kx * x.dilation - x.padBegin);
          }
  return terms;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  auto axis = [](int64_t kernel, int64_t stride, int64_t dilation,
                 int64_t begin, int64_t end, int64_t size, int64_t extra = 0) {
    return ConvolutionAxis{kernel, stride, dilation, begin, end, extra, size};
  };
  for (bool transposed : {false, true}) {
    list.push_back({4, 3, 1, transposed, {axis(3, 1, 1, 1, 1, 7)}});
    list.push_back({5,
                    2,
                    1,
                    transposed,
                    {axis(3, 2, 1, 1, 0, 6), axis(2, 1, 1, 0, 1, 5)}});
    list.push_back({6,
                    6,
                    6,
                    transposed,
                    {axis(3, 1, 1, 1, 1, 5), axis(3, 1, 1, 1, 1, 4)}});
    list.push_back({4,
                    6,
                    2,
                    transposed,
                    {axis(3, 2, 2, 2, 1, 9), axis(1, 3, 1, 0, 0, 4)}});
    list.push_back({3, 2, 1, transposed, {axis(5, 1, 3, 6, 6, 4)}});
    list.push_back({2, 2, 1, transposed, {axis(4, 3, 1, 0, 0, 40)}});
    list.push_back({2, 1, 1, transposed, {axis(2, 4, 1, 0, 0, 9, 1)}});
    list.push_back({2, 2, 1, transposed, {axis(2, 2, 1, 0, 0, 4, 5)}});
    list.push_back({2, 1, 1, transposed, {axis(3, 2, 5, 4, 9, 3)}});
    list.push_back({1, 1, 1, transposed, {axis(3, 7, 2, 1, 0, 6, 2)}});
    list.push_back({12, 4, 4, transposed, {axis(3, 1, 1, 2, 2, 300)}});
    list.push_back({2, 3, 1, transposed, {axis(70, 1, 1, 35, 34, 80)}});
  }
  return list;
}

struct Values {
  std::vector<double> centre, radius, mean, variance, halfRange;

  Values(Random &random, size_t count, double offset)
      : centre(randomList(random, count, offset - 1, offset + 1)),
        radius(randomList(random, count, 0, 2)),
        mean(randomList(random, count, -1, 1)),
        variance(randomList(random, count, 0, 2)),
        halfRange(randomList(random, count, 0, 3)) {}
  LinearInputs inputs() const {
    return {centre, radius, mean, variance, halfRange};
  }
};

double pick(const std::vector<double> &list, size_t index) {
  return list[list.size() == 1 ? 0 : index];
}

ConvolutionRequest request(const Case &shape, const Weights &weights,
                           const Values &values) {
  ConvolutionRequest wanted;
  wanted.weights = weights.tensor;
  wanted.outputs = shape.outputs;
  wanted.inputs = shape.inputs;
  wanted.groups = shape.groups;
  wanted.transposed = shape.transposed;
  wanted.axes = shape.axes;
  wanted.values = values.inputs();
  return wanted;
}

TEST(ConvolutionSums, HullOfAllPositions) {
  Random random(1);
  for (const char *type : {"f32", "f16", "i8"})
    for (const Case &shape : cases())
      // Inputs around zero, and on one side of it.
      for (double offset : {0.0, 20.0, -20.0})
        for (bool perChannel : {true, false}) {
          SCOPED_TRACE(testing::Message()
                       << type << " offset " << offset << " outputs "
                       << shape.outputs << " transposed " << shape.transposed
                       << " kernel " << shape.axes.back().kernel);
          Weights weights(type, randomList(random, shape.weights(), -9, 7));
          Values values(random, perChannel ? shape.inputs : 1, offset);
          ConvolutionRequest wanted = request(shape, weights, values);
          LinearSums sums = convolutionSums(wanted);
          ASSERT_EQ(sums.size(), shape.outputs);

          std::vector<Interval> exact(shape.outputs * shape.positions());
          std::vector<double> terms(exact.size()), squares(exact.size());
          for (const Term &term : allTerms(shape)) {
            size_t at = term.output * shape.positions() + term.position;
            double w = weights.values[term.weight];
            double c = pick(values.centre, term.channel);
            double r = pick(values.radius, term.channel);
            exact[at] = exact[at] + Interval{c - r, c + r} * w;
            terms[at] += std::fabs(w) * (std::fabs(c) + r);
            squares[at] += w * w;
          }
          // A kernel too long for sets of taps costs tightness only.
          bool tight = shape.axes.back().kernel <= 64;
          for (size_t output = 0; output < shape.outputs; ++output) {
            Interval hull = Interval::empty();
            double mostTerms = 0, mostSquares = 0;
            for (size_t at = 0; at < shape.positions(); ++at) {
              size_t element = output * shape.positions() + at;
              hull = mpopt::hull(hull, exact[element]);
              mostTerms = std::max(mostTerms, terms[element]);
              mostSquares = std::max(mostSquares, squares[element]);
            }
            double slack = 1e-9 * mostTerms;
            Interval bound = sums.bound(output);
            EXPECT_LE(bound.lo, hull.lo + slack);
            EXPECT_GE(bound.hi, hull.hi - slack);
            if (tight) {
              EXPECT_GE(bound.lo, hull.lo - slack);
              EXPECT_LE(bound.hi, hull.hi + slack);
            }
            EXPECT_GE(sums.terms[output], mostTerms * (1 - 1e-12));
            EXPECT_GE(sums.norm[output], std::sqrt(mostSquares) * (1 - 1e-12));
          }

          // Whatever the sizes are.
          for (ConvolutionAxis &axis : wanted.axes)
            axis.inputSize = -1;
          LinearSums any = convolutionSums(wanted);
          for (size_t output = 0; output < shape.outputs; ++output) {
            EXPECT_LE(any.bound(output).lo, sums.bound(output).lo + 1e-6);
            EXPECT_GE(any.bound(output).hi, sums.bound(output).hi - 1e-6);
          }
        }
}

// Mean and variance of maps that are borders for the most part.
TEST(ConvolutionSums, LikelyPartOfSmallMaps) {
  Random random(5);
  for (const Case &shape : {cases()[0], cases()[1], cases()[2]})
    for (double offset : {0.0, 20.0}) {
      Weights weights("f32", randomList(random, shape.weights(), -2, 2));
      Values values(random, shape.inputs, offset);
      LinearSums sums = convolutionSums(request(shape, weights, values));
      std::vector<double> means(shape.outputs * shape.positions()),
          variances(means.size());
      for (const Term &term : allTerms(shape)) {
        double w = weights.values[term.weight];
        size_t at = term.output * shape.positions() + term.position;
        means[at] += w * pick(values.mean, term.channel);
        variances[at] += w * w * pick(values.variance, term.channel);
      }
      for (size_t output = 0; output < shape.outputs; ++output) {
        double mean = 0, square = 0, variance = 0;
        double share = 1.0 / double(shape.positions());
        for (size_t at = 0; at < shape.positions(); ++at) {
          size_t element = output * shape.positions() + at;
          mean += means[element] * share;
          square += means[element] * means[element] * share;
          variance += variances[element] * share;
        }
        EXPECT_NEAR(sums.mean[output], mean, 1e-9);
        EXPECT_NEAR(sums.variance[output], variance + square - mean * mean,
                    1e-9);
      }
    }
}

// The likely part of the interior, and of a transposed convolution's phases.
TEST(ConvolutionSums, LikelyPart) {
  Random random(2);
  for (const Case &shape : cases()) {
    if (shape.axes.back().kernel > 64)
      continue;
    for (double offset : {0.0, 20.0}) {
      Weights weights("f32", randomList(random, shape.weights(), -2, 2));
      Values values(random, shape.inputs, offset);
      // Large enough that borders do not matter.
      Case large = shape;
      for (ConvolutionAxis &axis : large.axes)
        axis.inputSize = large.axes.size() == 1 ? 400 : 64;
      LinearSums sums = convolutionSums(request(large, weights, values));
      std::map<std::pair<size_t, size_t>, std::array<double, 3>> all;
      for (const Term &term : allTerms(large)) {
        double w = weights.values[term.weight];
        auto &to = all[{term.output, term.position}];
        to[0] += w * pick(values.mean, term.channel);
        to[1] += w * w * pick(values.variance, term.channel);
        to[2] +=
            std::pow(std::fabs(w) * pick(values.halfRange, term.channel), 6);
      }
      // The middle whole period of positions.
      ConvolutionAxis y = large.axis(0), x = large.axis(1);
      int64_t periodY = large.transposed ? y.stride : 1;
      int64_t periodX = large.transposed ? x.stride : 1;
      int64_t middleY = y.outputSize(large.transposed) / 2 / periodY * periodY;
      int64_t middleX = large.width() / 2 / periodX * periodX;
      for (size_t output = 0; output < shape.outputs; ++output) {
        double mean = 0, moment = 0, sixth = 0;
        double count = double(periodY * periodX);
        // Gaps that no tap reaches are 0 and count as a phase only if the
        // kernel is shorter than the stride; they are left out there.
        size_t seen = 0;
        for (int64_t oy = middleY; oy < middleY + periodY; ++oy)
          for (int64_t ox = middleX; ox < middleX + periodX; ++ox) {
            auto it = all.find({output, size_t(oy * large.width() + ox)});
            if (it == all.end())
              continue;
            ++seen;
            mean += it->second[0];
            moment += it->second[1] + it->second[0] * it->second[0];
            sixth = std::max(sixth, it->second[2]);
          }
        count = double(seen);
        mean /= count;
        double variance = moment / count - mean * mean;
        EXPECT_NEAR(sums.mean[output], mean, 1e-9);
        EXPECT_NEAR(sums.variance[output], variance, 1e-8);
        EXPECT_NEAR(sums.tail[output], std::pow(sixth, 1.0 / 6), 1e-8);
      }
    }
  }
}

TEST(ConvolutionElements, EveryElement) {
  Random random(3);
  for (const char *type : {"f32", "bf16", "u8"})
    for (const Case &shape : cases()) {
      Weights weights(type, randomList(random, shape.weights(), -3, 9));
      std::vector<double> zeros(shape.outputs);
      if (type[0] == 'u') {
        for (double &zero : zeros)
          zero = double(random() % 5);
        weights.tensor.zeroPoints = zeros;
      }
      Values values(random, shape.inputs * shape.inputSize(), 1);
      LinearSums sums = convolutionElements(request(shape, weights, values));
      ASSERT_EQ(sums.size(), shape.outputs * shape.positions());
      std::vector<std::array<double, 6>> exact(sums.size());
      for (const Term &term : allTerms(shape)) {
        auto &to = exact[term.output * shape.positions() + term.position];
        size_t at = term.channel * shape.inputSize() + term.element;
        double w = weights.values[term.weight] - zeros[term.output];
        double c = values.centre[at], r = values.radius[at];
        to[0] += w * c;
        to[1] += std::fabs(w) * r;
        to[2] += std::fabs(w) * (std::fabs(c) + r);
        to[3] += w * values.mean[at];
        to[4] += w * w * values.variance[at];
        to[5] += w * w;
      }
      for (size_t at = 0; at < exact.size(); ++at) {
        double slack = 1e-12 * (1 + exact[at][2]);
        EXPECT_NEAR(sums.bound(at).lo, exact[at][0] - exact[at][1], slack);
        EXPECT_NEAR(sums.bound(at).hi, exact[at][0] + exact[at][1], slack);
        EXPECT_NEAR(sums.terms[at], exact[at][2], slack);
        EXPECT_NEAR(sums.mean[at], exact[at][3], 1e-9);
        EXPECT_NEAR(sums.variance[at], exact[at][4], 1e-9);
        EXPECT_NEAR(sums.norm[at], std::sqrt(exact[at][5]), 1e-9);
      }
    }
}

// Random maps of a box, summed in float in the order of the terms.
TEST(ConvolutionSums, HoldsSamples) {
  Random random(4);
  const FloatFormat &format = FloatFormat::f32();
  for (const Case &shape : cases())
    for (double offset : {0.0, 20.0}) {
      Weights weights("f32", randomList(random, shape.weights(), -1, 1));
      Values values(random, shape.inputs, offset);
      ConvolutionRequest wanted = request(shape, weights, values);
      LinearSums sums = convolutionSums(wanted);
      std::vector<Term> terms = allTerms(shape);
      for (int sample = 0; sample < 5; ++sample) {
        std::vector<double> map, result(shape.outputs * shape.positions());
        for (size_t at = 0; at < shape.inputs * shape.inputSize(); ++at) {
          size_t channel = at / shape.inputSize();
          double c = values.centre[channel], r = values.radius[channel];
          // Rounding may leave the box by half an ulp: the tolerance below.
          map.push_back(format.round(member(random, c, r)));
        }
        for (const Term &term : terms) {
          double &to = result[term.output * shape.positions() + term.position];
          double x = map[term.channel * shape.inputSize() + term.element];
          to = format.round(to + format.round(x * weights.values[term.weight]));
        }
        for (size_t at = 0; at < result.size(); ++at) {
          size_t output = at / shape.positions();
          double error =
              dotError({&format}, wanted.terms(), sums.terms[output]) +
              sums.terms[output] * 0x1p-24;
          EXPECT_LE(result[at], sums.bound(output).hi + error);
          EXPECT_GE(result[at], sums.bound(output).lo - error);
        }
      }
    }
}

TEST(ConvolutionSums, Flags) {
  Random random(5);
  for (const Case &shape : cases()) {
    std::vector<double> list = randomList(random, shape.weights(), -1, 1);
    list[0] = HUGE_VAL;
    list.back() = 1e6;
    Weights weights("f32", list);
    weights.tensor.storage = &FloatFormat::f16();
    Values values(random, 1, 20);
    ConvolutionRequest wanted = request(shape, weights, values);
    std::vector<uint8_t> expected(shape.outputs);
    expected.front() |= WeightPosInf;
    expected.back() |= WeightStorageOverflow;
    EXPECT_EQ(convolutionSums(wanted).flags, expected);
    LinearSums elements = convolutionElements(wanted);
    for (size_t at = 0; at < elements.size(); ++at)
      EXPECT_EQ(elements.flags[at], expected[at / shape.positions()]);
  }
}

} // namespace
