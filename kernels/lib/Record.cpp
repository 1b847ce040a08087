//===- Record.cpp - Records: empty, merged, read
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Kernels/Record.h"

#include "Element.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

static_assert(sizeof(mpopt_record) == 3296 &&
                  std::is_trivially_copyable_v<mpopt_record>,
              "the layout is what files hold: raise MPOPT_RECORD_VERSION");

namespace {

/// Bins of the histogram that contain a format's thresholds.
struct FormatBins {
  mpopt_format_edges edges;
  int maxBin, normalBin, zeroBin;
};

} // namespace

static FormatBins makeFormatBins(int format) {
  auto bins = [](const char *name, double max, double notFinite,
                 int maxExponent, int normal, int zero) {
    return FormatBins{
        {name, max, notFinite, std::ldexp(1, normal), std::ldexp(1, zero)},
        MPOPT_BIN_OF_EXPONENT(maxExponent),
        MPOPT_BIN_OF_EXPONENT(normal),
        MPOPT_BIN_OF_EXPONENT(zero)};
  };
  switch (format) {
  case MPOPT_TO_F16:
    return bins("f16", 65504, 65520, 15, -14, -25);
  case MPOPT_TO_BF16:
    return bins("bf16", 0x1.FEp127, 0x1.FFp127, 127, -126, -134);
  case MPOPT_TO_E4M3:
    return bins("e4m3", 448, std::nextafter(464.0, 465.0), 8, -6, -10);
  case MPOPT_TO_E5M2:
    return bins("e5m2", 57344, 61440, 15, -14, -17);
  default:
    return bins("f32", 0x1.FFFFFEp127, 0x1.FFFFFFp127, 127, -126, -150);
  }
}

static const FormatBins &formatBins(int format) {
  static const std::array<FormatBins, MPOPT_FORMATS> all = [] {
    std::array<FormatBins, MPOPT_FORMATS> made;
    for (int i = 0; i < MPOPT_FORMATS; ++i)
      made[i] = makeFormatBins(i);
    return made;
  }();
  return all[format];
}

uint32_t mpopt_record_version(void) { return MPOPT_RECORD_VERSION; }

void mpopt_record_init(mpopt_record *record, uint32_t probe, uint32_t kind) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::memset(record, 0, sizeof(*record));
  record->version = MPOPT_RECORD_VERSION;
  record->bytes = sizeof(*record);
  record->probe = probe;
  record->kind = kind;
  record->min = record->min_nonzero = inf;
  record->max = -inf;
  record->first_step = MPOPT_NEVER;
  record->last_step = MPOPT_NEVER;
  record->first_nan_step = record->first_inf_step = MPOPT_NEVER;
  record->absmax_step = record->min_nonzero_step = MPOPT_NEVER;
  std::fill_n(record->first_overflow_step, MPOPT_FORMATS, MPOPT_NEVER);
  std::fill_n(record->first_flush_step, MPOPT_FORMATS, MPOPT_NEVER);
}

/// The first step of those at which the better extreme was seen.
static void mergeExtreme(double &into, uint64_t &intoStep, double from,
                         uint64_t fromStep, bool better) {
  if (better) {
    into = from;
    intoStep = fromStep;
  } else if (from == into) {
    intoStep = std::min(intoStep, fromStep);
  }
}

static void mergeShape(mpopt_record &into, const mpopt_record &from) {
  if (!from.calls)
    return;
  if (!into.calls) {
    into.dtype = from.dtype;
    into.rank = from.rank;
    std::copy_n(from.dim_min, MPOPT_MAX_DIMS, into.dim_min);
    std::copy_n(from.dim_max, MPOPT_MAX_DIMS, into.dim_max);
    return;
  }
  // The narrower dtype and the smaller rank stay, so that merging is
  // commutative.
  if (into.dtype != from.dtype) {
    into.flags |= MPOPT_MIXED_DTYPE;
    into.dtype = mpopt::kernels::narrowerDtype(into.dtype, from.dtype);
  }
  // One call without a shape, and nothing holds for all of them.
  if (into.flags & MPOPT_NO_SHAPE) {
    into.flags &= ~uint32_t(MPOPT_MIXED_RANK);
    into.rank = 0;
    std::fill_n(into.dim_min, MPOPT_MAX_DIMS, 0);
    std::fill_n(into.dim_max, MPOPT_MAX_DIMS, 0);
    return;
  }
  if (into.rank != from.rank) {
    into.flags |= MPOPT_MIXED_RANK;
    if (from.rank > into.rank)
      return;
    into.rank = from.rank;
    std::copy_n(from.dim_min, MPOPT_MAX_DIMS, into.dim_min);
    std::copy_n(from.dim_max, MPOPT_MAX_DIMS, into.dim_max);
    return;
  }
  for (int i = 0; i < MPOPT_MAX_DIMS; ++i) {
    into.dim_min[i] = std::min(into.dim_min[i], from.dim_min[i]);
    into.dim_max[i] = std::max(into.dim_max[i], from.dim_max[i]);
  }
}

