// The table of entry points that each instruction set provides.
#pragma once

#include "plan.h"

struct Kernels {
  int lanes;
  int64_t (*filter_scratch)(const FilterPlan&);
  void (*filter_tile)(const FilterPlan&, int64_t item, float* scratch);
};

extern const Kernels kernels_generic;
#if defined(__x86_64__) || defined(_M_X64)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#elif defined(__aarch64__)
extern const Kernels kernels_neon;
#endif
