// A convolution by the Winograd method, with everything that a generator's layer does around it.
//
//   y = activate(scale_out · conv(scale_in · x, w) + noise + bias)
//
// x and y are channels-last. `weight` holds w in the transformed domain, packed in panels of 2·V output channels:
// [panels][frequencies][C][2V] float, or [panels][frequencies][C/2][2V][2] bfloat16; C is padded to a multiple of V.
#pragma once

#include <cstdint>

enum WinogradForm : int32_t {
  CONVOLVE_4X4 = 0,         // 3 × 3 taps, tiles of 4 × 4, float32
  CONVOLVE_2X2_HALF = 1,    // 3 × 3 taps, tiles of 2 × 2, bfloat16 products
  UPSAMPLE_5X5 = 2,         // four phases of 2 × 2 taps, tiles of 5 × 5, float32
  UPSAMPLE_3X3_HALF = 3,    // four phases of 2 × 2 taps, tiles of 3 × 3, bfloat16 products
  CONVOLVE_4X4_HALF = 4,    // as CONVOLVE_4X4, bfloat16 products: faster, and 11 dB less exact than 2 × 2
  UPSAMPLE_5X5_HALF = 5,    // as UPSAMPLE_5X5, bfloat16 products
  CONVOLVE_DIRECT_HALF = 6, // 3 × 3 taps, not transformed: the fewest weights, for the smallest images
  UPSAMPLE_DIRECT_HALF = 7, // four phases of 2 × 2 taps, not transformed
};

struct WinogradRequest {
  const float* x;          // [N, H, W, C]
  void* y;                 // [N, out_h, out_w, K]; of the phases: [N, 2H + 2, 2W + 2, K], before the filter,
                           // and then bfloat16 where the products are
  const void* weight;
  const float* scale_in;   // [N, C] or null
  const float* scale_out;  // [N, K] or null
  const float* bias;       // [K] or null
  const float* slope;      // [K] or null: no activation
  const float* noise;      // [out_h, out_w] a sample, or null
  int64_t noise_stride;    // floats between samples; 0: one for all
  int64_t N, C, K, H, W, out_h, out_w;
  int64_t first_row;       // rows before it are left out, as are those from out_h on; a whole tile, 0 with phases
  int32_t form, padding;
  float clamp;             // infinity: none
};

struct WinogradPlan {
  WinogradRequest request;
  int64_t tiles_x, tiles_y, num_tiles;
  int64_t block;           // tiles an item
  int64_t padded_c;        // channels of a tile in the transformed domain
  int64_t phase_k;         // columns a phase
  int64_t panels;
  int64_t scratch_floats;
};

// The separable three-tap filter behind the phases, then the rest of the layer; x is [N, H + 2, W + 2, K], bfloat16
// where `is_half`.
struct SmoothRequest {
  const void* x;
  float* y;                // [N, H, W, K]
  const float* scale_out;
  const float* bias;
  const float* slope;
  const float* noise;
  int64_t noise_stride;
  int64_t N, K, H, W;
  float taps[3];
  float clamp;
  int32_t is_half;
};

// A product with few columns at every pixel: y[n, o, p] = sum over c of x[n, p, c] · weight[n, o, c], plus bias[o],
// clamped, plus image[n, o, p].
struct ProjectionRequest {
  const float* x;          // [N, H, W, C]
  float* y;                // [N, O, H, W], planar
  const float* image;      // as y, or null
  const float* weight;     // [N, O, C]
  const float* bias;       // [O]
  int64_t N, C, O, H, W;
  int64_t plane;           // floats between planes of y, and of image
  float clamp;             // infinity: none
};
