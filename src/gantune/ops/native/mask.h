// The record that the backward pass needs instead of the activation: two bits a value at the upsampled size.
//
// Layout [N, ceil(C/16), H', W', 16], one byte each: bit 0, the value was not positive; bit 1, it was clamped.
#pragma once

#include "fir.h"
#include "tensor_rows.h"

namespace {

constexpr int MASK_CHANNELS = 16;
constexpr VecByte OUTSIDE = VecByte{} + 2;  // contributes nothing

// The part of one column of the mask that a tile owns: tiles overlap, and only the owner writes.
struct MaskColumn {
  const FilterPlan& plan;
  uint8_t* base;  // of row 0, at this tile's column and channels
  int64_t first_row, row_stride;
  int64_t readable_end, own_begin, own_end;

  // `column` and `first_row` count extended upsampled samples.
  MaskColumn(const FilterPlan& p, const Channels& c, const Span& x, const Span& y, int64_t column, int64_t row)
      : plan(p) {
    const Axis &h = p.horizontal, &v = p.vertical;
    const int64_t groups = (p.request.x.size[1] + MASK_CHANNELS - 1) / MASK_CHANNELS;
    const int64_t i = column - h.lead + p.request.mask_offset[0];
    const int64_t plane = c.sample * groups + c.first / MASK_CHANNELS;
    row_stride = h.size_middle * MASK_CHANNELS;
    base = p.request.mask + plane * v.size_middle * row_stride + i * MASK_CHANNELS + c.first % MASK_CHANNELS;
    first_row = row - v.lead + p.request.mask_offset[1];
    const bool exists = i >= 0 && i < h.size_middle;
    readable_end = exists ? v.size_middle : 0;
    own_begin = own_end = 0;
    if (exists && owns(h, x, i)) {
      own_begin = v.down * y.output;
      own_end = y.output + y.num_outputs == v.size_out ? v.size_middle : v.down * (y.output + y.num_outputs);
    }
  }

  static bool owns(const Axis& axis, const Span& span, int64_t i) {
    const int64_t end = span.output + span.num_outputs;
    return i >= axis.down * span.output && (end == axis.size_out || i < axis.down * end);
  }

  void activate_and_write(float* column, int64_t stride, int64_t count) const {
    const Activate activate(plan.request.activation);
    for (int64_t r = 0; r < count; ++r) {
      const int64_t row = first_row + r;
      const Vec v = load(column + r * stride);
      const Vec y = activate(v);
      store(column + r * stride, y);
      if (row < own_begin || row >= own_end) continue;
      const Vec unclamped = v < 0.0f ? v * activate.slope : v;
      const VecInt inside = (unclamped <= activate.high) & (unclamped >= activate.low);
      const VecInt bits = (~(v > 0.0f) & 1) | (~inside & 2);
      const VecByte bytes = __builtin_convertvector(bits, VecByte);
      std::memcpy(base + row * row_stride, &bytes, V);
    }
  }

  // Multiply by the derivative of the activation; the gain is in the taps.
  void multiply(float* column, int64_t stride, int64_t count) const {
    const Vec slope = broadcast(plan.request.activation.slope);
    for (int64_t r = 0; r < count; ++r) {
      const int64_t row = first_row + r;
      VecByte bytes = OUTSIDE;
      if (row >= 0 && row < readable_end) std::memcpy(&bytes, base + row * row_stride, V);
      const VecInt bits = __builtin_convertvector(bytes, VecInt);
      Vec v = load(column + r * stride);
      v = (bits & 1) != 0 ? v * slope : v;
      store(column + r * stride, (bits & 2) != 0 ? Vec{} : v);
    }
  }
};

}  // namespace
