// What the kernels are told: plain structures, shared with Python (the request) and with every instruction set.
#pragma once

#include <cstdint>

enum ElementType : int32_t { FLOAT32 = 0, BFLOAT16 = 1 };
enum MaskUse : int32_t { MASK_NONE = 0, MASK_WRITE = 1, MASK_READ = 2 };

// A 4-D tensor [N, C, H, W]; strides count elements.
struct Image {
  void* data;
  int64_t size[4];
  int64_t stride[4];
  int32_t type;
  int32_t reserved;
};

// A FIR filter as the user gave it: 1-D and separable (`height` 0), or 2-D [height, width].
struct Filter {
  const float* taps;
  int32_t height;
  int32_t width;
};

struct Activation {
  float slope;
  float clamp;  // infinity: none
  int32_t enabled;
};

// The whole of `filtered_lrelu`, or `upfirdn2d` where `activation.enabled` is 0; pairs are (x, y).
struct FilterRequest {
  Image x;
  Image y;
  const float* bias;       // [C] or null
  const float* scale_in;   // [N, C] or null: multiplies x before the bias
  const float* scale_out;  // [N, C] or null: multiplies y
  uint8_t* mask;           // [N, ceil(C/16), H', W', 16] at the upsampled size, or null
  Filter up_filter;
  Filter down_filter;
  int32_t up[2];
  int32_t down[2];
  int32_t padding[2];  // before the first sample, on the upsampled image
  int32_t size_middle[2];  // of the mask: the upsampled image of the forward pass
  int32_t mask_offset[2];  // sample i of the upsampled image is value i + offset of the mask
  int32_t mask_use;
  int32_t flip_filter;
  float gain;  // of the whole: up-filter gain times activation gain
  Activation activation;
};

enum ActivationKind : int32_t {
  ACT_LINEAR, ACT_RELU, ACT_LRELU, ACT_TANH, ACT_SIGMOID, ACT_ELU, ACT_SELU, ACT_SOFTPLUS, ACT_SWISH
};

// y = scale_out * clamp(gain * act(scale * x + strength * noise + bias)) over dense memory, either [samples, channels,
// pixels] or, where `channels_last`, [samples, pixels, channels]. With `gradient`, y = gradient * dy/dx instead, for the
// activations made of straight lines. Pointers other than x and y may be null.
struct PointwiseRequest {
  const void* x;
  const void* gradient;
  void* y;
  const float* scale;      // [samples, channels]
  const float* scale_out;  // [samples, channels]
  const float* bias;       // [channels]
  const float* noise;      // [pixels] of each sample, `noise_stride` apart
  int64_t samples, channels, pixels, noise_stride;
  int32_t channels_last, type;
  int32_t kind;
  int32_t streams;  // set by the library
  float alpha, gain, clamp, strength;
};

// One axis of a request. Sample q of the extended upsampled signal (sample i of the definition is q = i + lead) is
//   v[up * j + p] = sum over k of up_table[p][k] * x[first + j + k],
// the same window of x for every phase p; and y[o] = sum over t of down_table[t] * v[down * o + lead + t].
struct Axis {
  int32_t up, down;
  int32_t up_taps;    // a phase
  int32_t down_taps;
  int32_t lead, first;
  int32_t is_down_symmetric;  // to float32 accuracy
  int64_t size_in, size_middle, size_out;
  const float* up_table;
  const float* down_table;
};

// A request made ready: tables, tiles, and the scratch memory a thread needs.
struct FilterPlan {
  FilterRequest request;
  Axis horizontal;
  Axis vertical;
  const float* up_table_2d;    // [up_y][up_x][taps_y][taps_x], and
  const float* down_table_2d;  // [taps_y][taps_x] where a filter is not separable, else null
  int64_t tile_width, tile_height;  // of the output
  int64_t tiles_x, tiles_y;
  int64_t packs, pack_groups;  // channels are taken in groups of one register, those of one cache line together
  int64_t block_steps;  // input rows per pass over the columns
  int64_t scratch_floats;
  int32_t streams;  // the result is written past the caches
};

// Larger results leave the last-level cache before anyone reads them.
constexpr int64_t STREAMED_BYTES = int64_t(32) << 20;

// A stretch of outputs of one axis, and the stretch of upsampled samples and inputs it needs.
struct Span {
  int64_t output, num_outputs;
  int64_t middle;        // first extended upsampled sample, a multiple of `up`
  int64_t lead;          // of the first output within them
  int64_t input, steps;  // first input, and input positions (each gives `up` samples)
};

static inline Span span_of(const Axis& axis, int64_t output, int64_t num_outputs) {
  int64_t start = axis.down * output + axis.lead;
  int64_t middle = start / axis.up * axis.up;
  int64_t needed = start - middle + axis.down * (num_outputs - 1) + axis.down_taps;
  return {output, num_outputs, middle, start - middle, axis.first + middle / axis.up, (needed + axis.up - 1) / axis.up};
}
