// One block of tiles of a Winograd convolution: into the transformed domain, products, and back, with the layer's
// scales, noise, bias and activation on the way.
#pragma once

#include "winograd_multiply.h"
#include "winograd_plan.h"
#include "winograd_points.h"

namespace {

// What follows the convolution at V channels from `k` on of one sample.
struct Finish {
  Vec scale, bias, slope, high, low;
  const float* noise;
  bool activates;
  int count;

  template <class Request>
  Finish(const Request& q, int64_t n, int64_t k) {
    count = int(smaller<int64_t>(V, q.K - k));
    scale = q.scale_out ? load_some(q.scale_out + n * q.K + k, count) : broadcast(1.0f);
    bias = q.bias ? load_some(q.bias + k, count) : Vec{};
    activates = q.slope != nullptr;
    slope = activates ? load_some(q.slope + k, count) : Vec{};
    high = broadcast(q.clamp);
    low = broadcast(-q.clamp);
    noise = q.noise ? q.noise + n * q.noise_stride : nullptr;
  }
  template <class Y>
  GANTUNE_INLINE void operator()(Vec v, int64_t position, Y* y) const {
    v = v * scale + bias;
    if (noise) v += noise[position];
    if (activates) v = v < 0.0f ? slope * v : v;
    v = at_least(low, at_most(high, v));
    if (count == V) store_from_float(y, v); else store_some(y, v, count);
  }
};

template <bool>
struct ResultType {
  typedef float Type;
};
template <>
struct ResultType<true> {
  typedef uint16_t Type;
};

template <class Points, int TILE, int PHASES, class T>
struct WinogradBlock {
  static constexpr int SIZE = Points::SIZE, FREQUENCIES = SIZE * SIZE;
  typedef typename ResultType<PHASES == 4 && sizeof(T) == 2>::Type Result;
  const WinogradPlan& plan;
  const WinogradRequest& q;
  int64_t first, count;
  T* input;       // [FREQUENCIES][block][padded_c]
  float* output;  // [FREQUENCIES][block][PANEL]

  struct Place { int64_t n, y, x; };
  Place place(int64_t t) const {
    const int64_t a_sample = plan.tiles_x * plan.tiles_y, rest = (first + t) % a_sample;
    return {(first + t) / a_sample, q.first_row + rest / plan.tiles_x * TILE, rest % plan.tiles_x * TILE};
  }

  void transform_tile(int64_t t) const {
    const Place at = place(t);
    const int64_t left = at.x - q.padding, top = at.y - q.padding;
    for (int64_t c = 0; c < q.C; c += V) {
      const int channels = int(smaller<int64_t>(V, q.C - c));
      const Vec scale = q.scale_in ? load_some(q.scale_in + at.n * q.C + c, channels) : broadcast(1.0f);
      const bool is_whole = channels == V && left >= 0 && left + SIZE <= q.W;
      Vec rows[SIZE][SIZE];
      for (int i = 0; i < SIZE; ++i) {
        const int64_t row = top + i;
        const float* p = q.x + ((at.n * q.H + row) * q.W + left) * q.C + c;
        Vec d[SIZE] = {};
        if (row >= 0 && row < q.H) {
          if (is_whole) {
            unrolled<SIZE>(GANTUNE_EACH(j) { d[j] = load(p + j * q.C) * scale; });
          } else {
            for (int j = 0; j < SIZE; ++j)
              if (left + j >= 0 && left + j < q.W) d[j] = load_some(p + j * q.C, channels) * scale;
          }
        }
        Points::input(d, 1, rows[i]);
      }
      for (int j = 0; j < SIZE; ++j) {
        Vec column[SIZE];
        Points::input(&rows[0][j], SIZE, column);
        T* out = input + (j * plan.block + t) * plan.padded_c + c;
        unrolled<SIZE>(GANTUNE_EACH(i) { store_from_float(out + i * SIZE * plan.block * plan.padded_c, column[i]); });
      }
    }
  }

  void transform_back(int64_t t, int64_t column) const {
    const int64_t phase = column / plan.phase_k, k = column % plan.phase_k;
    if (k >= q.K || phase >= PHASES) return;
    const Place at = place(t);
    const float* m = output + t * PANEL + column % PANEL;
    Vec columns[SIZE][TILE];
    for (int j = 0; j < SIZE; ++j) {
      Vec d[SIZE];
      unrolled<SIZE>(GANTUNE_EACH(i) { d[i] = load(m + (i * SIZE + j) * plan.block * PANEL); });
      Points::template output<TILE>(d, columns[j]);
    }
    constexpr int STEP = PHASES == 4 ? 2 : 1;
    const int64_t top = at.y * STEP + phase / 2, left = at.x * STEP + phase % 2;
    const Finish finish(q, at.n, k);
    for (int i = 0; i < TILE && top + i * STEP < q.out_h; ++i) {
      Vec d[SIZE], r[TILE];
      unrolled<SIZE>(GANTUNE_EACH(j) { d[j] = columns[j][i]; });
      Points::template output<TILE>(d, r);
      const int64_t row = top + i * STEP;
      for (int j = 0; j < TILE && left + j * STEP < q.out_w; ++j) {
        const int64_t position = row * q.out_w + left + j * STEP;
        finish(r[j], position, static_cast<Result*>(q.y) + (at.n * q.out_h * q.out_w + position) * q.K + k);
      }
    }
  }

