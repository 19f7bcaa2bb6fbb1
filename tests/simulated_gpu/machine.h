#pragma once
// The streams of the simulated GPU. What is given to a stream is done as late as CUDA's rules allow, when the host asks
// for an event behind it: who reads too early, or frees too early, gets wrong bytes.
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

/// A place in a stream that the GPU comes to.
struct Mark {
  void* stream = nullptr;
  bool reached = false;
  bool asked = false;  ///< the host has asked for it, and was told to wait
};

/// Does its part of the work if it can now, and says whether it is over.
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
  /// Goes on until the GPU has come to the mark, or can do nothing more at present. Returns whether it has.
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
