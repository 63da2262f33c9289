// `upfirdn2d` of images whose rows are contiguous: one plane at a time, SIMD registers along the row.
//
// Each input row is filtered horizontally once, at the width of the output, into a ring of rows that the vertical
// filter reads; a filter that is not separable reads a ring of plain rows. It needs no channels to fill registers.
#pragma once

#include "halved_row.h"
#include "lane_order.h"
#include "row_term.h"
#include "tensor_rows.h"

namespace {


template <int Count, int Blocks>
GANTUNE_INLINE void sum_block(const Term<float>* terms, int num_terms, int64_t m, Vec (&sum)[Blocks]) {
  for (Vec& s : sum) s = Vec{};
  auto add = [&](const Term<float>& term) __attribute__((always_inline)) {
    unrolled<Blocks>(GANTUNE_EACH(b) { sum[b] += load(term.p + m + b * V) * term.tap; });
  };
  if constexpr (Count > 0) unrolled<Count>(GANTUNE_EACH(k) { add(terms[k]); });
  else
    for (int k = 0; k < num_terms; ++k) add(terms[k]);
}

// out[m] = sum of the terms, whose number is a constant where Count is not 0. Scratch rows have room for a whole
// register behind `count`; an image has not.
template <int Count, Write How, class T>
void sum_counted(const Term<float>* terms, int num_terms, T* out, int64_t count) {
  constexpr int B = 4;
  Term<float> mine[Count > 0 ? Count : 1];
  for (int k = 0; k < Count; ++k) mine[k] = terms[k];
  if constexpr (Count > 0) terms = mine;
  int64_t m = 0;
  for (; m + B * V <= count; m += B * V) {
    Vec sum[B];
    sum_block<Count, B>(terms, num_terms, m, sum);
    unrolled<B>(GANTUNE_EACH(b) { write_sum<How>(out, m + b * V, sum[b], count); });
  }
  for (; m < count; m += V) {
    Vec sum[1];
    sum_block<Count, 1>(terms, num_terms, m, sum);
    write_sum<How>(out, m, sum[0], count);
  }
}

template <Write How, class T>
void sum_terms(const Term<float>* terms, int num_terms, T* out, int64_t count) {
  switch (num_terms) {
    case 1: return sum_counted<1, How>(terms, num_terms, out, count);
    case 2: return sum_counted<2, How>(terms, num_terms, out, count);
    case 4: return sum_counted<4, How>(terms, num_terms, out, count);
    case 6: return sum_counted<6, How>(terms, num_terms, out, count);
    case 12: return sum_counted<12, How>(terms, num_terms, out, count);
    default: return sum_counted<0, How>(terms, num_terms, out, count);
  }
}

// Rows `stride` apart, element m of row r to out[m * num_rows + r], and back.
void interleave(const float* in, int64_t stride, int num_rows, int64_t length, float* out) {
  if (num_rows == 2) {
    for (int64_t m = 0; m < length; m += V) zip(load(in + m), load(in + stride + m), out + 2 * m, EveryLane{});
    return;
  }
  for (int64_t m = 0; m < length; ++m)
    for (int r = 0; r < num_rows; ++r) out[m * num_rows + r] = in[r * stride + m];
}
void deinterleave(const float* in, int num_rows, int64_t length, float* out, int64_t stride) {
  if (num_rows == 2) {
    for (int64_t m = 0; m < length; m += V) {
      Vec even, odd;
      unzip(load(in + 2 * m), load(in + 2 * m + V), even, odd, EveryLane{});
      store(out + m, even);
      store(out + stride + m, odd);
    }
    return;
  }
  for (int64_t m = 0; m < length; ++m)
    for (int r = 0; r < num_rows; ++r) out[r * stride + m] = in[m * num_rows + r];
}

// Lane m is the sum over k of taps[k] * load_at(2 m + k).
template <class LoadAt>
GANTUNE_INLINE Vec halve(const LoadAt& load_at, const float* taps, int num_taps) {
  Vec sum = {};
  for (int k = 0; k < num_taps; k += 2) {
    Vec even, odd;
    unzip(load_at(k), load_at(k + V), even, odd, EveryLane{});
    sum += even * taps[k];
    sum += odd * taps[k + 1];
  }
  return sum;
}

// out[m] = sum over k of taps[k] * x[2 m + first + k], zero outside the row, for an even number of taps: straight from
// the row, since what was just stored could not be loaded again at another place without waiting. `out` has room for a
// whole register behind `count`.
void halve_row(const float* x, int64_t width, int64_t first, const float* taps, int num_taps, float* out,
               int64_t count) {
  for (int64_t m = 0; m < count; m += V) {
    const int64_t begin = 2 * m + first;
    if (begin >= 0 && begin + 2 * V + num_taps - 2 <= width) {
      fetch_ahead(x + begin);
      fetch_ahead(x + begin + V);
      store(out + m, halve([=](int k) __attribute__((always_inline)) { return load(x + begin + k); }, taps, num_taps));
    } else {
      store(out + m, halve([=](int k) __attribute__((always_inline)) { return load_within(x, begin + k, width); }, taps,
                           num_taps));
    }
  }
}

// How a row is cut so that every loop runs at unit stride: inputs in `in_phases` rows, outputs in `out_phases`.
struct RowCut {
  int in_phases, out_phases;
  int64_t periods;      // outputs of one phase
  int64_t in_length;    // inputs of one phase
  int64_t in_stride, out_stride;

