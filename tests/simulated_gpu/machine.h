#pragma once
// The streams of the simulated GPU. Work on a stream is done as late as CUDA's rules allow: when the host asks for a
// later event. Code that reads too early, or frees too early, gets wrong bytes.
//   TITAN_SIMULATED_GPU_EARLY=1   all streams but the default one do their work as early as the rules allow
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace titan::gpu {

/// A position in a stream that the GPU reaches.
struct Mark {
  void* stream = nullptr;
  bool reached = false;
  bool asked = false;  ///< the host has asked for it, and was told to wait
};

/// Does its part of the work if possible, and returns whether it is complete.
using Action = std::function<bool()>;

class Machine {
 public:
  struct Stream {
    std::deque<Action> queue;
  };

  static Machine& get();

  /// Null: the default stream.
  void give(void* stream, Action action);
  std::shared_ptr<Mark> mark(void* stream);
  void wait(void* stream, std::shared_ptr<Mark> mark);
  /// Runs until the GPU has reached the mark, or cannot continue at present. Returns whether it has reached the mark.
  bool come_to(Mark& mark);
  /// Returns when the GPU has come to it. Ends the process after a minute.
  void finish(Mark& mark);
  void finish_stream(void* stream);
  void finish_all();
  void* make_stream();
  void drop_stream(void* stream);

 private:
  bool step(Stream& stream);

  std::recursive_mutex mutex_;
  std::map<void*, std::unique_ptr<Stream>> streams_;
};

}  // namespace titan::gpu
