//===- Record.h - What one probe saw: the statistics record --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C. One fixed-size record a probe, the same in memory, in a file and on
// a device. Two records of one probe merge in any order to the same bits: the
// counts are integers, the extremes are minima and maxima, and the sums are
// exact accumulators of per-block sums.
//
// The histogram counts finite non-zero floats by binary exponent. It decides
// how many values would overflow or underflow in a format except in the bins
// that contain a threshold of the format; for those the record counts the exact
// rounding test itself (`mpopt_edge`).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_RECORD_H
#define MPOPT_KERNELS_RECORD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Grows when the layout below changes. A reader refuses a newer one.
#define MPOPT_RECORD_VERSION 1u

/// Element types, numbered as ONNX's TensorProto.DataType.
enum mpopt_dtype {
  MPOPT_UNDEFINED = 0,
  MPOPT_F32 = 1,
  MPOPT_U8 = 2,
  MPOPT_I8 = 3,
  MPOPT_U16 = 4,
  MPOPT_I16 = 5,
  MPOPT_I32 = 6,
  MPOPT_I64 = 7,
  MPOPT_BOOL = 9,
  MPOPT_F16 = 10,
  MPOPT_F64 = 11,
  MPOPT_U32 = 12,
  MPOPT_U64 = 13,
  MPOPT_BF16 = 16,
  MPOPT_F8E4M3FN = 17,
  MPOPT_F8E4M3FNUZ = 18,
  MPOPT_F8E5M2 = 19,
  MPOPT_F8E5M2FNUZ = 20
};

/// The observed quantity. The layout is the same for all, so a new kind is no
/// new version: a reader refuses a kind that it does not know. Records from
/// before MPOPT_PARAMETER have the first two.
enum mpopt_kind {
  MPOPT_VALUE = 0,     // a tensor
  MPOPT_GRADIENT = 1,  // the gradient with respect to it, as it flowed back
  MPOPT_PARAMETER = 2, // a parameter's own values between steps
  MPOPT_OPTIMIZER = 3, // what an optimizer keeps of a parameter
  MPOPT_SCALAR = 4,    // a number of the run, as the scale of the loss
  MPOPT_KINDS = 5
};

/// The formats that a record answers "what if" for. MPOPT_TO_F32 only matters
/// to FP64 data.
enum mpopt_format {
  MPOPT_TO_F16 = 0,
  MPOPT_TO_BF16 = 1,
  MPOPT_TO_E4M3 = 2,
  MPOPT_TO_E5M2 = 3,
  MPOPT_TO_F32 = 4,
  MPOPT_FORMATS = 5
};

/// Bin 0 holds |x| < 2^-150, bin i in [1, 278] holds 2^(i-151) <= |x| <
/// 2^(i-150), bin 279 holds |x| >= 2^128: the range of FP32 with the bin in
/// which its smallest value rounds to zero. A subnormal counts by its value,
/// not by its exponent field. Only FP64 data reaches the two outer bins.
#define MPOPT_BINS 280
#define MPOPT_BIN_OF_EXPONENT(e) ((e) + 151)

/// Thresholds of formats under round to nearest even:
///
///   format  max finite  not finite from   min normal  zero at and below
///   f16     65504       >= 65520          2^-14       2^-25
///   bf16    0x7F7F0000  >= 0x7F7F8000     2^-126      2^-134
///   e4m3    448         >  464            2^-6        2^-10
///   e5m2    57344       >= 61440          2^-14       2^-17
///   f32     2^128-2^104 >= 2^128-2^103    2^-126      2^-150
///
/// (bf16: FP32 bit patterns. e4m3 is E4M3FN, which has NaN in place of Inf; 464
/// is a tie that rounds to 448.) Counted here are only the values in the bin
/// that contains the threshold; mpopt_record_format adds the bins beyond it.
typedef struct mpopt_edge {
  uint64_t beyond_max;     // |x| > max finite
  uint64_t not_finite;     // rounds to Inf (e4m3: NaN)
  uint64_t rounds_to_zero; // exactly the last value that rounds to zero
} mpopt_edge;

/// A sum of doubles without rounding: a two's complement integer in units of
/// 2^-1074, least significant limb first.
#define MPOPT_SUM_LIMBS 34
typedef struct mpopt_exact_sum {
  uint64_t limb[MPOPT_SUM_LIMBS];
  uint64_t lost; // addends that were not finite (FP64 overflowed), left out
} mpopt_exact_sum;

/// Over the finite values of one channel; min > max if there were none.
typedef struct mpopt_channel_range {
  double min, max;
} mpopt_channel_range;

