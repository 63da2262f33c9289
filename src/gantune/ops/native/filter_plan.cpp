// Polyphase tables, tile sizes and block heights of a filter request.
#include "filter_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

constexpr int64_t TILE_BYTES = 512 << 10;  // of scratch: leaves half of a 1 MiB L2 for the tensors that stream by
constexpr int64_t SMALLEST_TILE = 32;
constexpr int64_t BLOCK_ROWS = 32;  // upsampled rows a pass; taller blocks copy less between passes but need more L2
constexpr int64_t BLOCK_ROWS_2D = 16;
constexpr int64_t CACHE_LINE = 64;

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

// A filter's taps in the order in which they meet the samples: one row for each axis, or [y, x].
struct Taps {
  std::vector<float> x, y, full;

  // [y, x], whether separable or not.
  std::vector<float> in_two_dimensions() const {
    if (!full.empty()) return full;
    std::vector<float> product;
    for (float a : y)
      for (float b : x) product.push_back(a * b);
    return product;
  }
};

float largest_magnitude(const std::vector<float>& taps) {
  float largest = 0;
  for (float tap : taps) largest = std::max(largest, std::fabs(tap));
  return largest;
}

// Split a 2-D filter into an outer product where it is one, to float32 accuracy.
bool split(const std::vector<float>& full, int height, int width, Taps& taps) {
  const float pivot = largest_magnitude(full);
  if (!(pivot > 0) || !std::isfinite(pivot)) return false;
  const auto place = std::find_if(full.begin(), full.end(), [=](float tap) { return std::fabs(tap) == pivot; });
  const int row = int(place - full.begin()) / width, column = int(place - full.begin()) % width;
  taps.x.assign(full.begin() + row * width, full.begin() + (row + 1) * width);
  taps.y.resize(height);
  for (int i = 0; i < height; ++i) taps.y[i] = full[i * width + column] / *place;
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j)
      if (!(std::fabs(full[i * width + j] - taps.y[i] * taps.x[j]) <= 1.2e-7f * pivot)) return false;
  return true;
}

Taps read_filter(const Filter& filter, bool flip) {
  if (filter.taps == nullptr) return {{1.0f}, {1.0f}, {}};
  const int height = filter.height, width = filter.width;
  std::vector<float> values(filter.taps, filter.taps + std::max(height, 1) * width);
  if (!flip) std::reverse(values.begin(), values.end());
  if (height == 0) return {values, values, {}};
  Taps taps;
  if (!split(values, height, width, taps))
    taps = {std::vector<float>(width, 0.0f), std::vector<float>(height, 0.0f), values};
  return taps;
}

// Entry [p][k] of an axis's up table is tap up - 1 - p + up * k.
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

std::vector<float> phases_of_2d(const Taps& taps, const Axis& v, const Axis& h, double gain) {
  const std::vector<float> full = taps.in_two_dimensions();
  const int width = int(taps.x.size()), height = int(taps.y.size());
  std::vector<float> table;
  for (int p = 0; p < v.up; ++p)
    for (int q = 0; q < h.up; ++q)
      for (int k = 0; k < v.up_taps; ++k)
        for (int l = 0; l < h.up_taps; ++l) {
          const int i = v.up - 1 - p + v.up * k, j = h.up - 1 - q + h.up * l;
          table.push_back(i < height && j < width ? float(full[i * width + j] * gain) : 0.0f);
        }
  return table;
}

bool is_symmetric(const std::vector<float>& taps) {
  const float largest = largest_magnitude(taps);
  for (size_t t = 0; t < taps.size() / 2; ++t)
    if (!(std::fabs(taps[t] - taps[taps.size() - 1 - t]) <= 1.2e-7f * largest)) return false;
  return true;
}

Axis make_axis(const FilterRequest& request, int which, size_t up_taps, size_t down_taps) {
  const int image_axis = which == 0 ? 3 : 2, padding = request.padding[which];
  Axis axis{};
  axis.up = request.up[which];
  axis.down = request.down[which];
  axis.up_taps = int(ceil_div(int64_t(up_taps), axis.up));
  axis.down_taps = int(down_taps);
  // The lead makes (padding + lead) end a period, so that all phases see the same window of the input.
  const int last_phase = axis.up - 1 - padding;
  axis.lead = int(last_phase - floor_div(last_phase, axis.up) * axis.up);
  axis.first = int(-floor_div(padding + axis.lead, axis.up));
  axis.size_in = request.x.size[image_axis];
  axis.size_middle = request.size_middle[which];
  axis.size_out = request.y.size[image_axis];
  return axis;
}

int64_t channels_of_a_line(const Image& image) {
  if (image.stride[1] != 1) return 1;
  return CACHE_LINE / (image.type == FLOAT32 ? 4 : 2);
}

bool has_contiguous_rows(const Image& image) { return image.stride[3] == 1 || image.size[3] == 1; }

// Without an activation the two filters are one: planes take it as the up-filter. Tiles of channels need not
// compute what a pure down-filter would drop.
void arrange_linear(FilterRequest& request, bool by_planes) {
  if (!by_planes && request.up[0] == 1 && request.up[1] == 1) {
    request.down_filter = request.up_filter;
    request.up_filter.taps = nullptr;
  }
}

}  // namespace