  explicit RowCut(const Axis& axis) {
    const int period = axis.up / greatest_common_divisor(axis.up, axis.down) * axis.down;
    in_phases = period / axis.up;
    out_phases = period / axis.down;
    periods = (axis.size_out + out_phases - 1) / out_phases;
    const int furthest = (axis.down * (out_phases - 1) + axis.lead) / axis.up + axis.up_taps;
    in_length = periods + (furthest + in_phases - 1) / in_phases;
    in_stride = round_up(in_length) + V;
    out_stride = round_up(periods) + V;
  }
  static int greatest_common_divisor(int a, int b) { return b == 0 ? a : greatest_common_divisor(b, a % b); }
  static int64_t round_up(int64_t n) { return (n + V - 1) / V * V; }
  int64_t row_floats() const { return in_phases * in_stride + V; }
  int64_t result_floats() const { return out_phases * out_stride + V; }
};

// One plane's rows on their way to the output.
class PlaneRows {
 public:
  PlaneRows(const FilterPlan& plan, int64_t sample, int64_t channel, float* scratch)
      : plan_(plan), h_(plan.horizontal), v_(plan.vertical), cut_(plan.horizontal),
        separable_(plan.up_table_2d == nullptr),
        halves_(separable_ && h_.up == 1 && h_.down == 2 && h_.up_taps == 4 &&
                plan.request.x.type == plan.request.y.type),
        num_slots_(v_.up_taps), sample_(sample), channel_(channel) {
    slot_floats_ = separable_ ? cut_.result_floats() : cut_.row_floats();
    padded_ = scratch;
    split_ = padded_ + cut_.row_floats();
    phases_ = split_ + cut_.row_floats();
    result_ = phases_ + cut_.result_floats();
    slots_ = result_ + cut_.result_floats();
    terms_ = reinterpret_cast<Term<float>*>(slots_ + num_slots_ * slot_floats_);
    places_ = reinterpret_cast<int64_t*>(terms_ + h_.up_taps * v_.up_taps);
    for (int s = 0; s < cut_.out_phases; ++s)
      for (int k = 0; k < h_.up_taps; ++k) {
        const int at = (h_.down * s + h_.lead) / h_.up + k;
        places_[s * h_.up_taps + k] = at % cut_.in_phases * cut_.in_stride + at / cut_.in_phases;
      }
  }

