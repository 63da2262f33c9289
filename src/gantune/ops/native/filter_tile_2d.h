// The same tile where a filter is not separable: the upsampled rows of a block are kept, and filtered in two dimensions.
#pragma once

#include "filter_tile.h"

namespace {

// out[4 columns] = sum over rows and taps; `step` is the distance of neighboring outputs in the source.
template <int O>
GANTUNE_INLINE void window(const float* const* rows, int64_t offset, const float* taps, int taps_y, int taps_x, int step,
                           float* out, int64_t out_stride) {
  Vec sum[O] = {};
  for (int y = 0; y < taps_y; ++y, taps += taps_x)
    for (int x = 0; x < taps_x; ++x)
      unrolled<O>(GANTUNE_EACH(o) { sum[o] += load(rows[y] + offset + (o * step + x) * V) * taps[x]; });
  unrolled<O>(GANTUNE_EACH(o) { store(out + o * out_stride, sum[o]); });
}

void window_row(const float* const* rows, const float* taps, int taps_y, int taps_x, int step, float* out,
                int64_t out_stride, int64_t count) {
  constexpr int O = 4;
  int64_t o = 0;
  for (; o + O <= count; o += O)
    window<O>(rows, o * step * V, taps, taps_y, taps_x, step, out + o * out_stride, out_stride);
  for (; o < count; ++o) window<1>(rows, o * step * V, taps, taps_y, taps_x, step, out + o * out_stride, out_stride);
}

// Input rows as they are, padded: what UpRows is to the separable case.
struct PaddedRows {
  const Tile& tile;
  const float** rows;
  float** slots;
  int64_t num_slots, filled = 0;

  void advance(int64_t from, int64_t count) {
    const int64_t width = tile.x.steps + tile.plan.horizontal.up_taps - 1;
    for (; filled < from + count; ++filled) {
      const int64_t row = tile.y.input + filled;
      float* out = slots[filled % num_slots];
      if (row < 0 || row >= tile.plan.request.x.size[2]) std::memset(out, 0, sizeof(float) * V * width);
      else load_row(tile.plan.request, tile.channels, row, tile.x.input, width, out);
    }
    for (int64_t i = 0; i < count; ++i) rows[i] = slots[(from + i) % num_slots];
  }

  // Upsampled rows of `steps` input rows, from step `first`.
  void filter_up(int64_t first, int64_t steps, float* out) {
    const Axis &h = tile.plan.horizontal, &v = tile.plan.vertical;
    const int taps = v.up_taps * h.up_taps;
    advance(first, steps + v.up_taps - 1);
    for (int64_t j = 0; j < steps; ++j)
      for (int p = 0; p < v.up; ++p, out += tile.columns() * V)
        for (int q = 0; q < h.up; ++q)
          window_row(rows + j, tile.plan.up_table_2d + (p * h.up + q) * taps, v.up_taps, h.up_taps, 1, out + q * V,
                     h.up * V, tile.x.steps);
  }
};

void activate_rows(const Tile& tile, int64_t middle, float* rows, int64_t count) {
  const int64_t columns = tile.columns();
  const Activation& activation = tile.plan.request.activation;
  if (tile.plan.request.mask_use != MASK_NONE) {
    for (int64_t q = 0; q < columns; ++q) apply_mask(tile, q, middle, rows + q * V, columns * V, count);
  } else if (activation.enabled) {
    const Activate activate(activation);
    for (int64_t i = 0; i < count * columns; ++i) store(rows + i * V, activate(load(rows + i * V)));
  }
}

void filter_tile_2d(const Tile& tile, float* scratch) {
  const FilterPlan& plan = tile.plan;
  const Axis &h = plan.horizontal, &v = plan.vertical;
  const int64_t columns = tile.columns(), carried = carried_rows(v, tile.y.lead), steps = plan.block_steps;
  const int64_t most_steps = larger(steps, carried / v.up), num_slots = most_steps + v.up_taps - 1;
  const int64_t outputs = steps * v.up / v.down, width = tile.x.steps + h.up_taps - 1;
  Arena arena{scratch};
  PaddedRows padded{tile, reinterpret_cast<const float**>(arena.take(num_slots)),
                    reinterpret_cast<float**>(arena.take(num_slots)), num_slots};
  for (int64_t i = 0; i < num_slots; ++i) padded.slots[i] = arena.take(width);
  float* middle = arena.take((carried + most_steps * v.up) * columns);
  float* row_out = arena.take(tile.x.num_outputs);
  const float** window_rows = reinterpret_cast<const float**>(arena.take(v.down_taps));
  auto make = [&](int64_t first_step, int64_t count, float* out) {
    padded.filter_up(first_step, count, out);
    activate_rows(tile, first_step * v.up, out, count * v.up);
  };
  if (carried > 0) make(0, carried / v.up, middle);
  int64_t step = carried / v.up;
  for (int64_t first = 0; first < tile.y.num_outputs; first += outputs, step += steps) {
    const int64_t count = smaller(outputs, tile.y.num_outputs - first);
    const int64_t needed = tile.y.lead + v.down * (count - 1) + v.down_taps - carried;
    const int64_t new_steps = larger<int64_t>((needed + v.up - 1) / v.up, 0);
    make(step, new_steps, middle + carried * columns * V);
    for (int64_t o = 0; o < count; ++o) {
      for (int t = 0; t < v.down_taps; ++t)
        window_rows[t] = middle + ((tile.y.lead + v.down * o + t) * columns + tile.x.lead) * V;
      window_row(window_rows, plan.down_table_2d, v.down_taps, h.down_taps, h.down, row_out, V, tile.x.num_outputs);
      store_row(plan.request, tile.channels, tile.y.output + first + o, tile.x.output, tile.x.num_outputs, row_out);
    }
    std::memmove(middle, middle + new_steps * v.up * columns * V, sizeof(float) * V * columns * carried);
  }
}

int64_t scratch_2d(const FilterPlan& plan) {
  const Axis &h = plan.horizontal, &v = plan.vertical;
  const int64_t steps_x = worst_steps(h, plan.tile_width), columns = steps_x * h.up;
  const int64_t carried = carried_rows(v, v.up - 1), most_steps = larger(plan.block_steps, carried / v.up);
  const int64_t num_slots = most_steps + v.up_taps - 1;
  return V * (num_slots * (steps_x + h.up_taps + 2) + (carried + most_steps * v.up) * columns + plan.tile_width +
              v.down_taps);
}

int64_t filter_scratch(const FilterPlan& plan) {
  return plan.down_table_2d == nullptr ? scratch_separable(plan) : scratch_2d(plan);
}

void filter_item(const FilterPlan& plan, int64_t item, float* scratch) {
  for (int64_t member = 0; member < plan.pack_groups; ++member) {
    const Tile tile = tile_of(plan, item, member);
    if (tile.channels.count <= 0) break;
    if (plan.down_table_2d == nullptr) filter_tile_separable(tile, scratch);
    else filter_tile_2d(tile, scratch);
  }
}

}  // namespace
