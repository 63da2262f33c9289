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

 private:
  void choose_tiles(const Kernels& kernels, int num_threads);
  FilterPlan plan_{};
  std::vector<float> up_x_, up_y_, down_x_, down_y_, up_2d_, down_2d_;
};
