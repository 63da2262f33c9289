// Polyphase tables, tile sizes and block heights of a filter request.
#include "filter_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

constexpr int64_t TILE_BYTES = 448 << 10;  // of scratch: leaves half of a 1 MiB L2 for the tensors that stream by
constexpr int64_t SMALLEST_TILE = 32;

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

// A filter as one or two rows of taps, in the order in which they meet the samples.
struct Taps {
  std::vector<float> x, y;
  std::vector<float> full;  // [y, x] when it is not an outer product
};

// Split a 2-D filter into its outer product where it is one (to float32 accuracy).
bool split(const std::vector<float>& full, int height, int width, Taps& taps) {
  const auto largest = std::max_element(full.begin(), full.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  const float pivot = *largest;
  if (!(std::fabs(pivot) > 0) || !std::isfinite(pivot)) return false;
  const int row = int(largest - full.begin()) / width, column = int(largest - full.begin()) % width;
  taps.x.assign(full.begin() + row * width, full.begin() + (row + 1) * width);
  taps.y.resize(height);
  for (int i = 0; i < height; ++i) taps.y[i] = full[i * width + column] / pivot;
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j)
      if (!(std::fabs(full[i * width + j] - taps.y[i] * taps.x[j]) <= 2e-7f * std::fabs(pivot))) return false;
  return true;
}

Taps read_filter(const Filter& filter, bool flip) {
  Taps taps;
  if (filter.taps == nullptr) {
    taps.x = taps.y = {1.0f};
    return taps;
  }
  const int height = filter.height, width = filter.width;
  std::vector<float> values(filter.taps, filter.taps + std::max(height, 1) * width);
  if (!flip) std::reverse(values.begin(), values.end());
  if (height == 0) taps.x = taps.y = values;
  else if (!split(values, height, width, taps)) {
    taps.full = values;
    taps.x.assign(width, 0.0f);
    taps.y.assign(height, 0.0f);
  }
  return taps;
}

std::vector<float> phases_of(const std::vector<float>& taps, int up, double gain) {
  const int per_phase = int(ceil_div(int64_t(taps.size()), up));
  std::vector<float> table(size_t(up) * per_phase, 0.0f);
  for (int p = 0; p < up; ++p)
    for (int k = 0; k < per_phase; ++k) {
      const size_t t = size_t(up - 1 - p + up * k);
      if (t < taps.size()) table[p * per_phase + k] = float(taps[t] * gain);
    }
  return table;
}

Axis make_axis(int up, int down, int padding, int up_taps, int down_taps, int64_t in, int64_t out) {
  Axis axis{};
  axis.up = up;
  axis.down = down;
  axis.up_taps = int(ceil_div(up_taps, up));
  axis.down_taps = down_taps;
  const int64_t last_phase = up - 1 - padding;
  axis.lead = int(last_phase - floor_div(last_phase, up) * up);
  axis.first = int(-floor_div(padding + axis.lead, up));
  axis.size_in = in;
  axis.size_out = out;
  axis.size_middle = 0;
  return axis;
}

}  // namespace

PreparedFilter::PreparedFilter(const FilterRequest& request, const Kernels& kernels, int num_threads) {
  plan_.request = request;
  const Taps up = read_filter(request.up_filter, request.flip_filter), down = read_filter(request.down_filter, request.flip_filter);
  const Image &x = request.x, &y = request.y;
  plan_.horizontal = make_axis(request.up[0], request.down[0], request.padding[0], int(up.x.size()), int(down.x.size()), x.size[3], y.size[3]);
  plan_.vertical = make_axis(request.up[1], request.down[1], request.padding[1], int(up.y.size()), int(down.y.size()), x.size[2], y.size[2]);
  plan_.horizontal.size_middle = request.size_middle[0];
  plan_.vertical.size_middle = request.size_middle[1];
  // Leaky ReLU commutes with a positive factor only: the sign goes behind it, where the clamp does not see it.
  const float sign = request.gain < 0 ? -1.0f : 1.0f;
  up_x_ = phases_of(up.x, request.up[0], 1.0);
  up_y_ = phases_of(up.y, request.up[1], double(request.gain) * sign);
  down_x_ = down.x;
  down_y_ = down.y;
  for (float& tap : down_y_) tap *= sign;
  plan_.horizontal.up_table = up_x_.data();
  plan_.horizontal.down_table = down_x_.data();
  plan_.vertical.up_table = up_y_.data();
  plan_.vertical.down_table = down_y_.data();
  plan_.groups = ceil_div(x.size[1], kernels.lanes);
  choose_tiles(kernels, num_threads);
}

int64_t PreparedFilter::num_items() const {
  return plan_.request.x.size[0] * plan_.groups * plan_.tiles_x * plan_.tiles_y;
}

void PreparedFilter::choose_tiles(const Kernels& kernels, int num_threads) {
  const Axis& v = plan_.vertical;
  const int64_t width = plan_.horizontal.size_out, height = v.size_out;
  const int64_t whole = std::lcm(v.up, v.down) / v.up;
  plan_.block_steps = ceil_div(std::max<int64_t>(16 / v.up, 1), whole) * whole;
  plan_.tiles_x = plan_.tiles_y = 1;
  plan_.tile_width = width;
  plan_.tile_height = height;
  auto too_large = [&] { return kernels.filter_scratch(plan_) * int64_t(sizeof(float)) > TILE_BYTES; };
  auto too_few = [&] { return num_threads > 1 && num_items() < 4 * num_threads; };
  while ((too_large() || too_few()) && plan_.tile_width > SMALLEST_TILE) {
    plan_.tile_width = ceil_div(width, ++plan_.tiles_x);
    plan_.tiles_x = ceil_div(width, plan_.tile_width);
  }
  while (too_few() && plan_.tile_height > SMALLEST_TILE) {
    plan_.tile_height = ceil_div(height, ++plan_.tiles_y);
    plan_.tiles_y = ceil_div(height, plan_.tile_height);
  }
  plan_.scratch_floats = kernels.filter_scratch(plan_);
}
