// An output row of half the width, by 4 taps: the rows it is made of are summed a register at a time, and the sums
// filtered along the row where they are, so that nothing is stored and loaded again at another place.
#pragma once

#include "lane_order.h"
#include "row_term.h"

namespace {

// y[m] = sum over k of taps[k] * s[2 m + first + k], where s is the sum of the terms, and zero outside their width.
template <class T>
struct HalvedRow {
  const Term<T>* terms;
  int num_terms;
  const float* taps;
  int64_t width, first;

  template <Write How>
  void write(T* out, int64_t count) const {
    if (num_terms == 4) write_counted<4, How>(out, count);
    else write_counted<0, How>(out, count);
  }

 private:
  // Columns [at, at + V) of s.
  template <int Count>
  GANTUNE_INLINE Vec sum_at(const Term<T>* rows, int64_t at) const {
    Vec sum = {};
    if (num_terms > 0 && at >= 0 && at + V <= width) {
      // Two rows are new; where they follow each other, their lines are asked for in the order of memory (measured: a
      // third faster than row by row).
      const T* next = rows[larger(num_terms - 2, 0)].p + 2 * at;
      fetch_ahead<1>(next);
      fetch_ahead<1>(next + V);
      auto add = [&](int k) __attribute__((always_inline)) { sum += load_as_float(rows[k].p + at) * rows[k].tap; };
      if constexpr (Count > 0) unrolled<Count>(GANTUNE_EACH(k) { add(k); });
      else
        for (int k = 0; k < num_terms; ++k) add(k);
    } else if (at + V > 0 && at < width) {
      for (int k = 0; k < num_terms; ++k) sum += load_within(rows[k].p, at, width) * rows[k].tap;
    }
    return sum;
  }

  template <int Count, Write How>
  void write_counted(T* out, int64_t count) const {
    Term<T> mine[Count > 0 ? Count : 1];
    for (int k = 0; k < Count; ++k) mine[k] = terms[k];
    const Term<T>* rows = Count > 0 ? mine : terms;
    const float tap[4] = {taps[0], taps[1], taps[2], taps[3]};
    const int64_t begin = first + 1;  // the second tap meets the even lanes, the third the odd ones
    Vec odd_before = sum_at<Count>(rows, begin - V), even, odd;
    unzip(sum_at<Count>(rows, begin), sum_at<Count>(rows, begin + V), even, odd, EveryLane{});
    for (int64_t m = 0; m < count; m += V) {
      const int64_t ahead = begin + 2 * (m + V);
      Vec even_after, odd_after;
      unzip(sum_at<Count>(rows, ahead), sum_at<Count>(rows, ahead + V), even_after, odd_after, EveryLane{});
      Vec sum = from_last(odd_before, odd, EveryLane{}) * tap[0];
      sum += even * tap[1];
      sum += odd * tap[2];
      sum += from_second(even, even_after, EveryLane{}) * tap[3];
      write_sum<How>(out, m, sum, count);
      odd_before = odd;
      even = even_after;
      odd = odd_after;
    }
  }
};

}  // namespace
