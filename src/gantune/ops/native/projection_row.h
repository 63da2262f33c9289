// One row of a projection: sums over channels stay in registers, V pixels are turned around and added up at once.
#pragma once

#include "vector.h"
#include "winograd_plan.h"

namespace {

void projection_row(const ProjectionRequest& q, int64_t item) {
  const int64_t n = item / q.H, row = item % q.H;
  const float* x = q.x + (n * q.H + row) * q.W * q.C;
  const Vec high = broadcast(q.clamp), low = broadcast(-q.clamp);
  for (int64_t column = 0; column < q.W; column += V) {
    const int pixels = int(smaller<int64_t>(V, q.W - column));
    for (int64_t o = 0; o < q.O; ++o) {
      const float* weight = q.weight + (n * q.O + o) * q.C;
      Vec sums[V] = {};
      for (int p = 0; p < pixels; ++p) {
        const float* pixel = x + (column + p) * q.C;
        int64_t c = 0;
        for (; c + V <= q.C; c += V) sums[p] += load(pixel + c) * load(weight + c);
        if (c < q.C) sums[p] += load_some(pixel + c, int(q.C - c)) * load_some(weight + c, int(q.C - c));
      }
      transpose(sums);
      Vec total = broadcast(q.bias[o]);
      for (int p = 0; p < V; ++p) total += sums[p];
      total = at_least(low, at_most(high, total));
      const int64_t position = (n * q.O + o) * q.plane + row * q.W + column;
      if (q.image) total += load_some(q.image + position, pixels);
      store_some(q.y + position, total, pixels);
    }
  }
}

}  // namespace