  static int64_t scratch_floats(const FilterPlan& plan) {
    const RowCut cut(plan.horizontal);
    const int64_t slot = larger(cut.result_floats(), cut.row_floats());
    return 2 * cut.row_floats() + 2 * cut.result_floats() + plan.vertical.up_taps * slot +
           int64_t(plan.horizontal.up_taps) * plan.vertical.up_taps * int64_t(sizeof(Term<float>) / sizeof(float)) +
           int64_t(plan.horizontal.up_taps) * cut.out_phases * 2 + V;
  }

  void make_output(int64_t o) {
    const int64_t q = v_.down * o + v_.lead;
    const int64_t first = v_.first + q / v_.up;
    const int phase = int(q % v_.up);
    const int64_t begin = larger<int64_t>(first, 0), end = smaller<int64_t>(first + v_.up_taps, v_.size_in);
    if (halves_) {
      if (plan_.request.x.type == FLOAT32) write_halved<float>(o, first, begin, end, phase);
      else write_halved<uint16_t>(o, first, begin, end, phase);
      return;
    }
    for (filled_ = larger(filled_, begin); filled_ < end; ++filled_) fill(filled_);
    if (separable_) {
      int n = 0;
      for (int64_t row = begin; row < end; ++row)
        terms_[n++] = {slot(row), v_.up_table[phase * v_.up_taps + (row - first)]};
      write(o, terms_, n);
      return;
    }
    float* to = cut_.out_phases == 1 ? result_ : phases_;
    for (int s = 0; s < cut_.out_phases; ++s) {
      int n = 0;
      for (int64_t row = begin; row < end; ++row) {
        const int64_t y = int64_t(phase) * h_.up * v_.up_taps + (row - first);
        n = add_terms(s, slot(row), plan_.up_table_2d + y * h_.up_taps, int64_t(v_.up_taps) * h_.up_taps, n);
      }
      sum_terms<Write::scratch>(terms_, n, to + s * cut_.out_stride, cut_.periods);
    }
    if (cut_.out_phases > 1) interleave(phases_, cut_.out_stride, cut_.out_phases, cut_.periods, result_);
    const Term<float> whole{result_, 1.0f};
    write(o, &whole, 1);
  }

 private:
  float* slot(int64_t row) { return slots_ + row % num_slots_ * slot_floats_; }

  // Terms of output phase s from one (cut) input row; `table` holds the taps of phase p at p * table_stride.
  int add_terms(int s, const float* row, const float* table, int64_t table_stride, int n) {
    const float* taps = table + (h_.down * s + h_.lead) % h_.up * table_stride;
    const int64_t* places = places_ + s * h_.up_taps;
    for (int k = 0; k < h_.up_taps; ++k) terms_[n++] = {row + places[k], taps[k]};
    return n;
  }

  void fill(int64_t row) {
    if (separable_ && h_.up == 1 && h_.down == 2 && h_.up_taps % 2 == 0 && plan_.request.x.type == FLOAT32) {
      const float* x = row_pointer<float>(plan_.request.x, {sample_, channel_, 1}, row);
      halve_row(x, h_.size_in, h_.first + h_.lead, h_.up_table, h_.up_taps, slot(row), h_.size_out);
      return;
    }
    float* cut = separable_ ? split_ : slot(row);
    cut_inputs(row, cut);
    if (!separable_) return;
    float* to = cut_.out_phases == 1 ? slot(row) : phases_;
    for (int s = 0; s < cut_.out_phases; ++s) {
      const int n = add_terms(s, cut, h_.up_table, h_.up_taps, 0);
      sum_terms<Write::scratch>(terms_, n, to + s * cut_.out_stride, cut_.periods);
    }
    if (cut_.out_phases > 1) interleave(phases_, cut_.out_stride, cut_.out_phases, cut_.periods, slot(row));
  }

