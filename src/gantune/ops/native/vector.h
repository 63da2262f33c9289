// One SIMD register of float for the instruction set this translation unit is compiled for.
//
// Everything here and in the other kernel headers lives in an anonymous namespace, and the standard library's
// templates are not used: the same header is compiled several times with different target flags, and a shared
// inline function would let the linker put AVX-512 code under the generic entry points.
#pragma once

#include <cstdint>
#include <cstring>

#include "plan.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#define GANTUNE_INLINE inline __attribute__((always_inline))

namespace {

#if defined(GANTUNE_AVX512)
constexpr int V = 16;
#elif defined(GANTUNE_AVX2)
constexpr int V = 8;
#else
constexpr int V = 4;
#endif

typedef float Vec __attribute__((vector_size(V * 4)));
typedef int32_t VecInt __attribute__((vector_size(V * 4)));
typedef uint32_t VecWord __attribute__((vector_size(V * 4)));
typedef uint16_t VecHalf __attribute__((vector_size(V * 2)));
typedef uint8_t VecByte __attribute__((vector_size(V)));

template <class T>
GANTUNE_INLINE T smaller(T a, T b) { return a < b ? a : b; }
template <class T>
GANTUNE_INLINE T larger(T a, T b) { return a > b ? a : b; }

// std::integer_sequence and a compile-time loop, without the standard library.
template <int I>
struct Index {
  constexpr operator int() const { return I; }
};
template <int Begin, int End, class F>
GANTUNE_INLINE void unrolled_from(F&& body) {
  if constexpr (End - Begin == 1) {
    body(Index<Begin>{});
  } else if constexpr (End > Begin) {
    constexpr int middle = Begin + (End - Begin) / 2;
    unrolled_from<Begin, middle>(body);
    unrolled_from<middle, End>(body);
  }
}
template <int N, class F>
GANTUNE_INLINE void unrolled(F&& body) { unrolled_from<0, N>(body); }
#define GANTUNE_EACH(name) [&](auto name) __attribute__((always_inline))

GANTUNE_INLINE Vec load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
GANTUNE_INLINE void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
GANTUNE_INLINE Vec broadcast(float x) { return Vec{} + x; }

// Both return the second operand when either is NaN, so a NaN in `v` survives.
GANTUNE_INLINE Vec at_most(Vec bound, Vec v) {
#if defined(GANTUNE_AVX512)
  return (Vec)_mm512_min_ps((__m512)bound, (__m512)v);
#elif defined(GANTUNE_AVX2)
  return (Vec)_mm256_min_ps((__m256)bound, (__m256)v);
#else
  return v > bound ? bound : v;
#endif
}
GANTUNE_INLINE Vec at_least(Vec bound, Vec v) {
#if defined(GANTUNE_AVX512)
  return (Vec)_mm512_max_ps((__m512)bound, (__m512)v);
#elif defined(GANTUNE_AVX2)
  return (Vec)_mm256_max_ps((__m256)bound, (__m256)v);
#else
  return v < bound ? bound : v;
#endif
}

GANTUNE_INLINE Vec from_bfloat16(VecHalf h) { return (Vec)(__builtin_convertvector(h, VecWord) << 16); }

// Round to nearest even; a NaN stays a NaN (its payload must not round up to infinity). The instruction for it takes
// numbers below the smallest normal one for zero.
#if defined(GANTUNE_AVX512) && defined(__AVX512BF16__)
GANTUNE_INLINE VecHalf to_bfloat16(Vec v) { return (VecHalf)_mm512_cvtneps_pbh((__m512)v); }
#else
GANTUNE_INLINE VecHalf to_bfloat16(Vec v) {
  VecWord bits = (VecWord)v;
  VecWord rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  VecWord quiet = (bits >> 16) | 0x40;
  VecInt is_nan = v != v;
  return __builtin_convertvector(is_nan ? quiet : rounded, VecHalf);
}
#endif

GANTUNE_INLINE Vec load_as_float(const float* p) { return load(p); }
GANTUNE_INLINE Vec load_as_float(const uint16_t* p) {
  VecHalf h;
  std::memcpy(&h, p, sizeof h);
  return from_bfloat16(h);
}
GANTUNE_INLINE void store_from_float(float* p, Vec v) { store(p, v); }
GANTUNE_INLINE void store_from_float(uint16_t* p, Vec v) {
  VecHalf h = to_bfloat16(v);
  std::memcpy(p, &h, sizeof h);
}
GANTUNE_INLINE float scalar_as_float(const float* p) { return *p; }
GANTUNE_INLINE float scalar_as_float(const uint16_t* p) {
  uint32_t bits = uint32_t(*p) << 16;
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

// Ask for what lies some pages ahead: the processor's own prefetching ends with the page it reads.
template <int PAGES = 2>
GANTUNE_INLINE void fetch_ahead(const void* p) { __builtin_prefetch(static_cast<const char*>(p) + PAGES * 4096); }

// The first `count` lanes only; the others read as zero.
#if defined(GANTUNE_AVX512)
GANTUNE_INLINE Vec load_some(const float* p, int count) {
  return (Vec)_mm512_maskz_loadu_ps(__mmask16((1u << count) - 1), p);
}
GANTUNE_INLINE Vec load_some(const uint16_t* p, int count) {
  return from_bfloat16((VecHalf)_mm256_maskz_loadu_epi16(__mmask16((1u << count) - 1), p));
}
GANTUNE_INLINE void store_some(float* p, Vec v, int count) {
  _mm512_mask_storeu_ps(p, __mmask16((1u << count) - 1), (__m512)v);
}
GANTUNE_INLINE void store_some(uint16_t* p, Vec v, int count) {
  _mm256_mask_storeu_epi16(p, __mmask16((1u << count) - 1), (__m256i)to_bfloat16(v));
}
#else
template <class T>
GANTUNE_INLINE Vec load_some(const T* p, int count) {
  T lanes[V] = {};
  for (int i = 0; i < V; ++i)
    if (i < count) lanes[i] = p[i];
  return load_as_float(lanes);
}
template <class T>
GANTUNE_INLINE void store_some(T* p, Vec v, int count) {
  T lanes[V];
  store_from_float(lanes, v);
  for (int i = 0; i < V; ++i)
    if (i < count) p[i] = lanes[i];
}
#endif

// Lanes p[i] … of a row of `width` floats; those outside it are zero, and not read.
GANTUNE_INLINE Vec load_within(const float* p, int64_t i, int64_t width) {
  const int begin = int(smaller<int64_t>(larger<int64_t>(-i, 0), V));
  const int end = int(smaller<int64_t>(larger<int64_t>(width - i, 0), V));
#if defined(GANTUNE_AVX512)
  return (Vec)_mm512_maskz_loadu_ps(__mmask16(((1u << end) - 1) & ~((1u << begin) - 1)), p + i);
#elif defined(GANTUNE_AVX2)
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i inside = _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(begin), lane),
                                             _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane));
  return (Vec)_mm256_maskload_ps(p + i, inside);
