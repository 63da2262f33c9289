// Demodulation, noise, bias, activation, gain and clamp in one pass over memory, and the gradient of that.
#pragma once

#include "elementary.h"

namespace {

// What one channel (or V of them) is computed with.
struct Factors {
  Vec scale, offset, scale_out;
};

template <int Kind, bool IsGradient>
struct Pointwise {
  Vec alpha, gain, high, low;
  explicit Pointwise(const PointwiseRequest& r)
      : alpha(broadcast(r.alpha)), gain(broadcast(r.gain)), high(broadcast(r.clamp)), low(broadcast(-r.clamp)) {}

  GANTUNE_INLINE Vec operator()(Vec x, Vec dy, const Factors& f) const {
    const Vec v = x * f.scale + f.offset;
    const Vec a = activation<Kind>(v, alpha) * gain;
    if constexpr (!IsGradient) return at_least(low, at_most(high, a)) * f.scale_out;
    Vec slope = gain;
    if constexpr (Kind == ACT_RELU) slope = v > 0.0f ? gain : Vec{};
    if constexpr (Kind == ACT_LRELU) slope = v > 0.0f ? gain : gain * alpha;
    return (a <= high) & (a >= low) ? dy * slope : Vec{};
  }
};

template <class T, int Kind, bool IsGradient>
void pointwise_run(const PointwiseRequest& r, int64_t begin, int64_t end, const Factors& f, const float* noise) {
  const Pointwise<Kind, IsGradient> apply(r);
  const T* x = static_cast<const T*>(r.x);
  const T* dy = static_cast<const T*>(r.gradient);
  T* y = static_cast<T*>(r.y);
  const Vec strength = broadcast(r.strength);
  const bool streams = r.streams && is_streamable(y + begin);
  auto at = [&](int64_t i, int count) __attribute__((always_inline)) {
    Factors here = f;
    const bool whole = count == V;
    if (noise != nullptr) here.offset += strength * (whole ? load(noise + i - begin) : load_some(noise + i - begin, count));
    const Vec v = whole ? load_as_float(x + i) : load_some(x + i, count);
    Vec g = {};
    if constexpr (IsGradient) g = whole ? load_as_float(dy + i) : load_some(dy + i, count);
    const Vec result = apply(v, g, here);
    if (whole && streams) stream(y + i, result);
    else if (whole) store_from_float(y + i, result);
    else store_some(y + i, result, count);
  };
  int64_t i = begin;
  for (; i + V <= end; i += V) {
    fetch_ahead(x + i);
    at(i, V);
  }
  if (i < end) at(i, int(end - i));
  if (streams) finish_streams();
}

// [samples, channels, pixels]: items are pieces of planes.
template <class T, int Kind, bool IsGradient>
void pointwise_planes(const PointwiseRequest& r, int64_t plane, int64_t begin, int64_t end) {
  const int64_t sample = plane / r.channels, channel = plane % r.channels;
  const Factors f{broadcast(r.scale ? r.scale[plane] : 1.0f), broadcast(r.bias ? r.bias[channel] : 0.0f),
                  broadcast(r.scale_out ? r.scale_out[plane] : 1.0f)};
  const float* noise = r.noise ? r.noise + sample * r.noise_stride + begin : nullptr;
  pointwise_run<T, Kind, IsGradient>(r, plane * r.pixels + begin, plane * r.pixels + end, f, noise);
}

// [samples, pixels, channels]: items are runs of pixels of one sample.
template <class T, int Kind, bool IsGradient>
void pointwise_pixels(const PointwiseRequest& r, int64_t sample, int64_t begin, int64_t end) {
  const Pointwise<Kind, IsGradient> apply(r);
  const int64_t C = r.channels;
  const float* scale = r.scale ? r.scale + sample * C : nullptr;
  const float* scale_out = r.scale_out ? r.scale_out + sample * C : nullptr;
  for (int64_t p = begin; p < end; ++p) {
    const int64_t at = (sample * r.pixels + p) * C;
    const T* x = static_cast<const T*>(r.x) + at;
    const T* dy = static_cast<const T*>(r.gradient) + (IsGradient ? at : 0);
    T* y = static_cast<T*>(r.y) + at;
    const Vec noise = broadcast(r.noise ? r.strength * r.noise[sample * r.noise_stride + p] : 0.0f);
    for (int64_t c = 0; c < C; c += V) {
      const int count = int(smaller<int64_t>(V, C - c));
      auto values = [=](const float* from, float missing) __attribute__((always_inline)) {
        if (from == nullptr) return broadcast(missing);
        return count == V ? load(from + c) : load_some(from + c, count);
      };
      const Factors f{values(scale, 1.0f), values(r.bias, 0.0f) + noise, values(scale_out, 1.0f)};
      Vec g = {};
      if constexpr (IsGradient) g = count == V ? load_as_float(dy + c) : load_some(dy + c, count);
      const Vec result = apply(count == V ? load_as_float(x + c) : load_some(x + c, count), g, f);
      if (count == V) store_from_float(y + c, result);
      else store_some(y + c, result, count);
    }
  }
}

template <class T, int Kind, bool IsGradient>
void pointwise_typed(const PointwiseRequest& r, int64_t row, int64_t begin, int64_t end) {
  if (r.channels_last) pointwise_pixels<T, Kind, IsGradient>(r, row, begin, end);
  else pointwise_planes<T, Kind, IsGradient>(r, row, begin, end);
}

template <int Kind>
void pointwise_kind(const PointwiseRequest& r, int64_t row, int64_t begin, int64_t end) {
  if constexpr (Kind <= ACT_LRELU) {
    if (r.gradient != nullptr) {
      if (r.type == FLOAT32) pointwise_typed<float, Kind, true>(r, row, begin, end);
      else pointwise_typed<uint16_t, Kind, true>(r, row, begin, end);
      return;
    }
  }
  if (r.type == FLOAT32) pointwise_typed<float, Kind, false>(r, row, begin, end);
  else pointwise_typed<uint16_t, Kind, false>(r, row, begin, end);
}

// Positions [begin, end) of row `row`: a plane, or with channels last a sample.
void pointwise(const PointwiseRequest& r, int64_t row, int64_t begin, int64_t end) {
  switch (r.kind) {
    case ACT_LINEAR: return pointwise_kind<ACT_LINEAR>(r, row, begin, end);
    case ACT_RELU: return pointwise_kind<ACT_RELU>(r, row, begin, end);
    case ACT_LRELU: return pointwise_kind<ACT_LRELU>(r, row, begin, end);
    case ACT_TANH: return pointwise_kind<ACT_TANH>(r, row, begin, end);
    case ACT_SIGMOID: return pointwise_kind<ACT_SIGMOID>(r, row, begin, end);
    case ACT_ELU: return pointwise_kind<ACT_ELU>(r, row, begin, end);
    case ACT_SELU: return pointwise_kind<ACT_SELU>(r, row, begin, end);
    case ACT_SOFTPLUS: return pointwise_kind<ACT_SOFTPLUS>(r, row, begin, end);
    case ACT_SWISH: return pointwise_kind<ACT_SWISH>(r, row, begin, end);
  }
}

}  // namespace
