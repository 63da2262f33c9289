// Threads that share OpenMP's team when the process has one, and a small pool of our own otherwise.
//
// torch runs its convolutions on libgomp's team, whose idle threads spin for a while before they sleep. A second pool
// on the same cores would have to wait for them at every change between a convolution and a kernel, so where
// `GOMP_parallel` is already in the process (torch loads it globally) the items go to that team.
#include "thread_pool.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#ifdef _WIN32
#include <malloc.h>
#else
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace {

constexpr size_t HUGE_PAGE = size_t(2) << 20;

class Scratch {
 public:
  ~Scratch() { release(); }
  float* at_least(int64_t floats) {
    if (floats > capacity_) {
      release();
      data_ = allocate(floats);
      capacity_ = data_ == nullptr ? 0 : floats;
    }
    return data_;
  }

 private:
  static float* allocate(int64_t floats) {
    const size_t bytes = (size_t(floats) * sizeof(float) + 4095) / 4096 * 4096;
#ifdef _WIN32
    return static_cast<float*>(_aligned_malloc(bytes, 4096));
#else
    float* memory = static_cast<float*>(std::aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE));
#ifdef MADV_HUGEPAGE
    if (memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
#endif
  }
  void release() {
#ifdef _WIN32
    _aligned_free(data_);
#else
    std::free(data_);
#endif
  }
  float* data_ = nullptr;
  int64_t capacity_ = 0;
};

thread_local Scratch thread_scratch;

struct Job {
  int64_t num_items;
  int64_t scratch_floats;
  const std::function<void(int64_t, float*)>& work;
  std::atomic<int64_t> next{0};

  void take_items() {
    float* scratch = thread_scratch.at_least(scratch_floats);
    for (int64_t item; (item = next.fetch_add(1)) < num_items;) work(item, scratch);
  }
};

class Pool {
 public:
  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(Job& job, int num_threads) {
    std::lock_guard<std::mutex> only_one(callers_);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      while (int(threads_.size()) < num_threads - 1) threads_.emplace_back([this] { serve(); });
      job_ = &job;
      seats_ = num_threads - 1;
      ++generation_;
    }
    wake_.notify_all();
    job.take_items();
    std::unique_lock<std::mutex> lock(mutex_);
    seats_ = 0;
    done_.wait(lock, [this] { return running_ == 0; });
    job_ = nullptr;
  }

 private:
  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (int64_t seen = 0;;) {
      wake_.wait(lock, [&] { return stopping_ || (generation_ != seen && seats_ > 0); });
      if (stopping_) return;
      seen = generation_;
      --seats_;
      ++running_;
      Job* job = job_;
      lock.unlock();
      job->take_items();
      lock.lock();
      if (--running_ == 0) done_.notify_all();
    }
  }

  std::mutex callers_, mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  Job* job_ = nullptr;
  int seats_ = 0, running_ = 0;
  int64_t generation_ = 0;
  bool stopping_ = false;
};

// A forked child has none of the parent's threads: it gets a pool of its own, and the parent's is left alone.
Pool& pool() {
  static std::mutex mutex;
  static Pool* pool = nullptr;
#ifdef _WIN32
  static const int owner = 0, self = 0;
  std::lock_guard<std::mutex> lock(mutex);
  if (pool == nullptr) pool = new Pool;
#else
  static pid_t owner = 0;
  const pid_t self = getpid();
  std::lock_guard<std::mutex> lock(mutex);
  if (pool == nullptr || owner != self) pool = new Pool;
  owner = self;
#endif
  return *pool;
}

using ParallelFunction = void (*)(void (*)(void*), void*, unsigned, unsigned);

ParallelFunction openmp_team() {
#ifdef _WIN32
  return nullptr;
#else
  static const ParallelFunction found = reinterpret_cast<ParallelFunction>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  return found;
#endif
}

std::atomic<int> use_openmp{1};

}  // namespace

extern "C" __attribute__((visibility("default"))) int gantune_share_openmp(int share) {
  use_openmp = share;
  return openmp_team() != nullptr;
}

void run_items(int64_t num_items, int num_threads, int64_t scratch_floats,
               const std::function<void(int64_t, float*)>& work) {
  Job job{num_items, scratch_floats, work};
  if (num_threads > num_items) num_threads = int(num_items);
  if (num_threads <= 1) {
    job.take_items();
  } else if (use_openmp && openmp_team() != nullptr) {
    openmp_team()([](void* data) { static_cast<Job*>(data)->take_items(); }, &job, unsigned(num_threads), 0);
  } else {
    pool().run(job, num_threads);
  }
}
