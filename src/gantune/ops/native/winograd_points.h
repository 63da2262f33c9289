// The Winograd transforms along one axis (Lavin and Gray, arXiv 1509.09308), for symmetric points.
//
// With the points 0, ±a, ±b and infinity, a = 3/4 and b = 3/2, float32 rounds hardly more than in a direct
// convolution (1.6 times); with the usual 0, ±1, ±2 it is 4.5 times (Barabasz et al., arXiv 1803.10986).
#pragma once

#include "vector.h"

namespace {

struct SixPoints {
  static constexpr int SIZE = 6;
  static constexpr float a = 0.75f, b = 1.5f, a2 = a * a, b2 = b * b;

  static GANTUNE_INLINE void input(const Vec* d, int s, Vec* r) {
    const Vec even_a = d[4 * s] - b2 * d[2 * s], odd_a = a * (d[3 * s] - b2 * d[s]);
    const Vec even_b = d[4 * s] - a2 * d[2 * s], odd_b = b * (d[3 * s] - a2 * d[s]);
    r[0] = (a2 * b2) * d[0] - (a2 + b2) * d[2 * s] + d[4 * s];
    r[1] = even_a + odd_a;
    r[2] = even_a - odd_a;
    r[3] = even_b + odd_b;
    r[4] = even_b - odd_b;
    r[5] = (a2 * b2) * d[s] - (a2 + b2) * d[3 * s] + d[5 * s];
  }
  template <int TILE>
  static GANTUNE_INLINE void output(const Vec* m, Vec* r) {
    const Vec even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
    r[0] = m[0] + even_a + even_b;
    r[1] = a * odd_a + b * odd_b;
    r[2] = a2 * even_a + b2 * even_b;
    r[3] = (a2 * a) * odd_a + (b2 * b) * odd_b;
    if constexpr (TILE > 4) r[4] = (a2 * a2) * even_a + (b2 * b2) * even_b;
    r[TILE - 1] += m[5];
  }
};

// The points 0, ±1 and infinity: bfloat16 bears no others.
struct FourPoints {
  static constexpr int SIZE = 4;

  static GANTUNE_INLINE void input(const Vec* d, int s, Vec* r) {
    r[0] = d[2 * s] - d[0];
    r[1] = d[2 * s] + d[s];
    r[2] = d[2 * s] - d[s];
    r[3] = d[3 * s] - d[s];
  }
  template <int TILE>
  static GANTUNE_INLINE void output(const Vec* m, Vec* r) {
    r[0] = m[0] + m[1] + m[2];
    r[1] = m[1] - m[2];
    if constexpr (TILE > 2) r[2] = m[1] + m[2];
    r[TILE - 1] += m[3];
  }
};

// No points: tiles of one result, whose products with each of TAPS taps are added up. A direct convolution.
template <int TAPS>
struct NoPoints {
  static constexpr int SIZE = TAPS;

  static GANTUNE_INLINE void input(const Vec* d, int s, Vec* r) {
    unrolled<TAPS>(GANTUNE_EACH(i) { r[i] = d[i * s]; });
  }
  template <int TILE>
  static GANTUNE_INLINE void output(const Vec* m, Vec* r) {
    static_assert(TILE == 1);
    r[0] = m[0];
    for (int i = 1; i < TAPS; ++i) r[0] += m[i];
  }
};

}  // namespace
