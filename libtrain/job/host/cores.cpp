#include "libtrain/job/host/cores.h"

#include "ckpt/base/printed.h"

#include <sys/resource.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace titan::train {
namespace {

/// The CPU affinity of a process, for any number of cores; empty if it cannot be read.
std::vector<unsigned char> affinity(pid_t pid) {
  for (std::size_t bytes = sizeof(cpu_set_t); bytes <= 64 * sizeof(cpu_set_t); bytes *= 2) {
    std::vector<unsigned char> mask(bytes, 0);
    if (sched_getaffinity(pid, bytes, reinterpret_cast<cpu_set_t*>(mask.data())) == 0) return mask;
  }
  return {};
}

int count(const std::vector<unsigned char>& mask) {
  return CPU_COUNT_S(mask.size(), reinterpret_cast<const cpu_set_t*>(mask.data()));
}

/// The smallest quota of this process's cgroup and its ancestors.
std::optional<int> group_quota() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line, path;
  while (std::getline(groups, line))
    if (line.starts_with("0::")) path = line.substr(3);
  std::optional<int> least;
  while (path.starts_with('/')) {
    std::ifstream file("/sys/fs/cgroup" + path + "/cpu.max");
    std::string text;
    std::getline(file, text);
    if (const auto cores = cores_of_quota(text)) least = std::min(least.value_or(*cores), *cores);
    if (path == "/") break;
    path.resize(std::max<std::size_t>(1, path.rfind('/')));
  }
  return least;
}

}  // namespace

std::optional<int> cores_of_quota(const std::string& cpu_max) {
  std::istringstream text(cpu_max);
  long long quota = 0, period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<int>(std::clamp(quota / period, 1LL, 1LL << 20));
}

int allowed_cores() {
  const auto mask = affinity(0);
  int cores = mask.empty() ? static_cast<int>(std::thread::hardware_concurrency()) : count(mask);
  if (const auto quota = group_quota()) cores = std::min(cores, *quota);
  return std::max(1, cores);
}

CoreShare core_share(int local_ranks) {
  const auto own = affinity(0), parent = affinity(getppid());
  return {allowed_cores(), local_ranks > 1 && !own.empty() && !parent.empty() && own != parent};
}

std::string too_many_threads(int local_ranks, int threads, CoreShare share) {
  const long long wanted = static_cast<long long>(share.each ? 1 : local_ranks) * threads;
  if (wanted <= share.cores) return "";
  const int best = std::max(1, share.each ? share.cores : share.cores / local_ranks);
  const std::string ranks = share.each ? ckpt::counted(threads, "thread") + " of each rank"
                                       : ckpt::counted(local_ranks, "rank") + " x " + ckpt::counted(threads, "thread");
  return ranks + " on the " + ckpt::counted(share.cores, "core") + " allowed here: they take turns; better " +
         (threads > best ? "job.threads_per_rank = " + std::to_string(best) : "fewer ranks (--nproc)");
}

void yield_cores_to_computing() {
  constexpr int kNice = 10;
  (void)setpriority(PRIO_PROCESS, 0, kNice);  // of this thread only: Linux has a priority per thread
}

}  // namespace titan::train
