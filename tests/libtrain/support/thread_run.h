#pragma once
// A complete training run whose ranks are threads of this process.
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "ckpt/base/exit_code.h"
#include "ckpt/base/fs_posix.h"
#include "libtrain/engine/model/runtime.h"
#include "libtrain/engine/train/trainer.h"
#include "recipe/plan/run_plan.h"
#include "tests/libtrain/support/thread_world.h"

namespace titan::test {

inline train::TrainOptions thread_options(const recipe::LoadedConfig& loaded, int rank, int ranks) {
  train::TrainOptions options;
  options.loaded = loaded;
  options.open_weights = [](ckpt::Fs& fs, const std::string& path) { return ckpt::open_weights(fs, path); };
  options.env.rank = options.env.local_rank = rank;
  options.env.world = options.env.local_world = ranks;
  options.env.source = "titan";
  options.version = "titan-thread-train";
  return options;
}

/// What the first rank that failed says; else of the others, the first exit code that is not 0.
inline train::TrainOutcome train_over_threads(const recipe::LoadedConfig& loaded, int ranks) {
  train::TrainOutcome first;
  const auto mesh = recipe::make_run_mesh(loaded.config, static_cast<std::uint32_t>(ranks));
  if (!mesh.ok()) {
    first.status = mesh.status();
    first.exit_code = ckpt::exit_code(first.status.code);
    return first;
  }
  const ThreadMesh threads(*mesh);
  std::mutex mutex;
  std::vector<std::thread> running;
  // What a start sets for its process, such as the log, is set by one rank at a time, last by rank 0.
  for (int rank = ranks - 1; rank >= 0; --rank) {
    auto is_set = std::make_shared<std::counting_semaphore<2>>(0);
    running.emplace_back([&, rank, is_set] {
      train::setup_thread();
      train::TrainOptions options = thread_options(loaded, rank, ranks);
      options.connect = [&, rank, is_set](const train::ConnectOptions&) {
        is_set->release();
        return threads.world(rank);
      };
      const train::TrainOutcome outcome = train::train(options);
      {
        const std::lock_guard lock(mutex);
        if (first.status.ok() && (first.exit_code == 0 || !outcome.status.ok())) first = outcome;
      }
      if (outcome.status.ok()) return;
      threads.fail();
      is_set->release();
    });
    is_set->acquire();
  }
  for (std::thread& thread : running) thread.join();
  return first;
}

}  // namespace titan::test
