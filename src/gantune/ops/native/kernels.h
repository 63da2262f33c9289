// The table of entry points that each instruction set provides.
#pragma once

#include "plan.h"
#include "winograd_plan.h"

struct Kernels {
  int lanes;
  int64_t (*tile_scratch)(const FilterPlan&);
  void (*filter_tile)(const FilterPlan&, int64_t item, float* scratch);
  int64_t (*plane_scratch)(const FilterPlan&);
  void (*filter_plane)(const FilterPlan&, int64_t item, float* scratch);
  void (*pointwise)(const PointwiseRequest&, int64_t row, int64_t begin, int64_t end);
  WinogradPlan (*plan_winograd)(const WinogradRequest&, int64_t most_tiles, int num_threads);
  void (*winograd_item)(const WinogradPlan&, int64_t item, float* scratch);
  void (*smooth_row)(const SmoothRequest&, int64_t item);
  void (*projection_row)(const ProjectionRequest&, int64_t item);
};

extern const Kernels kernels_generic;
#if defined(__x86_64__) || defined(_M_X64)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
extern const Kernels kernels_avx512_bf16;
#elif defined(__aarch64__)
extern const Kernels kernels_neon;
#endif
