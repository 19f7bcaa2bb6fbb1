#include "tests/simulated_gpu/machine.h"

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace titan::gpu {
namespace {

constexpr std::size_t kMostLaunches = 1000;

}  // namespace

// Never destroyed: libraries speak to the GPU until the process is over.
Machine& Machine::get() {
  static Machine& machine = *new Machine;
  return machine;
}

void Machine::give(void* stream, Action action) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Stream>& found = streams_[stream];
  if (!found) found = std::make_unique<Stream>();
  // A real one lets the host wait then, where it sees no peer go.
  if (found->queue.size() > kMostLaunches) {
    std::fprintf(stderr, "simulated GPU: more than %zu launches wait in a stream\n", kMostLaunches);
    std::abort();
  }
  found->queue.push_back(std::move(action));
  static const bool early = std::getenv("TITAN_SIMULATED_GPU_EARLY") != nullptr;
  if (!early) return;
  for (auto& [name, other] : streams_)
    while (name != nullptr && step(*other)) continue;
}

std::shared_ptr<Mark> Machine::mark(void* stream) {
  auto mark = std::make_shared<Mark>();
  mark->stream = stream;
  give(stream, [mark] { return mark->reached = true; });
  return mark;
}

void Machine::wait(void* stream, std::shared_ptr<Mark> mark) {
  give(stream, [mark = std::move(mark)] { return mark->reached; });
}

bool Machine::step(Stream& stream) {
  if (stream.queue.empty() || !stream.queue.front()()) return false;
  stream.queue.pop_front();
  return true;
}

// The other streams come on only while this one waits for something: no more is done than it takes.
bool Machine::come_to(Mark& mark) {
  const std::scoped_lock lock(mutex_);
  for (bool moved = true; moved && !mark.reached;) {
    while (!mark.reached && step(*streams_.at(mark.stream))) continue;
    moved = false;
    for (auto& [name, stream] : streams_) moved = (!mark.reached && step(*stream)) || moved;
  }
  return mark.reached;
}

void Machine::finish(Mark& mark) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!come_to(mark)) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (std::chrono::steady_clock::now() < until) continue;
    std::fprintf(stderr, "simulated GPU: what the host waits for does not come to its end\n");
    std::abort();
  }
}

void Machine::finish_stream(void* stream) { finish(*mark(stream)); }

void Machine::finish_all() {
  std::vector<std::shared_ptr<Mark>> marks;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, stream] : streams_) marks.push_back(mark(name));
  }
  for (const auto& last : marks) finish(*last);
}

void* Machine::make_stream() {
  const std::scoped_lock lock(mutex_);
  auto stream = std::make_unique<Stream>();
  void* const name = stream.get();
  streams_[name] = std::move(stream);
  return name;
}

void Machine::drop_stream(void* stream) {
  finish_stream(stream);
  const std::scoped_lock lock(mutex_);
  streams_.erase(stream);
}

}  // namespace titan::gpu
