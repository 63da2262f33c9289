// What an output row is the sum of, and how it is written.
#pragma once

#include "vector.h"

namespace {

// A summand tap * p[m] of output m.
template <class T>
struct Term {
  const T* p;
  float tap;
};

enum class Write { scratch, image, streaming };

// Write the register of outputs that begins at m; of an image's last one, only what lies before `count`.
template <Write How, class T>
GANTUNE_INLINE void write_sum(T* out, int64_t m, Vec sum, int64_t count) {
  if (How != Write::scratch && m + V > count) store_some(out + m, sum, int(count - m));
  else if constexpr (How == Write::streaming) stream(out + m, sum);
  else store_from_float(out + m, sum);
}

}  // namespace
