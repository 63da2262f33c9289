// Rows of a tensor to and from V-channel pixels: any strides, float32 or bfloat16.
#pragma once

#include "vector.h"

namespace {

// Planes lie far apart, and a tile takes short pieces of each: the processor does not foresee that.
constexpr int PREFETCH_ROWS = 2;

// V channels of one sample, of which `count` exist.
struct Channels {
  int64_t sample, first;
  int count;
};

GANTUNE_INLINE Vec per_channel(const float* values, int64_t offset, const Channels& c, float missing) {
  if (values == nullptr) return broadcast(missing);
  return load_some(values + offset + c.first, c.count);
}

template <class T>
GANTUNE_INLINE T* row_pointer(const Image& image, const Channels& c, int64_t row) {
  return static_cast<T*>(image.data) + c.sample * image.stride[0] + c.first * image.stride[1] + row * image.stride[2];
}

// Gather columns [begin, end) whose channels lie `stride[1]` apart, one element at a time.
template <class T>
GANTUNE_INLINE Vec gather_pixel(const T* p, int64_t channel_stride, int count) {
  float lanes[V] = {};
  for (int i = 0; i < count; ++i) lanes[i] = scalar_as_float(p + i * channel_stride);
  return load(lanes);
}

template <class T, class Change>
void load_columns(const Image& image, const Channels& c, int64_t row, int64_t begin, int64_t end, float* out,
                  Change change) {
  const T* p = row_pointer<T>(image, c, row);
  const int64_t channel = image.stride[1], column = image.stride[3];
  int64_t w = begin;
  if (channel == 1 && c.count == V) {
    const int64_t ahead = PREFETCH_ROWS * image.stride[2];
    for (; w < end; ++w, out += V) {
      __builtin_prefetch(p + w * column + ahead);
      store(out, change(load_as_float(p + w * column)));
    }
  } else if (channel == 1) {
    for (; w < end; ++w, out += V) store(out, change(load_some(p + w * column, c.count)));
  } else if (column == 1 && end - begin >= V) {
    // The last square overlaps the one before it, so that no odd columns are left.
    for (; w < end; w += V) {
      const int64_t at = smaller(w, end - V);
      Vec r[V];
      for (int i = 0; i < V; ++i) {
        if (i < c.count) {
          __builtin_prefetch(p + i * channel + at + PREFETCH_ROWS * image.stride[2]);
          r[i] = load_as_float(p + i * channel + at);
        } else {
          r[i] = Vec{};
        }
      }
      transpose(r);
      for (int i = 0; i < V; ++i) store(out + (at - begin + i) * V, change(r[i]));
    }
    return;
  }
  for (; w < end; ++w, out += V) store(out, change(gather_pixel(p + w * column, channel, c.count)));
}

template <class T, class Change>
void store_columns(const Image& image, const Channels& c, int64_t row, int64_t begin, int64_t end, const float* in,
                   Change change) {
  T* p = row_pointer<T>(image, c, row);
  const int64_t channel = image.stride[1], column = image.stride[3];
  int64_t w = begin;
  if (channel == 1 && c.count == V) {
    for (; w < end; ++w, in += V) store_from_float(p + w * column, change(load(in)));
  } else if (channel == 1) {
    for (; w < end; ++w, in += V) store_some(p + w * column, change(load(in)), c.count);
  } else if (column == 1 && end - begin >= V) {
    for (; w < end; w += V) {
      const int64_t at = smaller(w, end - V);
      Vec r[V];
      for (int i = 0; i < V; ++i) r[i] = change(load(in + (at - begin + i) * V));
      transpose(r);
      for (int i = 0; i < c.count; ++i) {
        __builtin_prefetch(p + i * channel + at + PREFETCH_ROWS * image.stride[2], 1);
        store_from_float(p + i * channel + at, r[i]);
      }
    }
  } else {
    for (; w < end; ++w, in += V) {
      T lanes[V];
      store_from_float(lanes, change(load(in)));
      for (int i = 0; i < c.count; ++i) p[w * column + i * channel] = lanes[i];
    }
  }
}

// Write x * scale + bias for columns [first, first + count) of one row, and zero outside the image.
void load_row(const FilterRequest& request, const Channels& c, int64_t row, int64_t first, int64_t count, float* out) {
  const Image& x = request.x;
  const int64_t width = x.size[3];
  const int64_t begin = smaller(larger<int64_t>(first, 0), width);
  const int64_t end = larger(smaller(first + count, width), begin);
  const Vec scale = per_channel(request.scale_in, c.sample * x.size[1], c, 1.0f);
  const Vec bias = per_channel(request.bias, 0, c, 0.0f);
  auto change = [=](Vec v) __attribute__((always_inline)) { return v * scale + bias; };
  const int64_t before = smaller(larger<int64_t>(-first, 0), count);
  for (int64_t w = 0; w < before; ++w) store(out + w * V, Vec{});
  float* inside = out + before * V;
  if (x.type == FLOAT32) load_columns<float>(x, c, row, begin, end, inside, change);
  else load_columns<uint16_t>(x, c, row, begin, end, inside, change);
  for (int64_t w = before + (end - begin); w < count; ++w) store(out + w * V, Vec{});
}

void store_row(const FilterRequest& request, const Channels& c, int64_t row, int64_t first, int64_t count,
               const float* in) {
  const Image& y = request.y;
  const Vec scale = per_channel(request.scale_out, c.sample * y.size[1], c, 1.0f);
  auto change = [=](Vec v) __attribute__((always_inline)) { return v * scale; };
  if (y.type == FLOAT32) store_columns<float>(y, c, row, first, first + count, in, change);
  else store_columns<uint16_t>(y, c, row, first, first + count, in, change);
}

}  // namespace
