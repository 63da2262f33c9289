// Polyphase FIR over arrays of SIMD registers: the two loops from which every filter here is made.
#pragma once

#include "vector.h"

namespace {

// Apply leaky ReLU and clamp; a NaN stays one. The gain is already in the taps.
struct Activate {
  Vec slope, high, low;
  explicit Activate(const Activation& a)
      : slope(broadcast(a.slope)), high(broadcast(a.clamp)), low(broadcast(-a.clamp)) {}
  GANTUNE_INLINE Vec clamp(Vec v) const { return at_least(low, at_most(high, v)); }
  GANTUNE_INLINE Vec operator()(Vec v) const { return clamp(v < 0.0f ? slope * v : v); }
};
// The same for a slope in (0, 1]: one instruction less, and on the adders' ports.
struct ActivateGently : Activate {
  using Activate::Activate;
  GANTUNE_INLINE Vec operator()(Vec v) const { return clamp(at_least(slope * v, v)); }
};
struct Keep {
  explicit Keep(const Activation&) {}
  GANTUNE_INLINE Vec operator()(Vec v) const { return v; }
};

// Where the samples of a horizontal (one row) or vertical (a pointer per row) filter are.
struct AlongRow {
  const float* p;
  GANTUNE_INLINE Vec operator()(int64_t i) const { return load(p + i * V); }
};
struct AlongColumn {
  const float* const* rows;
  int64_t offset;
  GANTUNE_INLINE Vec operator()(int64_t i) const { return load(rows[i] + offset); }
};

// K taps a phase, P phases at once, J input positions at once.
template <int K, int P, int J, class Source, class Finish>
GANTUNE_INLINE void up_tile(const Source& source, int64_t j, const float* taps, int up, float* out, int64_t out_stride,
                            const Finish& finish) {
  Vec sum[J][P] = {};
  unrolled<J + K - 1>(GANTUNE_EACH(i) {
    Vec x = source(j + i);
    unrolled<J>(GANTUNE_EACH(jj) {
      constexpr int k = i - jj;
      if constexpr (k >= 0 && k < K)
        unrolled<P>(GANTUNE_EACH(p) { sum[jj][p] += x * taps[p * K + k]; });
    });
  });
  unrolled<J>(GANTUNE_EACH(jj) {
    unrolled<P>(GANTUNE_EACH(p) { store(out + ((j + jj) * up + p) * out_stride, finish(sum[jj][p])); });
  });
}

// out[(up*j + p) * out_stride] = finish(sum_k taps[p][k] * source(j + k)) for `steps` positions j.
template <int K, int P, class Source, class Finish>
void up_unrolled(Source source, const float* taps, int, int up, float* out, int64_t out_stride, int64_t steps,
                 const Activation& activation) {
  constexpr int J = 8 / P;
  Finish finish(activation);
  for (int p = 0; p < up; p += P) {
    float c[P * K];
    for (int i = 0; i < P * K; ++i) c[i] = taps[p * K + i];
    int64_t j = 0;
    for (; j + J <= steps; j += J) up_tile<K, P, J>(source, j, c, up, out + p * out_stride, out_stride, finish);
    for (; j < steps; ++j) up_tile<K, P, 1>(source, j, c, up, out + p * out_stride, out_stride, finish);
  }
}

template <class Source, class Finish>
void up_any(Source source, const float* taps, int num_taps, int up, float* out, int64_t out_stride, int64_t steps,
            const Activation& activation) {
  constexpr int J = 4;
  Finish finish(activation);
  for (int p = 0; p < up; ++p, taps += num_taps, out += out_stride) {
    int64_t j = 0;
    for (; j + J <= steps; j += J) {
      Vec sum[J] = {};
      for (int k = 0; k < num_taps; ++k)
        unrolled<J>(GANTUNE_EACH(jj) { sum[jj] += source(j + jj + k) * taps[k]; });
      unrolled<J>(GANTUNE_EACH(jj) { store(out + (j + jj) * up * out_stride, finish(sum[jj])); });
    }
    for (; j < steps; ++j) {
      Vec sum = {};
      for (int k = 0; k < num_taps; ++k) sum += source(j + k) * taps[k];
      store(out + j * up * out_stride, finish(sum));
    }
  }
}

// Taps that read the same both ways: add the two samples of a pair first. Half of the work leaves the
// multipliers for the adders, which work beside them.
template <int D, int T, int O>
GANTUNE_INLINE void down_tile_symmetric(const float* in, const float* taps, float* out, int64_t out_stride) {
  Vec sum[O] = {};
  unrolled<T / 2>(GANTUNE_EACH(t) {
    unrolled<O>(GANTUNE_EACH(o) {
      sum[o] += (load(in + (D * o + t) * V) + load(in + (D * o + T - 1 - t) * V)) * taps[t];
    });
  });
  unrolled<O>(GANTUNE_EACH(o) { store(out + o * out_stride, sum[o]); });
}

template <int D, int T>
void down_symmetric(const float* in, const float* taps, int, int, float* out, int64_t out_stride, int64_t count) {
  constexpr int O = 4;
  float c[T / 2];
  for (int t = 0; t < T / 2; ++t) c[t] = taps[t];
  int64_t o = 0;
  for (; o + O <= count; o += O) down_tile_symmetric<D, T, O>(in + o * D * V, c, out + o * out_stride, out_stride);
  for (; o < count; ++o) down_tile_symmetric<D, T, 1>(in + o * D * V, c, out + o * out_stride, out_stride);
}

template <int D, int T, int O>
GANTUNE_INLINE void down_tile(const float* in, const float* taps, float* out, int64_t out_stride) {
  Vec sum[O] = {};
  unrolled<(O - 1) * D + T>(GANTUNE_EACH(i) {
    Vec v = load(in + i * V);
    unrolled<O>(GANTUNE_EACH(o) {
      constexpr int t = i - D * o;
      if constexpr (t >= 0 && t < T) sum[o] += v * taps[t];
    });
  });
  unrolled<O>(GANTUNE_EACH(o) { store(out + o * out_stride, sum[o]); });
}

// out[o * out_stride] = sum_t taps[t] * in[down * o + t] for `count` outputs.
template <int D, int T>
void down_unrolled(const float* in, const float* taps, int, int, float* out, int64_t out_stride, int64_t count) {
  constexpr int O = 4;
  float c[T];
  for (int t = 0; t < T; ++t) c[t] = taps[t];
  int64_t o = 0;
  for (; o + O <= count; o += O) down_tile<D, T, O>(in + o * D * V, c, out + o * out_stride, out_stride);
  for (; o < count; ++o) down_tile<D, T, 1>(in + o * D * V, c, out + o * out_stride, out_stride);
}

void down_any(const float* in, const float* taps, int num_taps, int down, float* out, int64_t out_stride,
              int64_t count) {
  constexpr int O = 4;
  int64_t o = 0;
  for (; o + O <= count; o += O) {
    Vec sum[O] = {};
    for (int t = 0; t < num_taps; ++t)
      unrolled<O>(GANTUNE_EACH(oo) { sum[oo] += load(in + ((o + oo) * down + t) * V) * taps[t]; });
    unrolled<O>(GANTUNE_EACH(oo) { store(out + (o + oo) * out_stride, sum[oo]); });
  }
  for (; o < count; ++o) {
    Vec sum = {};
    for (int t = 0; t < num_taps; ++t) sum += load(in + (o * down + t) * V) * taps[t];
    store(out + o * out_stride, sum);
  }
}

template <class Source>
using UpFunction = void (*)(Source, const float*, int, int, float*, int64_t, int64_t, const Activation&);
using DownFunction = void (*)(const float*, const float*, int, int, float*, int64_t, int64_t);

template <class Source, class Finish, int P>
UpFunction<Source> choose_up_phases(int taps) {
  switch (taps) {
    case 1: return up_unrolled<1, P, Source, Finish>;
    case 2: return up_unrolled<2, P, Source, Finish>;
    case 3: return up_unrolled<3, P, Source, Finish>;
    case 4: return up_unrolled<4, P, Source, Finish>;
    case 6: return up_unrolled<6, P, Source, Finish>;
    default: return up_any<Source, Finish>;
  }
}

template <class Source, class Finish>
UpFunction<Source> choose_up(const Axis& axis) {
  if (axis.up % 2 == 0) return choose_up_phases<Source, Finish, 2>(axis.up_taps);
  if (axis.up == 1 && axis.up_taps == 12) return up_unrolled<12, 1, Source, Finish>;
  return choose_up_phases<Source, Finish, 1>(axis.up_taps);
}

DownFunction choose_down(const Axis& axis) {
  if (axis.is_down_symmetric && axis.down_taps == 12) {
    if (axis.down == 2) return down_symmetric<2, 12>;
    if (axis.down == 1) return down_symmetric<1, 12>;
  }
  switch (axis.down * 100 + axis.down_taps) {
    case 101: return down_unrolled<1, 1>;
    case 104: return down_unrolled<1, 4>;
    case 112: return down_unrolled<1, 12>;
    case 204: return down_unrolled<2, 4>;
    case 206: return down_unrolled<2, 6>;
    case 208: return down_unrolled<2, 8>;
    case 212: return down_unrolled<2, 12>;
    case 412: return down_unrolled<4, 12>;
    case 424: return down_unrolled<4, 24>;
    default: return down_any;
  }
}

}  // namespace