PreparedFilter::PreparedFilter(const FilterRequest& given, const Kernels& kernels, int num_threads) {
  plan_.request = given;
  FilterRequest& request = plan_.request;
  if (!request.activation.enabled && request.mask_use == MASK_NONE && request.down_filter.taps == nullptr) {
    const bool is_plain = !request.bias && !request.scale_in && !request.scale_out;
    by_planes_ = is_plain && has_contiguous_rows(request.x) && has_contiguous_rows(request.y);
    arrange_linear(request, by_planes_);
  }
  const Taps up = read_filter(request.up_filter, request.flip_filter);
  const Taps down = read_filter(request.down_filter, request.flip_filter);
  Axis h = make_axis(request, 0, up.x.size(), down.x.size());
  Axis v = make_axis(request, 1, up.y.size(), down.y.size());
  // Leaky ReLU commutes with a positive factor only: a negative gain's sign goes behind it, and the clamp with it.
  const float sign = request.activation.enabled && request.gain < 0 ? -1.0f : 1.0f;
  const double gain = double(request.gain) * sign;
  if (up.full.empty() && down.full.empty()) {
    up_x_ = phases_of(up.x, h.up, 1.0);
    up_y_ = phases_of(up.y, v.up, gain);
    down_x_ = down.x;
    down_y_ = down.y;
    for (float& tap : down_y_) tap *= sign;
    h.is_down_symmetric = is_symmetric(down_x_);
    v.is_down_symmetric = is_symmetric(down_y_);
  } else {
    up_2d_ = phases_of_2d(up, v, h, gain);
    down_2d_ = down.in_two_dimensions();
    for (float& tap : down_2d_) tap *= sign;
    plan_.up_table_2d = up_2d_.data();
    plan_.down_table_2d = down_2d_.data();
  }
  h.up_table = up_x_.data();
  h.down_table = down_x_.data();
  v.up_table = up_y_.data();
  v.down_table = down_y_.data();
  plan_.horizontal = h;
  plan_.vertical = v;
  if (by_planes_) choose_stripes(kernels, num_threads);
  else choose_tiles(kernels, num_threads);
}

void PreparedFilter::choose_stripes(const Kernels& kernels, int num_threads) {
  const int64_t planes = plan_.request.x.size[0] * plan_.request.x.size[1], height = plan_.vertical.size_out;
  plan_.packs = plan_.request.x.size[1];
  plan_.pack_groups = plan_.tiles_x = 1;
  plan_.tile_width = plan_.horizontal.size_out;
  const int64_t wanted = num_threads > 1 ? ceil_div(4 * num_threads, planes) : 1;
  plan_.tile_height = std::max(ceil_div(height, wanted), std::min(height, SMALLEST_TILE));
  plan_.tiles_y = ceil_div(height, plan_.tile_height);
  plan_.scratch_floats = kernels.plane_scratch(plan_);
  const int64_t element_bytes = plan_.request.y.type == FLOAT32 ? 4 : 2;
  plan_.streams = planes * height * plan_.tile_width * element_bytes >= STREAMED_BYTES;
}

int64_t PreparedFilter::num_items() const {
  return plan_.request.x.size[0] * plan_.packs * plan_.tiles_x * plan_.tiles_y;
}

void PreparedFilter::choose_tiles(const Kernels& kernels, int num_threads) {
  const Axis& v = plan_.vertical;
  const int64_t width = plan_.horizontal.size_out, height = v.size_out;
  const int64_t groups = ceil_div(plan_.request.x.size[1], kernels.lanes);
  const int64_t line = std::max(channels_of_a_line(plan_.request.x), channels_of_a_line(plan_.request.y));
  plan_.pack_groups = std::min(std::max<int64_t>(line / kernels.lanes, 1), groups);
  plan_.packs = ceil_div(groups, plan_.pack_groups);
  const int64_t period = std::lcm(v.up, v.down) / v.up;
  const int64_t rows = plan_.down_table_2d == nullptr ? BLOCK_ROWS : BLOCK_ROWS_2D;
  plan_.block_steps = ceil_div(std::max<int64_t>(rows / v.up, 1), period) * period;
  plan_.tiles_x = plan_.tiles_y = 1;
  plan_.tile_width = width;
  plan_.tile_height = height;
  auto too_large = [&] { return kernels.tile_scratch(plan_) * int64_t(sizeof(float)) > TILE_BYTES; };
  auto too_few = [&] { return num_threads > 1 && num_items() < 4 * num_threads; };
  while ((too_large() || too_few()) && plan_.tile_width > SMALLEST_TILE)
    plan_.tile_width = std::min(plan_.tile_width - 1, ceil_div(width, ++plan_.tiles_x));
  plan_.tiles_x = ceil_div(width, plan_.tile_width);
  while (too_few() && plan_.tile_height > SMALLEST_TILE)
    plan_.tile_height = std::min(plan_.tile_height - 1, ceil_div(height, ++plan_.tiles_y));
  plan_.tiles_y = ceil_div(height, plan_.tile_height);
  plan_.scratch_floats = kernels.tile_scratch(plan_);
}
