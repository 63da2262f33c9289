// Turn a request into tables and tiles.
#pragma once

#include <vector>

#include "kernels.h"

// Owns what a FilterPlan points to.
class PreparedFilter {
 public:
  PreparedFilter(const FilterRequest& request, const Kernels& kernels, int num_threads);
  PreparedFilter(const PreparedFilter&) = delete;
  const FilterPlan& plan() const { return plan_; }
  int64_t num_items() const;
  bool by_planes() const { return by_planes_; }

 private:
  void choose_tiles(const Kernels& kernels, int num_threads);
  void choose_stripes(const Kernels& kernels, int num_threads);
  bool by_planes_ = false;
  FilterPlan plan_{};
  std::vector<float> up_x_, up_y_, down_x_, down_y_, up_2d_, down_2d_;
};