  void run() const {
    for (int64_t t = 0; t < count; ++t) transform_tile(t);
    const int64_t depth = plan.padded_c, weights = FREQUENCIES * depth * PANEL;
    for (int64_t panel = 0; panel < plan.panels; ++panel) {
      for (int f = 0; f < FREQUENCIES; ++f)
        multiply(count, input + f * plan.block * depth, depth,
                 static_cast<const T*>(q.weight) + panel * weights + f * depth * PANEL, depth,
                 output + f * plan.block * PANEL);
      for (int half = 0; half < PANEL; half += V)
        for (int64_t t = 0; t < count; ++t) transform_back(t, panel * PANEL + half);
    }
  }
};

template <class Points, int TILE, int PHASES, class T>
void winograd_block(const WinogradPlan& plan, int64_t item, float* scratch) {
  const int64_t first = item * plan.block, count = smaller(plan.block, plan.num_tiles - first);
  const int64_t frequencies = Points::SIZE * Points::SIZE;
  float* output = scratch;
  T* input = reinterpret_cast<T*>(scratch + frequencies * plan.block * PANEL);
  WinogradBlock<Points, TILE, PHASES, T>{plan, plan.request, first, count, input, output}.run();
}

void winograd_item(const WinogradPlan& plan, int64_t item, float* scratch) {
  switch (plan.request.form) {
    case CONVOLVE_4X4: return winograd_block<SixPoints, 4, 1, float>(plan, item, scratch);
    case CONVOLVE_2X2_HALF: return winograd_block<FourPoints, 2, 1, uint16_t>(plan, item, scratch);
    case UPSAMPLE_5X5: return winograd_block<SixPoints, 5, 4, float>(plan, item, scratch);
    case UPSAMPLE_3X3_HALF: return winograd_block<FourPoints, 3, 4, uint16_t>(plan, item, scratch);
    case CONVOLVE_4X4_HALF: return winograd_block<SixPoints, 4, 1, uint16_t>(plan, item, scratch);
    case UPSAMPLE_5X5_HALF: return winograd_block<SixPoints, 5, 4, uint16_t>(plan, item, scratch);
    case CONVOLVE_DIRECT_HALF: return winograd_block<NoPoints<3>, 1, 1, uint16_t>(plan, item, scratch);
    case UPSAMPLE_DIRECT_HALF: return winograd_block<NoPoints<2>, 1, 4, uint16_t>(plan, item, scratch);
  }
}

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

WinogradPlan plan_winograd(const WinogradRequest& q, int64_t most_tiles, int num_threads) {
  const int tiles[] = {4, 2, 5, 3, 4, 5, 1, 1};
  const int sizes[] = {6, 4, 6, 4, 6, 6, 3, 2};
  const bool is_half = q.form != CONVOLVE_4X4 && q.form != UPSAMPLE_5X5;
  const bool has_phases = q.form == UPSAMPLE_5X5 || q.form == UPSAMPLE_3X3_HALF || q.form == UPSAMPLE_5X5_HALF ||
                          q.form == UPSAMPLE_DIRECT_HALF;
  const int64_t tile = tiles[q.form], frequencies = sizes[q.form] * sizes[q.form];
  WinogradPlan plan = {q};
  const int64_t height = has_phases ? q.H + 1 : q.out_h, width = has_phases ? q.W + 1 : q.out_w;
  plan.tiles_x = (width + tile - 1) / tile;
  plan.tiles_y = (height - q.first_row + tile - 1) / tile;
  plan.num_tiles = q.N * plan.tiles_x * plan.tiles_y;
  const int64_t items = round_up((plan.num_tiles + most_tiles - 1) / most_tiles, num_threads);
  plan.block = (plan.num_tiles + items - 1) / items;
  plan.padded_c = round_up(q.C, V);
  plan.phase_k = has_phases ? round_up(q.K, V) : round_up(q.K, PANEL);
  plan.panels = (plan.phase_k * (has_phases ? 4 : 1) + PANEL - 1) / PANEL;
  plan.scratch_floats = frequencies * plan.block * (PANEL + plan.padded_c / (is_half ? 2 : 1));
  return plan;
}

// One row of the result.
template <class X>
void smooth_row_of(const SmoothRequest& q, int64_t item) {
  const int64_t n = item / q.H, row = item % q.H, line = (q.W + 2) * q.K;
  const X* above = static_cast<const X*>(q.x) + (n * (q.H + 2) + row) * line;
  for (int64_t k = 0; k < q.K; k += V) {
    const Finish finish(q, n, k);
    const auto column = [&](int64_t x) __attribute__((always_inline)) {
      const X* p = above + x * q.K + k;
      if (finish.count == V)
        return q.taps[0] * load_as_float(p) + q.taps[1] * load_as_float(p + line) +
               q.taps[2] * load_as_float(p + 2 * line);
      return q.taps[0] * load_some(p, finish.count) + q.taps[1] * load_some(p + line, finish.count) +
             q.taps[2] * load_some(p + 2 * line, finish.count);
    };
    Vec before = column(0), here = column(1);
    for (int64_t x = 0; x < q.W; ++x) {
      const Vec after = column(x + 2);
      const int64_t position = row * q.W + x;
      finish(q.taps[0] * before + q.taps[1] * here + q.taps[2] * after, position,
             q.y + (n * q.H * q.W + position) * q.K + k);
      before = here;
      here = after;
    }
  }
}

void smooth_row(const SmoothRequest& q, int64_t item) {
  if (q.is_half) smooth_row_of<uint16_t>(q, item);
  else smooth_row_of<float>(q, item);
}

}  // namespace
