// Run independent items on several threads.
#pragma once

#include <cstdint>
#include <functional>

// Call work(item, scratch) once for every item in [0, num_items); `scratch` is the calling thread's own aligned
// memory of at least `scratch_floats` floats. Returns when all are done. Which thread takes an item is not fixed.
void run_items(int64_t num_items, int num_threads, int64_t scratch_floats,
               const std::function<void(int64_t, float*)>& work);
