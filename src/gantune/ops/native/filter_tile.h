// One tile of `filtered_lrelu` or `upfirdn2d`: V channels of a stretch of output rows and columns, in one pass.
//
// Input rows are filtered up horizontally into a ring of rows (L2); then each column is filtered up, activated and
// filtered down through a buffer of one column (L1), block by block, so the upsampled image never exists; the rows
// that come out are filtered down horizontally and stored. Every access is a whole aligned register.
#pragma once

#include "fir.h"
#include "mask.h"
#include "tensor_rows.h"

namespace {

struct Tile {
  const FilterPlan& plan;
  Channels channels;
  Span x, y;  // along a row, along a column
  int64_t columns() const { return x.steps * plan.horizontal.up; }
};

// Tile number `item`, `member` of its pack of channel groups.
Tile tile_of(const FilterPlan& plan, int64_t item, int64_t member) {
  // Neighboring items, which threads take at the same time, differ in channels: tiles side by side share lines.
  const int64_t pack = item % plan.packs, place = item / plan.packs;
  const int64_t tile_x = place % plan.tiles_x, tile_y = place / plan.tiles_x % plan.tiles_y;
  const int64_t sample = place / plan.tiles_x / plan.tiles_y;
  const int64_t first = (pack * plan.pack_groups + member) * V;
  const int64_t left = tile_x * plan.tile_width, top = tile_y * plan.tile_height;
  const int64_t width = smaller(plan.tile_width, plan.horizontal.size_out - left);
  const int64_t height = smaller(plan.tile_height, plan.vertical.size_out - top);
  const int count = int(smaller<int64_t>(V, plan.request.x.size[1] - first));
  return {plan, {sample, first, count}, span_of(plan.horizontal, left, width),
          span_of(plan.vertical, top, height)};
}

// Hands out pieces of a thread's scratch memory.
struct Arena {
  float* next;
  float* take(int64_t vectors) {
    float* piece = next;
    next += vectors * V;
    return piece;
  }
};

// The window of horizontally up-filtered input rows that slides down the tile.
struct UpRows {
  const Tile& tile;
  UpFunction<AlongRow> filter;
  float* padded;
  const float** rows;
  float** slots;
  int64_t num_slots, filled = 0;

  // Make input positions [from, from + count) of this tile present as rows[0 … count).
  void advance(int64_t from, int64_t count) {
    for (; filled < from + count; ++filled) fill(filled, slots[filled % num_slots]);
    for (int64_t i = 0; i < count; ++i) rows[i] = slots[(from + i) % num_slots];
  }

  void fill(int64_t position, float* out) {
    const Axis& axis = tile.plan.horizontal;
    const int64_t row = tile.y.input + position;
    if (row < 0 || row >= tile.plan.request.x.size[2]) {
      std::memset(out, 0, sizeof(float) * V * tile.columns());
      return;
    }
    load_row(tile.plan.request, tile.channels, row, tile.x.input, tile.x.steps + axis.up_taps - 1, padded);
    filter(AlongRow{padded}, axis.up_table, axis.up_taps, axis.up, out, V, tile.x.steps, Activation{});
  }
};

// Activate and write the mask, or multiply by it: `count` samples of column q from row `middle` of the tile.
void apply_mask(const Tile& tile, int64_t q, int64_t middle, float* samples, int64_t stride, int64_t count) {
  const MaskColumn mask(tile.plan, tile.channels, tile.x, tile.y, tile.x.middle + q, tile.y.middle + middle);
  if (tile.plan.request.mask_use == MASK_WRITE) mask.activate_and_write(samples, stride, count);
  else mask.multiply(samples, stride, count);
}

// The separable case: what stands between the ring of rows and the output.
struct ColumnPass {
  const Tile& tile;
  UpFunction<AlongColumn> up;
  DownFunction down_column, down_row;
  float* column;   // one column of upsampled samples: `carried` of the last block, then the new ones
  float* carry;    // [columns][carried]
  float* results;  // [outputs of a block][columns]
  float* row_out;
  int64_t carried;

  void filter_up(const float* const* rows, int64_t q, int64_t middle, int64_t steps, float* out) const {
    const FilterPlan& plan = tile.plan;
    const Axis& axis = plan.vertical;
    up(AlongColumn{rows, q * V}, axis.up_table, axis.up_taps, axis.up, out, V, steps, plan.request.activation);
    if (plan.request.mask_use == MASK_NONE) return;
    apply_mask(tile, q, middle, out, V, steps * axis.up);
  }

  // Upsampled rows before the first output is complete.
  void prime(const float* const* rows) const {
    const int64_t steps = carried / tile.plan.vertical.up;
    if (steps == 0) return;
    for (int64_t q = 0; q < tile.columns(); ++q) filter_up(rows, q, 0, steps, carry + q * carried * V);
  }