static void mergeChannelCount(mpopt_record &into, const mpopt_record &from) {
  if (!from.calls || into.channels == from.channels)
    return;
  if (!into.calls && !(into.flags & MPOPT_CHANNELS_DROPPED)) {
    into.channels = from.channels;
    return;
  }
  into.channels = 0;
  into.flags |= MPOPT_CHANNELS_DROPPED;
}

/// Values crowd in few bins: the lines of `into` that stay as they are need not
/// come into the cache.
static void mergeHistogram(uint64_t *into, const uint64_t *from) {
  constexpr int kLine = 8;
  static_assert(MPOPT_BINS % kLine == 0);
  for (int line = 0; line < MPOPT_BINS; line += kLine) {
    uint64_t any = 0;
    for (int i = 0; i < kLine; ++i)
      any |= from[line + i];
    if (!any)
      continue;
    for (int i = 0; i < kLine; ++i)
      into[line + i] += from[line + i];
  }
}

int mpopt_record_merge(mpopt_record *into, const mpopt_record *from) {
  if (into->version != MPOPT_RECORD_VERSION || from->version != into->version ||
      into->probe != from->probe || into->kind != from->kind)
    return 0;
  into->flags |= from->flags;
  if (into->flags & MPOPT_CHANNELS_DROPPED)
    into->channels = 0;
  else
    mergeChannelCount(*into, *from);
  mergeShape(*into, *from);

  into->calls += from->calls;
  into->skipped += from->skipped;
  into->count += from->count;
  into->nan += from->nan;
  into->pos_inf += from->pos_inf;
  into->neg_inf += from->neg_inf;
  into->zero += from->zero;

  into->min = std::min(into->min, from->min);
  into->max = std::max(into->max, from->max);
  mergeExtreme(into->absmax, into->absmax_step, from->absmax, from->absmax_step,
               from->absmax > into->absmax);
  mergeExtreme(into->min_nonzero, into->min_nonzero_step, from->min_nonzero,
               from->min_nonzero_step, from->min_nonzero < into->min_nonzero);

  into->first_step = std::min(into->first_step, from->first_step);
  if (from->last_step != MPOPT_NEVER)
    into->last_step = into->last_step == MPOPT_NEVER
                          ? from->last_step
                          : std::max(into->last_step, from->last_step);
  into->first_nan_step = std::min(into->first_nan_step, from->first_nan_step);
  into->first_inf_step = std::min(into->first_inf_step, from->first_inf_step);
  for (int i = 0; i < MPOPT_FORMATS; ++i) {
    into->first_overflow_step[i] =
        std::min(into->first_overflow_step[i], from->first_overflow_step[i]);
    into->first_flush_step[i] =
        std::min(into->first_flush_step[i], from->first_flush_step[i]);
    into->edge[i].beyond_max += from->edge[i].beyond_max;
    into->edge[i].not_finite += from->edge[i].not_finite;
    into->edge[i].rounds_to_zero += from->edge[i].rounds_to_zero;
  }
  mergeHistogram(into->histogram, from->histogram);
  mpopt_exact_sum_merge(&into->sum, &from->sum);
  mpopt_exact_sum_merge(&into->sum_squares, &from->sum_squares);
  return 1;
}

void mpopt_channels_merge(mpopt_channel_range *into,
                          const mpopt_channel_range *from, uint32_t channels) {
  for (uint32_t i = 0; i < channels; ++i) {
    into[i].min = std::min(into[i].min, from[i].min);
    into[i].max = std::max(into[i].max, from[i].max);
  }
}

mpopt_format_counts mpopt_record_format(const mpopt_record *record,
                                        int format) {
  mpopt_format_counts counts = {};
  if (format < 0 || format >= MPOPT_FORMATS)
    return counts;
  const FormatBins &bins = formatBins(format);
  const mpopt_edge &edge = record->edge[format];
  uint64_t above = 0, below = 0, between = 0;
  for (int i = 0; i < MPOPT_BINS; ++i) {
    uint64_t here = record->histogram[i];
    if (i > bins.maxBin)
      above += here;
    else if (i < bins.zeroBin)
      below += here;
    else if (i < bins.normalBin)
      between += here;
  }
  counts.beyond_max = above + edge.beyond_max;
  counts.not_finite = above + edge.not_finite;
  counts.rounds_to_zero = below + edge.rounds_to_zero;
  counts.subnormal = between - std::min(between, edge.rounds_to_zero);
  return counts;
}

mpopt_format_edges mpopt_format_edges_of(int format) {
  if (format < 0 || format >= MPOPT_FORMATS)
    return {};
  return formatBins(format).edges;
}

static double finiteCount(const mpopt_record *record) {
  return double(record->count - record->nan - record->pos_inf -
                record->neg_inf);
}

double mpopt_record_mean(const mpopt_record *record) {
  return mpopt_exact_sum_value(&record->sum) / finiteCount(record);
}

double mpopt_record_stddev(const mpopt_record *record) {
  double mean = mpopt_record_mean(record);
  double square =
      mpopt_exact_sum_value(&record->sum_squares) / finiteCount(record);
  // Rounding may leave a small negative difference; NaN stays.
  double variance = square - mean * mean;
  return variance < 0 ? 0 : std::sqrt(variance);
}