enum mpopt_record_flags {
  /// Calls differed in dtype; `dtype` is the narrowest float of them.
  /// Statistics are of the values all the same.
  MPOPT_MIXED_DTYPE = 1,
  /// Calls differed in rank; `rank` and the dims are of the smallest one.
  MPOPT_MIXED_RANK = 2,
  /// Calls differed in the number of channels, or there were too many: none are
  /// kept.
  MPOPT_CHANNELS_DROPPED = 4,
  /// The element type has no values to look at (strings, complex): `count`
  /// only.
  MPOPT_COUNT_ONLY = 8,
  /// A call belonged to a step that all probes share: of a run that was
  /// announced, or set by the caller. Its number orders calls of different
  /// probes.
  MPOPT_STEPS_SHARED = 16,
  /// The step of a call was the number of the probe's earlier ones. Records
  /// from before these two flags have neither.
  MPOPT_STEPS_COUNTED = 32,
  /// A call was recorded without histogram and sums, which are of the other
  /// calls only. Its `edge` holds all its values beyond the thresholds of the
  /// formats except MPOPT_TO_F32, so that `not_finite` and `rounds_to_zero` of
  /// mpopt_record_format are right all the same.
  MPOPT_NO_DISTRIBUTION = 64,
  /// The shape of a call is not known: `rank` and the dims are 0. Statistics as
  /// outputs (`--probe-with outputs`) have these two; records from before do
  /// not say so.
  MPOPT_NO_SHAPE = 128
};

#define MPOPT_NEVER UINT64_MAX
#define MPOPT_MAX_DIMS 8
#define MPOPT_MAX_CHANNELS 65536u

typedef struct mpopt_record {
  uint32_t version;  // MPOPT_RECORD_VERSION
  uint32_t bytes;    // sizeof(mpopt_record)
  uint32_t probe;    // id in the ledger
  uint32_t kind;     // mpopt_kind
  uint32_t dtype;    // mpopt_dtype, 0 before the first call
  uint32_t flags;    // mpopt_record_flags
  uint32_t channels; // how many mpopt_channel_range go with the record
  uint32_t rank;     // of the tensor; only MPOPT_MAX_DIMS dims are kept
  int64_t
      dim_min[MPOPT_MAX_DIMS]; // smallest and largest extents over all calls
  int64_t dim_max[MPOPT_MAX_DIMS];

  uint64_t calls;   // tensors that went into the record
  uint64_t skipped; // calls left out by the sampling period or while disabled

  uint64_t
      count; // elements; the finite ones are count - nan - pos_inf - neg_inf
  uint64_t nan, pos_inf, neg_inf, zero;

  /// Over finite values. None: +Inf, -Inf, 0. Zero is +0. Integers wider than
  /// 53 bits are rounded to nearest.
  double min, max, absmax;
  /// Smallest non-zero magnitude, +Inf if there is none.
  double min_nonzero;

  /// Steps, MPOPT_NEVER if it never happened. Of several steps with the same
  /// extreme the first counts.
  uint64_t first_step, last_step;
  uint64_t first_nan_step, first_inf_step;
  uint64_t absmax_step, min_nonzero_step;
  /// First step with a finite value that would not be finite, or with a
  /// non-zero one that would be zero, in the format.
  uint64_t first_overflow_step[MPOPT_FORMATS];
  uint64_t first_flush_step[MPOPT_FORMATS];

  /// Counts of floats, and of 8-bit integers, each of which has a bin, the
  /// least one the first; records from before have none of those. Edges and
  /// sums are of floats only.
  uint64_t histogram[MPOPT_BINS];
  mpopt_edge edge[MPOPT_FORMATS];
  mpopt_exact_sum sum, sum_squares;
} mpopt_record;

/// Exact counts of finite non-zero values, each value in at most one of
/// `not_finite`, `subnormal`, `rounds_to_zero`.
typedef struct mpopt_format_counts {
  uint64_t beyond_max;     // magnitude beyond the largest finite value
  uint64_t not_finite;     // of these, those that round to Inf (e4m3: NaN)
  uint64_t subnormal;      // below the smallest normal, not rounding to zero
  uint64_t rounds_to_zero; // non-zero, but zero in the format
} mpopt_format_counts;

/// The thresholds above as doubles, for margins.
typedef struct mpopt_format_edges {
  const char *name; // "f16", "bf16", "e4m3", "e5m2", "f32"
  double max_finite;
  double not_finite_from; // smallest double that is not finite in the format
  double min_normal;
  double zero_at; // largest double that rounds to zero
} mpopt_format_edges;

/// The library's MPOPT_RECORD_VERSION.
uint32_t mpopt_record_version(void);

void mpopt_record_init(mpopt_record *record, uint32_t probe, uint32_t kind);

/// Adds `from` to `into`; false, and nothing changes, if they are not of the
/// same version, probe and kind. Channels are merged by the caller
/// (mpopt_channels_merge) while `into->channels` says that they count.
int mpopt_record_merge(mpopt_record *into, const mpopt_record *from);
void mpopt_channels_merge(mpopt_channel_range *into,
                          const mpopt_channel_range *from, uint32_t channels);

/// `format` is an mpopt_format; anything else gives zeros (or a null name).
mpopt_format_counts mpopt_record_format(const mpopt_record *record, int format);
mpopt_format_edges mpopt_format_edges_of(int format);

void mpopt_exact_sum_add(mpopt_exact_sum *sum, double value);
void mpopt_exact_sum_merge(mpopt_exact_sum *into, const mpopt_exact_sum *from);
/// Rounded once, to nearest even.
double mpopt_exact_sum_value(const mpopt_exact_sum *sum);

/// Mean and standard deviation over the finite values; NaN if there are none.
double mpopt_record_mean(const mpopt_record *record);
double mpopt_record_stddev(const mpopt_record *record);

#ifdef __cplusplus
}
#endif

#endif // MPOPT_KERNELS_RECORD_H
