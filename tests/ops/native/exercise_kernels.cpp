// Run every kernel over many shapes, strides, factors and filters against a plain scalar definition, in every
// instruction set of this processor; exit 1 at the first difference. Made to be built with sanitizers, or for another
// processor and an emulator.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "plan.h"
#include "winograd_plan.h"

extern "C" {
int gantune_num_instruction_sets();
const char* gantune_instruction_set_name(int);
int gantune_instruction_set_runs(int);
int gantune_filter(const FilterRequest*, int, int);
int gantune_pointwise(const PointwiseRequest*, int, int);
int gantune_lanes(int);
int gantune_winograd(const WinogradRequest*, int64_t, int, int);
int gantune_smooth(const SmoothRequest*, int, int);
int gantune_project(const ProjectionRequest*, int, int);
}

namespace {

struct Random {
  uint32_t state;
  uint32_t bits() { return state = state * 1664525u + 1013904223u; }
  int between(int low, int high) { return low + int((bits() >> 8) % uint32_t(high - low + 1)); }
  float value() { return float(int(bits() >> 8) - (1 << 23)) / float(1 << 23); }
};

std::vector<float> values(Random& random, size_t count) {
  std::vector<float> out(count);
  for (float& v : out) v = random.value();
  return out;
}

// Numbers by which an image's memory is too short: a sanitizer must then speak.
#ifndef PLANTED_OVERRUN
#define PLANTED_OVERRUN 0
#endif

// Exactly as much memory as the tensor has, so that a sanitizer sees any step beyond it.
Image image_of(std::vector<float>& data, int64_t N, int64_t C, int64_t H, int64_t W, bool channels_last) {
  data.resize(size_t(N * C * H * W) - PLANTED_OVERRUN);
  data.shrink_to_fit();
  if (channels_last) return {data.data(), {N, C, H, W}, {H * W * C, 1, W * C, C}, FLOAT32, 0};
  return {data.data(), {N, C, H, W}, {C * H * W, H * W, W, 1}, FLOAT32, 0};
}

float& at(const Image& image, int64_t n, int64_t c, int64_t h, int64_t w) {
  return static_cast<float*>(
      image.data)[n * image.stride[0] + c * image.stride[1] + h * image.stride[2] + w * image.stride[3]];
}

struct Axes {
  int64_t height, width;
};

// One plane: zero insertion, padding, correlation with `taps` [ty][tx], every `down`-th sample.
std::vector<double> resample(const std::vector<double>& in, Axes size, const std::vector<float>& taps, int ty, int tx,
                             int up, int down, int pad, Axes out) {
  std::vector<double> result(size_t(out.height * out.width));
  for (int64_t y = 0; y < out.height; ++y)
    for (int64_t x = 0; x < out.width; ++x) {
      double sum = 0;
      for (int i = 0; i < ty; ++i)
        for (int j = 0; j < tx; ++j) {
          const int64_t r = y * down + i - pad, q = x * down + j - pad;
          if (r < 0 || q < 0 || r % up || q % up || r / up >= size.height || q / up >= size.width) continue;
          sum += double(taps[i * tx + j]) * in[size_t(r / up * size.width + q / up)];
        }
      result[size_t(y * out.width + x)] = sum;
    }
  return result;
}

struct Taps {
  std::vector<float> given, full;
  int height, width;
  Filter filter() const { return {given.data(), full.size() == given.size() && height > 1 ? height : 0, width}; }
};

Taps random_taps(Random& random, bool separable) {
  const int count = random.between(1, 13);
  Taps taps{values(random, size_t(count)), {}, count, count};
  if (!separable) {
    taps.height = random.between(2, 5);
    taps.given = values(random, size_t(taps.height * count));
    taps.full = taps.given;
    return taps;
  }
  for (float a : taps.given)
    for (float b : taps.given) taps.full.push_back(a * b);
  return taps;
}

double worst = 0;

bool differs(const char* what, int set, double found, double wanted, double size) {
  const double error = std::fabs(found - wanted) / std::max(1.0, size);
  worst = std::max(worst, error);
  if (error <= 1e-4) return false;
  std::printf("%s, %s: found %g, wanted %g\n", what, gantune_instruction_set_name(set), found, wanted);
  return true;
}

bool filter_is_wrong(Random& random, int set) {
  const int64_t N = random.between(1, 2), C = random.between(1, 35);
  const Axes in{random.between(1, 24), random.between(1, 40)};
  const bool separable = random.between(0, 3) != 0, activates = random.between(0, 2) != 0;
  const Taps fu = random_taps(random, separable), fd = random_taps(random, separable || random.between(0, 1));
  const int up = random.between(1, 4), down = random.between(1, 3);
  const int pad = random.between(-1, 4) + std::max(fu.height, fu.width) + fd.width;
  FilterRequest r{};
  const Axes middle{in.height * up + 2 * pad - fu.height + 1, in.width * up + 2 * pad - fu.width + 1};
  const Taps identity{{1.0f}, {1.0f}, 1, 1};
  const Taps& last = activates ? fd : identity;
  const Axes out{(middle.height - last.height) / down + 1, (middle.width - last.width) / down + 1};
  if (middle.height < last.height || middle.width < last.width || out.height < 1 || out.width < 1) return false;
  std::vector<float> x = values(random, size_t(N * C * in.height * in.width)), y, bias = values(random, size_t(C));
  r.x = image_of(x, N, C, in.height, in.width, random.between(0, 1));
  r.y = image_of(y, N, C, out.height, out.width, random.between(0, 1));
  std::fill(y.begin(), y.end(), std::numeric_limits<float>::quiet_NaN());
  r.bias = activates ? bias.data() : nullptr;
  r.up_filter = fu.filter();
  r.down_filter = activates ? fd.filter() : Filter{};
  for (int i = 0; i < 2; ++i) r.up[i] = up, r.down[i] = down, r.padding[i] = pad;
  r.size_middle[0] = int(middle.width);
  r.size_middle[1] = int(middle.height);
  r.flip_filter = 1;
  r.gain = 1.5f;
  r.activation = {0.2f, 0.8f, activates};
  std::vector<uint8_t> mask(size_t(N * ((C + 15) / 16) * middle.height * middle.width * 16));
  if (activates && random.between(0, 1)) r.mask = mask.data(), r.mask_use = MASK_WRITE;
  if (gantune_filter(&r, set, random.between(1, 3)) != 0) return true;
  for (int64_t n = 0; n < N; ++n)
    for (int64_t c = 0; c < C; ++c) {
      std::vector<double> plane;
      for (int64_t h = 0; h < in.height; ++h)
        for (int64_t w = 0; w < in.width; ++w) plane.push_back(at(r.x, n, c, h, w) + (activates ? bias[c] : 0.0f));
      auto u = resample(plane, in, fu.full, fu.height, fu.width, up, 1, pad, middle);
      for (double& v : u) {
        v *= 1.5;
        if (activates) v = std::min(std::max(v < 0 ? 0.2f * v : v, -double(0.8f)), double(0.8f));
      }
      const auto wanted = resample(u, middle, last.full, last.height, last.width, 1, down, 0, out);
      double size = 0;
      for (double v : wanted) size = std::max(size, std::fabs(v));
      for (int64_t h = 0; h < out.height; ++h)
        for (int64_t w = 0; w < out.width; ++w)
          if (differs("filter", set, at(r.y, n, c, h, w), wanted[size_t(h * out.width + w)], size)) return true;
    }
  return false;
}

bool pointwise_is_wrong(Random& random, int set) {
  const int64_t N = random.between(1, 3), C = random.between(1, 40), P = random.between(1, 70);
  std::vector<float> x = values(random, size_t(N * C * P)), y(x.size()), bias = values(random, size_t(C));
  std::vector<float> scale = values(random, size_t(N * C)), noise = values(random, size_t(P));
  PointwiseRequest r{};
  r.x = x.data();
  r.y = y.data();
  r.bias = bias.data();
  r.scale = scale.data();
  r.noise = noise.data();
  r.samples = N, r.channels = C, r.pixels = P;
  r.channels_last = random.between(0, 1);
  r.kind = ACT_LRELU;
  r.alpha = 0.2f, r.gain = 1.4f, r.clamp = 0.9f, r.strength = 0.5f;
  if (gantune_pointwise(&r, set, random.between(1, 3)) != 0) return true;
  for (int64_t i = 0; i < N * C * P; ++i) {
    const int64_t c = r.channels_last ? i % C : i / P % C, p = r.channels_last ? i / C % P : i % P;
    const double v = double(x[i]) * scale[i / (C * P) * C + c] + 0.5 * noise[p] + bias[c];
    const double wanted = std::min(std::max((v < 0 ? 0.2 * v : v) * 1.4, -0.9), 0.9);
    if (differs("pointwise", set, y[i], wanted, 1)) return true;
  }
  return false;
}

float rounded(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
  std::memcpy(&x, &bits, 4);
  return x;
}
uint16_t half_of(float x) {
  x = rounded(x);
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return uint16_t(bits >> 16);
}
float value_of(uint16_t half) {
  const uint32_t bits = uint32_t(half) << 16;
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

struct FormFacts {
  int size, taps, phases;
  bool is_half;
};
constexpr FormFacts FORMS[] = {{6, 3, 1, false}, {4, 3, 1, true}, {6, 2, 4, false},
                               {4, 2, 4, true},  {6, 3, 1, true}, {6, 2, 4, true}};

// The transform of a kernel whose tap 1 is one and whose others are zero.
std::vector<double> middle_tap(const FormFacts& form) {
  std::vector<double> points = form.size == 6 ? std::vector<double>{0, 0.75, -0.75, 1.5, -1.5}
                                              : std::vector<double>{0, 1, -1};
  std::vector<double> row;
  for (double point : points) {
    double scale = 1;
    for (double other : points)
      if (other != point) scale *= point - other;
    row.push_back(point / scale);
  }
  row.push_back(form.taps == 2 ? 1.0 : 0.0);
  return row;
}

int64_t rounded_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// Weights that hand every channel through: packed as winograd_plan.h says, in exactly the memory that takes.
std::vector<float> identity_weights(const FormFacts& form, int64_t C, int64_t lanes) {
  const int64_t depth = rounded_up(C, lanes), panel = 2 * lanes;
  const int64_t phase_k = rounded_up(C, form.phases == 1 ? panel : lanes);
  const int64_t panels = (phase_k * form.phases + panel - 1) / panel, frequencies = form.size * form.size;
  const auto row = middle_tap(form);
  std::vector<float> packed(size_t(panels * frequencies * depth * panel));
  for (int phase = 0; phase < form.phases; ++phase)
    for (int64_t c = 0; c < C; ++c)
      for (int64_t f = 0; f < frequencies; ++f) {
        const int64_t column = phase * phase_k + c, place = (column / panel * frequencies + f) * depth * panel;
        const int64_t k = column % panel;
        const int64_t at = form.is_half ? (c / 2 * panel + k) * 2 + c % 2 : c * panel + k;
        packed[size_t(place + at)] = float(row[size_t(f / form.size)] * row[size_t(f % form.size)]);
      }
  return packed;
}

bool winograd_is_wrong(Random& random, int set) {
  const int which = random.between(0, 5);
  const FormFacts form = FORMS[which];
  const int64_t N = random.between(1, 2), C = random.between(1, 37), H = random.between(1, 17),
                W = random.between(1, 17);
  const int padding = form.phases == 4 ? 1 : random.between(1, 2), step = form.phases == 4 ? 2 : 1;
  const int64_t out_h = step == 2 ? 2 * H + 2 : H + 2 * padding - 2, out_w = step == 2 ? 2 * W + 2 : W + 2 * padding - 2;
  std::vector<float> x = values(random, size_t(N * H * W * C)), styles = values(random, size_t(N * C));
  const std::vector<float> packed = identity_weights(form, C, gantune_lanes(set));
  std::vector<uint16_t> packed_half(form.is_half ? packed.size() : 0);
  for (size_t i = 0; i < packed_half.size(); ++i) packed_half[i] = half_of(packed[i]);
  const bool half_result = form.is_half && form.phases == 4;
  std::vector<float> y(half_result ? 0 : size_t(N * out_h * out_w * C), std::numeric_limits<float>::quiet_NaN());
  std::vector<uint16_t> y_half(half_result ? size_t(N * out_h * out_w * C) : 0, 0x7fc0);
  WinogradRequest r{};
  r.x = x.data();
  r.y = half_result ? static_cast<void*>(y_half.data()) : y.data();
  r.weight = form.is_half ? static_cast<const void*>(packed_half.data()) : packed.data();
  r.scale_in = styles.data();
  r.N = N, r.C = C, r.K = C, r.H = H, r.W = W, r.out_h = out_h, r.out_w = out_w;
  r.form = which, r.padding = padding, r.clamp = std::numeric_limits<float>::infinity();
  if (gantune_winograd(&r, random.between(1, 30), set, random.between(1, 3)) != 0) return true;
  for (int64_t i = 0; i < N * out_h * out_w * C; ++i) {
    const int64_t c = i % C, w = i / C % out_w, h = i / C / out_w % out_h, n = i / C / out_w / out_h;
    const int64_t row = h / step + 1 - padding, column = w / step + 1 - padding;
    const bool inside = row >= 0 && row < H && column >= 0 && column < W;
    const double wanted = inside ? double(x[((n * H + row) * W + column) * C + c]) * styles[n * C + c] : 0.0;
    const double found = half_result ? value_of(y_half[size_t(i)]) : y[size_t(i)];
    // bfloat16 keeps eight bits, and a tile adds up the rounding of its 16 or 36 products.
    if (form.is_half ? !(std::fabs(found - wanted) <= 0.05 * form.size) : differs("winograd", set, found, wanted, 1)) {
      std::printf("winograd, form %d, %s: found %g, wanted %g\n", which, gantune_instruction_set_name(set), found, wanted);
      return true;
    }
  }
  return false;
}

bool rows_are_wrong(Random& random, int set) {
  const int64_t N = random.between(1, 2), K = random.between(1, 37), H = random.between(1, 9), W = random.between(1, 37);
  std::vector<float> x = values(random, size_t(N * (H + 2) * (W + 2) * K)), noise = values(random, size_t(H * W));
  std::vector<float> y(size_t(N * H * W * K), std::numeric_limits<float>::quiet_NaN()), bias = values(random, size_t(K));
  SmoothRequest r{};
  r.x = x.data(), r.y = y.data(), r.noise = noise.data(), r.bias = bias.data();
  r.N = N, r.K = K, r.H = H, r.W = W, r.clamp = std::numeric_limits<float>::infinity();
  r.taps[0] = 0.25f, r.taps[1] = 0.5f, r.taps[2] = 0.125f;
  if (gantune_smooth(&r, set, random.between(1, 3)) != 0) return true;
  for (int64_t i = 0; i < N * H * W * K; ++i) {
    const int64_t k = i % K, w = i / K % W, h = i / K / W % H, n = i / K / W / H;
    double wanted = double(noise[size_t(h * W + w)]) + bias[size_t(k)];
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b)
        wanted += double(r.taps[a]) * r.taps[b] * x[size_t(((n * (H + 2) + h + a) * (W + 2) + w + b) * K + k)];
    if (differs("smooth", set, y[size_t(i)], wanted, 1)) return true;
  }
  const int64_t O = random.between(1, 4);
  std::vector<float> rgb(size_t(N * O * H * W), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> weight = values(random, size_t(N * O * K)), shift = values(random, size_t(O));
  ProjectionRequest p{y.data(), rgb.data(), weight.data(), shift.data(), N, K, O, H, W, r.clamp};
  if (gantune_project(&p, set, random.between(1, 3)) != 0) return true;
  for (int64_t i = 0; i < N * O * H * W; ++i) {
    const int64_t pixel = i % (H * W), o = i / (H * W) % O, n = i / (H * W) / O;
    double wanted = shift[size_t(o)];
    for (int64_t k = 0; k < K; ++k)
      wanted += double(y[size_t((n * H * W + pixel) * K + k)]) * weight[size_t((n * O + o) * K + k)];
    if (differs("projection", set, rgb[size_t(i)], wanted, 1)) return true;
  }
  return false;
}

}  // namespace

// The argument is the number of rounds: an emulator takes its time.
int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 150;
  for (int set = 0; set < gantune_num_instruction_sets(); ++set) {
    if (!gantune_instruction_set_runs(set)) continue;
    Random random{12345};
    for (int i = 0; i < rounds; ++i)
      if (filter_is_wrong(random, set) || pointwise_is_wrong(random, set) || winograd_is_wrong(random, set) ||
          rows_are_wrong(random, set))
        return 1;
    std::printf("%s: largest relative difference %.1e\n", gantune_instruction_set_name(set), worst);
  }
  return 0;
}
