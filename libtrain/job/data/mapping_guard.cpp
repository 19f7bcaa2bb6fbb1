#include "libtrain/job/data/mapping_guard.h"

#include <unistd.h>
#include <csignal>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ckpt/base/printable.h"
#include "libtrain/job/launch/rank_process.h"

namespace titan::train {
namespace {

constexpr int kFailed = 3;

// Read by the signal handler at any time: entries are never freed, and one with `begin` 0 can be reused for another
// mapping.
struct Watched {
  std::atomic<std::uintptr_t> begin = 0;
  std::size_t size = 0;
  std::string text;
  Watched* next = nullptr;
};

/// Finds the entry of a mapping, for adding and removing, since datasets have thousands of files. Never destroyed, like
/// the entries.
struct Places {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, Watched*> used;
  std::vector<Watched*> free;
};
Places& places() {
  static Places* const all = new Places;
  return *all;
}

std::atomic<Watched*> g_first = nullptr;
struct sigaction g_before;

void say(const char* text, std::size_t size) { (void)!::write(STDERR_FILENO, text, size); }

extern "C" void on_bus_error(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Watched* entry = g_first.load(); entry != nullptr; entry = entry->next) {
    const std::uintptr_t begin = entry->begin.load();
    if (begin == 0 || at < begin || at - begin >= entry->size) continue;
    say(entry->text.data(), entry->text.size());
    note_said_why(kFailed);
    _exit(kFailed);
  }
  // Not a watched mapping: the instruction is repeated and reaches the previous handler.
  ::sigaction(SIGBUS, &g_before, nullptr);
}

void install() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &g_before);
}

}  // namespace

void watch_mapping(const void* data, std::size_t size, const std::string& path) {
  Places& all = places();
  const std::lock_guard guard(all.mutex);
  static std::once_flag installed;
  std::call_once(installed, install);
  const bool fresh = all.free.empty();
  Watched* const entry = fresh ? new Watched : all.free.back();
  if (!fresh) all.free.pop_back();
  entry->size = size;
  entry->text = "error: data file '" + ckpt::printable(path) +
                "' cannot be read any more: it was cut short, or its disk failed, while it was in use\n" +
                "  hint: put the whole file back and start again; data files must not change under a run\n";
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  all.used[begin] = entry;
  entry->begin.store(begin);
  if (fresh) {
    entry->next = g_first.load();
    g_first.store(entry);
  }
}

void unwatch_mapping(const void* data) {
  Places& all = places();
  const std::lock_guard guard(all.mutex);
  const auto found = all.used.extract(reinterpret_cast<std::uintptr_t>(data));
  if (!found) return;
  found.mapped()->begin.store(0);
  all.free.push_back(found.mapped());
}

}  // namespace titan::train
