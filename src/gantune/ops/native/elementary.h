// Vectorized exponential and logarithm, to about one unit in the last place, and the activations made of them.
#pragma once

#include "vector.h"

namespace {

GANTUNE_INLINE Vec choose(VecInt which, Vec yes, Vec no) { return which ? yes : no; }

// Reduce to |r| <= ln(2)/2 and scale a polynomial by a power of two (Cody and Waite).
GANTUNE_INLINE Vec exponential(Vec x) {
  x = at_least(broadcast(-87.3f), at_most(broadcast(88.8f), x));
  const Vec shift = broadcast(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
  const Vec n = (x * 1.44269504f + shift) - shift;
  const Vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vec p = broadcast(1.0f / 5040);
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // In two steps: 2^128 has no float, and e^88.7 is still finite.
  const VecInt whole = __builtin_convertvector(n != n ? Vec{} : n, VecInt), half = whole >> 1;
  return p * (Vec)((half + 127) << 23) * (Vec)((whole - half + 127) << 23);
}

// e^x - 1 without cancellation near zero.
GANTUNE_INLINE Vec exponential_minus_one(Vec x) {
  Vec p = broadcast(1.0f / 40320);
  p = p * x + 1.0f / 5040;
  p = p * x + 1.0f / 720;
  p = p * x + 1.0f / 120;
  p = p * x + 1.0f / 24;
  p = p * x + 1.0f / 6;
  p = p * x + 0.5f;
  const VecInt small = (x < 0.4f) & (x > -0.4f);
  return choose(small, p * x * x + x, exponential(x) - 1.0f);
}

// log(1 + e) for e in [0, 1]: log(1 + e) = 2 atanh(e / (2 + e)).
GANTUNE_INLINE Vec logarithm_of_one_plus(Vec e) {
  const Vec s = e / (e + 2.0f), q = s * s;  // s <= 1/3
  Vec p = broadcast(1.0f / 17);
  p = p * q + 1.0f / 15;
  p = p * q + 1.0f / 13;
  p = p * q + 1.0f / 11;
  p = p * q + 1.0f / 9;
  p = p * q + 1.0f / 7;
  p = p * q + 1.0f / 5;
  p = p * q + 1.0f / 3;
  return 2.0f * s * (p * q + 1.0f);
}

GANTUNE_INLINE Vec sigmoid(Vec x) { return 1.0f / (exponential(-x) + 1.0f); }

GANTUNE_INLINE Vec hyperbolic_tangent(Vec x) {
  const Vec magnitude = x < 0.0f ? -x : x;
  const Vec e = exponential_minus_one(-2.0f * magnitude);
  const Vec t = -e / (e + 2.0f);
  return x < 0.0f ? -t : t;
}

// max(x, 0) + log(1 + e^-|x|)
GANTUNE_INLINE Vec softplus(Vec x) {
  const Vec magnitude = x < 0.0f ? -x : x;
  return at_least(Vec{}, x) + logarithm_of_one_plus(exponential(-magnitude));
}

constexpr float SELU_ALPHA = 1.6732632423543772848170429916717f;
constexpr float SELU_SCALE = 1.0507009873554804934193349852946f;

template <int Kind>
GANTUNE_INLINE Vec activation(Vec x, Vec alpha) {
  if constexpr (Kind == ACT_LINEAR) return x;
  if constexpr (Kind == ACT_RELU) return at_least(Vec{}, x);
  if constexpr (Kind == ACT_LRELU) return x < 0.0f ? x * alpha : x;
  if constexpr (Kind == ACT_TANH) return hyperbolic_tangent(x);
  if constexpr (Kind == ACT_SIGMOID) return sigmoid(x);
  if constexpr (Kind == ACT_ELU) return x < 0.0f ? exponential_minus_one(x) : x;
  if constexpr (Kind == ACT_SELU) return (x < 0.0f ? SELU_ALPHA * exponential_minus_one(x) : x) * SELU_SCALE;
  if constexpr (Kind == ACT_SOFTPLUS) return softplus(x);
  if constexpr (Kind == ACT_SWISH) return x * sigmoid(x);
}

}  // namespace
