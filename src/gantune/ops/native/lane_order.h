// Change the order of lanes between two registers.
#pragma once

#include "vector.h"

namespace {

template <int N, int... I>
struct AllLanes : AllLanes<N - 1, N - 1, I...> {};
template <int... I>
struct AllLanes<0, I...> {
  using Type = Lanes<0, I...>;
};
using EveryLane = AllLanes<V>::Type;

// a0 b0 a1 b1 …, and back.
template <int... I>
GANTUNE_INLINE void zip(Vec a, Vec b, float* out, Lanes<0, I...>) {
  store(out, __builtin_shufflevector(a, b, ((I & 1) * V + I / 2)...));
  store(out + V, __builtin_shufflevector(a, b, ((I & 1) * V + V / 2 + I / 2)...));
}
template <int... I>
GANTUNE_INLINE void unzip(Vec a, Vec b, Vec& even, Vec& odd, Lanes<0, I...>) {
  even = __builtin_shufflevector(a, b, (2 * I)...);
  odd = __builtin_shufflevector(a, b, (2 * I + 1)...);
}

// The signal of `a` and then `b`, read from the last lane of `a`, and from its second.
template <int... I>
GANTUNE_INLINE Vec from_last(Vec a, Vec b, Lanes<0, I...>) { return __builtin_shufflevector(a, b, (V - 1 + I)...); }
template <int... I>
GANTUNE_INLINE Vec from_second(Vec a, Vec b, Lanes<0, I...>) { return __builtin_shufflevector(a, b, (1 + I)...); }

}  // namespace