  // An input row with zeros beyond its ends, cut into phases.
  void cut_inputs(int64_t row, float* cut) {
    const int64_t length = cut_.in_length * cut_.in_phases;
    const int64_t before = smaller(larger<int64_t>(-h_.first, 0), length);
    const int64_t begin = smaller(larger<int64_t>(h_.first, 0), h_.size_in);
    const int64_t end = larger(smaller(h_.first + length, h_.size_in), begin);
    float* plain = cut_.in_phases == 1 ? cut : padded_;
    std::memset(plain, 0, sizeof(float) * before);
    copy_inputs(row, begin, end, plain + before);
    std::memset(plain + before + (end - begin), 0, sizeof(float) * (length - before - (end - begin)));
    if (cut_.in_phases > 1) deinterleave(padded_, cut_.in_phases, cut_.in_length, cut, cut_.in_stride);
  }

  void copy_inputs(int64_t row, int64_t begin, int64_t end, float* out) {
    const Image& x = plan_.request.x;
    const Channels c{sample_, channel_, 1};
    if (x.type == FLOAT32) copy_row(row_pointer<float>(x, c, row) + begin, end - begin, out);
    else copy_row(row_pointer<uint16_t>(x, c, row) + begin, end - begin, out);
  }
  template <class T>
  static void copy_row(const T* in, int64_t count, float* out) {
    int64_t w = 0;
    for (; w + V <= count; w += V) store(out + w, load_as_float(in + w));
    for (; w < count; ++w) out[w] = scalar_as_float(in + w);
  }

  // Output row o from input rows [begin, end), of which `first` would meet the first tap of `phase`.
  template <class T>
  void write_halved(int64_t o, int64_t first, int64_t begin, int64_t end, int phase) {
    const Channels c{sample_, channel_, 1};
    Term<T>* terms = reinterpret_cast<Term<T>*>(terms_);
    int n = 0;
    for (int64_t row = begin; row < end; ++row)
      terms[n++] = {row_pointer<T>(plan_.request.x, c, row), v_.up_table[phase * v_.up_taps + (row - first)]};
    const HalvedRow<T> halved{terms, n, h_.up_table, h_.size_in, h_.first + h_.lead};
    T* out = row_pointer<T>(plan_.request.y, c, o);
    if (plan_.streams && is_streamable(out)) halved.template write<Write::streaming>(out, h_.size_out);
    else halved.template write<Write::image>(out, h_.size_out);
  }

  void write(int64_t o, const Term<float>* terms, int n) {
    const Image& y = plan_.request.y;
    const Channels c{sample_, channel_, 1};
    if (y.type == FLOAT32) write_to(row_pointer<float>(y, c, o), terms, n);
    else write_to(row_pointer<uint16_t>(y, c, o), terms, n);
  }
  template <class T>
  void write_to(T* out, const Term<float>* terms, int n) {
    if (plan_.streams && is_streamable(out)) sum_terms<Write::streaming>(terms, n, out, h_.size_out);
    else sum_terms<Write::image>(terms, n, out, h_.size_out);
  }

  const FilterPlan& plan_;
  const Axis &h_, &v_;
  const RowCut cut_;
  const bool separable_, halves_;
  const int64_t num_slots_;
  const int64_t sample_, channel_;
  int64_t slot_floats_, filled_ = 0;
  float *padded_, *split_, *phases_, *result_, *slots_;
  Term<float>* terms_;
  int64_t* places_;
};

// A plane, or a stretch of `tile_height` rows of one.
void filter_plane(const FilterPlan& plan, int64_t item, float* scratch) {
  const int64_t stripe = item % plan.tiles_y, plane = item / plan.tiles_y;
  const int64_t channels = plan.request.x.size[1];
  PlaneRows rows(plan, plane / channels, plane % channels, scratch);
  const int64_t begin = stripe * plan.tile_height;
  const int64_t end = smaller(begin + plan.tile_height, plan.vertical.size_out);
  for (int64_t o = begin; o < end; ++o) rows.make_output(o);
  if (plan.streams) finish_streams();
}

}  // namespace
