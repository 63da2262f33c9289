// The C interface that Python loads.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define GANTUNE_AVX512 1
#elif defined(__AVX2__) && defined(__FMA__)
#define GANTUNE_AVX2 1
#endif
#include "projection_row.h"
#include "thread_pool.h"
#include "winograd_tile.h"

#define GANTUNE_EXPORT extern "C" __attribute__((visibility("default")))

GANTUNE_EXPORT int gantune_lanes() { return V; }

GANTUNE_EXPORT void gantune_winograd(const WinogradRequest* request, int64_t most_tiles, int num_threads) {
  const WinogradPlan plan = plan_winograd(*request, most_tiles, num_threads);
  run_items((plan.num_tiles + plan.block - 1) / plan.block, num_threads, plan.scratch_floats,
            [&](int64_t item, float* scratch) { winograd_item(plan, item, scratch); });
}

GANTUNE_EXPORT void gantune_smooth(const SmoothRequest* request, int num_threads) {
  run_items(request->N * request->H, num_threads, 1, [&](int64_t item, float*) { smooth_row(*request, item); });
}

GANTUNE_EXPORT void gantune_project(const ProjectionRequest* request, int num_threads) {
  run_items(request->N * request->H, num_threads, 1, [&](int64_t item, float*) { projection_row(*request, item); });
}