  void block(const float* const* rows, int64_t first_step, int64_t steps, int64_t num_outputs) const {
    const Axis& axis = tile.plan.vertical;
    const int64_t made = steps * axis.up, columns = tile.columns();
    for (int64_t q = 0; q < columns; ++q) {
      float* kept = carry + q * carried * V;
      for (int64_t i = 0; i < carried; ++i) store(column + i * V, load(kept + i * V));
      filter_up(rows, q, first_step * axis.up, steps, column + carried * V);
      down_column(column + tile.y.lead * V, axis.down_table, axis.down_taps, axis.down, results + q * V, columns * V,
                  num_outputs);
      for (int64_t i = 0; i < carried; ++i) store(kept + i * V, load(column + (made + i) * V));
    }
  }

  void finish_rows(int64_t first, int64_t num_outputs) const {
    const Axis& axis = tile.plan.horizontal;
    for (int64_t o = 0; o < num_outputs; ++o) {
      const float* row = results + (o * tile.columns() + tile.x.lead) * V;
      down_row(row, axis.down_table, axis.down_taps, axis.down, row_out, V, tile.x.num_outputs);
      store_row(tile.plan.request, tile.channels, tile.y.output + first + o, tile.x.output, tile.x.num_outputs,
                row_out);
    }
  }
};

UpFunction<AlongColumn> choose_column_filter(const FilterPlan& plan) {
  const Activation& a = plan.request.activation;
  if (!a.enabled || plan.request.mask_use != MASK_NONE) return choose_up<AlongColumn, Keep>(plan.vertical);
  if (a.slope > 0 && a.slope <= 1) return choose_up<AlongColumn, ActivateGently>(plan.vertical);
  return choose_up<AlongColumn, Activate>(plan.vertical);
}

int64_t carried_rows(const Axis& axis, int64_t lead) {
  const int64_t before = lead + axis.down_taps - axis.down;
  return before <= 0 ? 0 : (before + axis.up - 1) / axis.up * axis.up;
}

void filter_tile_separable(const Tile& tile, float* scratch) {
  const FilterPlan& plan = tile.plan;
  const Axis &h = plan.horizontal, &v = plan.vertical;
  const int64_t columns = tile.columns(), carried = carried_rows(v, tile.y.lead), steps = plan.block_steps;
  const int64_t prime_steps = carried / v.up, num_slots = larger(steps, prime_steps) + v.up_taps - 1;
  Arena arena{scratch};
  float* padded = arena.take(tile.x.steps + h.up_taps);
  const float** rows = reinterpret_cast<const float**>(arena.take(num_slots));
  float** slots = reinterpret_cast<float**>(arena.take(num_slots));
  for (int64_t i = 0; i < num_slots; ++i) slots[i] = arena.take(columns);
  UpRows up_rows{tile, choose_up<AlongRow, Keep>(h), padded, rows, slots, num_slots};
  const int64_t outputs = steps * v.up / v.down;
  const ColumnPass pass{tile,
                        choose_column_filter(plan),
                        choose_down(v),
                        choose_down(h),
                        arena.take(carried + steps * v.up),
                        arena.take(columns * carried),
                        arena.take(outputs * columns),
                        arena.take(tile.x.num_outputs),
                        carried};
  up_rows.advance(0, prime_steps + v.up_taps - 1);
  pass.prime(rows);
  int64_t step = prime_steps;
  for (int64_t first = 0; first < tile.y.num_outputs; first += outputs, step += steps) {
    const int64_t count = smaller(outputs, tile.y.num_outputs - first);
    const int64_t needed = tile.y.lead + v.down * (count - 1) + v.down_taps - carried;
    const int64_t new_steps = larger<int64_t>((needed + v.up - 1) / v.up, 0);
    up_rows.advance(step, new_steps + v.up_taps - 1);
    pass.block(rows, step, new_steps, count);
    pass.finish_rows(first, count);
  }
}

int64_t worst_steps(const Axis& axis, int64_t num_outputs) {
  return (2 * axis.up - 2 + axis.down * (num_outputs - 1) + axis.down_taps) / axis.up;
}

int64_t scratch_separable(const FilterPlan& plan) {
  const Axis &h = plan.horizontal, &v = plan.vertical;
  const int64_t steps_x = worst_steps(h, plan.tile_width), columns = steps_x * h.up;
  const int64_t carried = carried_rows(v, v.up - 1), steps = plan.block_steps;
  const int64_t num_slots = larger(steps, carried / v.up) + v.up_taps - 1;
  return V * (steps_x + h.up_taps + num_slots * (columns + 2) + carried + steps * v.up + columns * carried +
              steps * v.up / v.down * columns + plan.tile_width);
}

}  // namespace
