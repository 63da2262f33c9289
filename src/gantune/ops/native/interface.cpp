// The C interface that Python loads: choose an instruction set, prepare, run.
#include <algorithm>

#include "filter_plan.h"
#include "thread_pool.h"

#define GANTUNE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct InstructionSet {
  const char* name;
  const Kernels* kernels;
  bool runs_here;
};

// Best first.
const InstructionSet* instruction_sets(int* count) {
#if defined(GANTUNE_GENERIC_ALONE)
  // Quick to compile: what a test with sanitizers needs.
  static const InstructionSet sets[] = {{"generic", &kernels_generic, true}};
#elif defined(__x86_64__) || defined(_M_X64)
#ifndef GANTUNE_WITHOUT_AVX512
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  static const InstructionSet sets[] = {
#ifndef GANTUNE_WITHOUT_AVX512
      {"avx512_bf16", &kernels_avx512_bf16, has_avx512 && __builtin_cpu_supports("avx512bf16")},
      {"avx512", &kernels_avx512, has_avx512},
#endif
      {"avx2", &kernels_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
      {"generic", &kernels_generic, true},
  };
#elif defined(__aarch64__)
  static const InstructionSet sets[] = {{"neon", &kernels_neon, true}, {"generic", &kernels_generic, true}};
#else
  static const InstructionSet sets[] = {{"generic", &kernels_generic, true}};
#endif
  *count = int(sizeof sets / sizeof sets[0]);
  return sets;
}

const Kernels* kernels_of(int index) {
  int count;
  const InstructionSet* sets = instruction_sets(&count);
  return index >= 0 && index < count && sets[index].runs_here ? sets[index].kernels : nullptr;
}

}  // namespace

// Changes whenever a structure or a function of this interface does.
GANTUNE_EXPORT int gantune_interface_version() { return 3; }

GANTUNE_EXPORT int gantune_num_instruction_sets() {
  int count;
  instruction_sets(&count);
  return count;
}

GANTUNE_EXPORT const char* gantune_instruction_set_name(int index) {
  int count;
  return instruction_sets(&count)[index].name;
}

GANTUNE_EXPORT int gantune_instruction_set_runs(int index) { return kernels_of(index) != nullptr; }

// Each returns 0, or 1 when the instruction set does not run here.
GANTUNE_EXPORT int gantune_filter(const FilterRequest* request, int instruction_set, int num_threads) {
  const Kernels* kernels = kernels_of(instruction_set);
  if (kernels == nullptr) return 1;
  const PreparedFilter prepared(*request, *kernels, num_threads);
  const FilterPlan& plan = prepared.plan();
  const auto filter = prepared.by_planes() ? kernels->filter_plane : kernels->filter_tile;
  run_items(prepared.num_items(), num_threads, plan.scratch_floats,
            [&](int64_t item, float* scratch) { filter(plan, item, scratch); });
  return 0;
}

// Items are pieces of rows, or several whole short rows.
GANTUNE_EXPORT int gantune_pointwise(const PointwiseRequest* request, int instruction_set, int num_threads) {
  constexpr int64_t ELEMENTS_PER_ITEM = 1 << 14;
  const Kernels* kernels = kernels_of(instruction_set);
  if (kernels == nullptr) return 1;
  PointwiseRequest r = *request;
  r.streams = r.samples * r.channels * r.pixels * (r.type == FLOAT32 ? 4 : 2) >= STREAMED_BYTES;
  const int64_t rows = r.channels_last ? r.samples : r.samples * r.channels;
  const int64_t width = std::max<int64_t>(r.channels_last ? r.channels : 1, 1);
  const int64_t piece = std::max<int64_t>(ELEMENTS_PER_ITEM / width, 1);
  const int64_t pieces = (r.pixels + piece - 1) / piece;
  const int64_t rows_per_item = pieces == 1 ? std::max<int64_t>(piece / std::max<int64_t>(r.pixels, 1), 1) : 1;
  const int64_t row_items = (rows + rows_per_item - 1) / rows_per_item;
  run_items(row_items * pieces, num_threads, 0, [&](int64_t item, float*) {
    const int64_t first = item / pieces * rows_per_item, begin = item % pieces * piece;
    for (int64_t row = first; row < std::min(rows, first + rows_per_item); ++row)
      kernels->pointwise(r, row, begin, std::min(r.pixels, begin + piece));
  });
  return 0;
}

// Floats in a register, on which the packing of weights depends; 0 when the instruction set does not run here.
GANTUNE_EXPORT int gantune_lanes(int instruction_set) {
  const Kernels* kernels = kernels_of(instruction_set);
  return kernels == nullptr ? 0 : kernels->lanes;
}

GANTUNE_EXPORT int gantune_winograd(const WinogradRequest* request, int64_t most_tiles, int instruction_set,
                                    int num_threads) {
  const Kernels* kernels = kernels_of(instruction_set);
  if (kernels == nullptr) return 1;
  const WinogradPlan plan = kernels->plan_winograd(*request, most_tiles, num_threads);
  run_items((plan.num_tiles + plan.block - 1) / plan.block, num_threads, plan.scratch_floats,
            [&](int64_t item, float* scratch) { kernels->winograd_item(plan, item, scratch); });
  return 0;
}

GANTUNE_EXPORT int gantune_smooth(const SmoothRequest* request, int instruction_set, int num_threads) {
  const Kernels* kernels = kernels_of(instruction_set);
  if (kernels == nullptr) return 1;
  run_items(request->N * request->H, num_threads, 0, [&](int64_t item, float*) { kernels->smooth_row(*request, item); });
  return 0;
}

GANTUNE_EXPORT int gantune_project(const ProjectionRequest* request, int instruction_set, int num_threads) {
  const Kernels* kernels = kernels_of(instruction_set);
  if (kernels == nullptr) return 1;
  run_items(request->N * request->H, num_threads, 0,
            [&](int64_t item, float*) { kernels->projection_row(*request, item); });
  return 0;
}

GANTUNE_EXPORT int gantune_structure_size(int which) {
  const size_t sizes[] = {sizeof(FilterRequest), sizeof(PointwiseRequest), sizeof(WinogradRequest),
                          sizeof(SmoothRequest), sizeof(ProjectionRequest)};
  return int(sizes[which]);
}
