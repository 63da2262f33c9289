// The matrix products in the transformed domain: [rows, C] · [C, 2V], one panel of columns at a time.
#pragma once

#include "vector.h"

namespace {

constexpr int PANEL = 2 * V;
constexpr int MOST_ROWS = 12;

template <int R>
void multiply_rows(const float* a, int64_t stride, const float* b, int64_t depth, float* m) {
  Vec sum[R][2] = {};
  for (int64_t c = 0; c < depth; ++c, b += PANEL) {
    const Vec b0 = load(b), b1 = load(b + V);
    unrolled<R>(GANTUNE_EACH(r) {
      const Vec x = broadcast(a[r * stride + c]);
      sum[r][0] += x * b0;
      sum[r][1] += x * b1;
    });
  }
  unrolled<R>(GANTUNE_EACH(r) {
    store(m + r * PANEL, sum[r][0]);
    store(m + r * PANEL + V, sum[r][1]);
  });
}

#if defined(GANTUNE_AVX512) && defined(__AVX512BF16__)
// Products of pairs: two bfloat16 of a row, broadcast, with two of each column.
template <int R>
void multiply_rows(const uint16_t* a, int64_t stride, const uint16_t* b, int64_t depth, float* m) {
  __m512 sum[R][2];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = _mm512_setzero_ps();
  for (int64_t c = 0; c < depth; c += 2, b += 2 * PANEL) {
    const __m512bh b0 = (__m512bh)_mm512_loadu_si512(b), b1 = (__m512bh)_mm512_loadu_si512(b + 2 * V);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      int32_t pair;
      __builtin_memcpy(&pair, a + r * stride + c, 4);
      const __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
      sum[r][0] = _mm512_dpbf16_ps(sum[r][0], x, b0);
      sum[r][1] = _mm512_dpbf16_ps(sum[r][1], x, b1);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
    _mm512_storeu_ps(m + r * PANEL, sum[r][0]);
    _mm512_storeu_ps(m + r * PANEL + V, sum[r][1]);
  }
}
#else
template <int R>
void multiply_rows(const uint16_t* a, int64_t stride, const uint16_t* b, int64_t depth, float* m) {
  for (int r = 0; r < R; ++r)
    for (int k = 0; k < PANEL; ++k) {
      float sum = 0;
      for (int64_t c = 0; c < depth; ++c)
        sum += scalar_as_float(a + r * stride + c) * scalar_as_float(b + (c / 2 * PANEL + k) * 2 + c % 2);
      m[r * PANEL + k] = sum;
    }
}
#endif

template <class T, int R>
void multiply_up_to(int64_t rows, const T* a, int64_t stride, const T* b, int64_t depth, float* m) {
  if (rows == R) return multiply_rows<R>(a, stride, b, depth, m);
  if constexpr (R > 1) multiply_up_to<T, R - 1>(rows, a, stride, b, depth, m);
}

// Split into as few and as equal groups of rows as the registers allow.
template <class T>
void multiply(int64_t rows, const T* a, int64_t stride, const T* b, int64_t depth, float* m) {
  const int64_t groups = (rows + MOST_ROWS - 1) / MOST_ROWS;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t begin = rows * g / groups, end = rows * (g + 1) / groups;
    multiply_up_to<T, MOST_ROWS>(end - begin, a + begin * stride, stride, b, depth, m + begin * PANEL);
  }
}

}  // namespace
