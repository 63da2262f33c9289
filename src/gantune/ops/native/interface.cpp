// The C interface that Python loads: choose an instruction set, prepare, run.
#include <cstring>

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
#if defined(__x86_64__) || defined(_M_X64)
  static const InstructionSet sets[] = {
      {"avx512", &kernels_avx512,
       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl")},
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
GANTUNE_EXPORT int gantune_interface_version() { return 1; }

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
  run_items(prepared.num_items(), num_threads, plan.scratch_floats,
            [&](int64_t item, float* scratch) { kernels->filter_tile(plan, item, scratch); });
  return 0;
}