#else
  float lanes[V] = {};
  for (int lane = begin; lane < end; ++lane) lanes[lane] = p[i + lane];
  return load(lanes);
#endif
}
GANTUNE_INLINE Vec load_within(const uint16_t* p, int64_t i, int64_t width) {
  uint16_t lanes[V] = {};
  for (int lane = 0; lane < V; ++lane)
    if (i + lane >= 0 && i + lane < width) lanes[lane] = p[i + lane];
  return load_as_float(lanes);
}

// Past the caches: for results too large to be read back from them, which then need not be read to be written.
#if defined(GANTUNE_AVX512)
GANTUNE_INLINE void stream(float* p, Vec v) { _mm512_stream_ps(p, (__m512)v); }
GANTUNE_INLINE void stream(uint16_t* p, Vec v) { _mm256_stream_si256((__m256i*)p, (__m256i)to_bfloat16(v)); }
GANTUNE_INLINE void finish_streams() { _mm_sfence(); }
#elif defined(GANTUNE_AVX2)
GANTUNE_INLINE void stream(float* p, Vec v) { _mm256_stream_ps(p, (__m256)v); }
GANTUNE_INLINE void stream(uint16_t* p, Vec v) { _mm_stream_si128((__m128i*)p, (__m128i)to_bfloat16(v)); }
GANTUNE_INLINE void finish_streams() { _mm_sfence(); }
#else
template <class T>
GANTUNE_INLINE void stream(T* p, Vec v) { store_from_float(p, v); }
GANTUNE_INLINE void finish_streams() {}
#endif
template <class T>
GANTUNE_INLINE bool is_streamable(const T* p) { return reinterpret_cast<uintptr_t>(p) % (V * sizeof(T)) == 0; }

// Transpose V registers in log2(V) rounds, each exchanging blocks of 1, 2, 4 … lanes between two registers.
template <int N, int... I>
struct Lanes : Lanes<N - 1, N - 1, I...> {};
template <int... I>
struct Lanes<0, I...> {
  template <int Step>
  static GANTUNE_INLINE void exchange(Vec& a, Vec& b) {
    Vec low = __builtin_shufflevector(a, b, ((I & Step) ? V + I - Step : I)...);
    Vec high = __builtin_shufflevector(a, b, ((I & Step) ? V + I : I + Step)...);
    a = low;
    b = high;
  }
};
template <int Step = 1>
GANTUNE_INLINE void transpose(Vec (&r)[V]) {
  if constexpr (Step < V) {
    unrolled<V>(GANTUNE_EACH(i) {
      if constexpr ((i & Step) == 0) Lanes<V>::template exchange<Step>(r[i], r[i + Step]);
    });
    transpose<Step * 2>(r);
  }
}

}  // namespace
