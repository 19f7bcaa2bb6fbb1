// NCCL between processes of one host, in place of libnccl.so: bytes go by files, each of which is there until its
// receiver has it. So a send ends when the peer receives, as NCCL's of many bytes does, and what waits in a circle
// hangs.
//   TITAN_SIMULATED_GPU_FOLDER=FOLDER   where the files lie
//   TITAN_SIMULATED_NCCL=refuses        no group connects
//   TITAN_SIMULATED_NCCL=stops          nothing arrives any more after six times
//   TITAN_SIMULATED_NCCL=breaks         the same, and NCCL says so to who asks
#include <nccl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/simulated_gpu/machine.h"

namespace {

namespace fs = std::filesystem;

fs::path folder() {
  const char* const named = std::getenv("TITAN_SIMULATED_GPU_FOLDER");
  return named == nullptr ? fs::temp_directory_path() : fs::path(named);
}

bool does(const char* what) {
  const char* const named = std::getenv("TITAN_SIMULATED_NCCL");
  return named != nullptr && std::string(named) == what;
}

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: std::abort();
  }
}

struct Operation {
  bool sends;
  char* memory;
  std::size_t bytes;
  fs::path file;
  bool begun = false, over = false;
};

void send(Operation& one) {
  if (!std::exchange(one.begun, true)) {
    const fs::path unready = one.file.string() + ".new";
    std::ofstream(unready, std::ios::binary).write(one.memory, static_cast<std::streamsize>(one.bytes));
    fs::rename(unready, one.file);
  }
  one.over = !fs::exists(one.file);
}

constexpr int kBeforeItStops = 6;
std::atomic<int> received_times = 0;

void receive(Operation& one) {
  if (!fs::exists(one.file)) return;
  if ((does("stops") || does("breaks")) && received_times++ >= kBeforeItStops) return;
  if (fs::file_size(one.file) != one.bytes) {
    std::fprintf(stderr, "simulated NCCL: %zu bytes came for a receive of %zu\n",
                 static_cast<std::size_t>(fs::file_size(one.file)), one.bytes);
    std::abort();
  }
  std::ifstream(one.file, std::ios::binary).read(one.memory, static_cast<std::streamsize>(one.bytes));
  fs::remove(one.file);
  one.over = true;
}

using Group = std::vector<std::pair<cudaStream_t, Operation>>;
thread_local int depth = 0;
thread_local Group group;

void issue() {
  std::map<cudaStream_t, std::vector<Operation>> streams;
  for (auto& [stream, one] : std::exchange(group, {})) streams[stream].push_back(std::move(one));
  for (auto& [stream, all] : streams)
    titan::gpu::Machine::get().give(stream, [all = std::move(all)]() mutable {
      bool over = true;
      for (Operation& one : all) {
        if (!one.over) one.sends ? send(one) : receive(one);
        over = over && one.over;
      }
      return over;
    });
}

}  // namespace

struct ncclComm {
  std::string id;
  int rank, size;
  std::map<int, int> sent, received;
};

namespace {

ncclResult_t give(bool sends, const void* memory, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                  cudaStream_t stream) {
  const int from = sends ? comm->rank : peer, to = sends ? peer : comm->rank;
  const int number = (sends ? comm->sent : comm->received)[peer]++;
  group.push_back(
      {stream,
       {sends, static_cast<char*>(const_cast<void*>(memory)), count * bytes_of(type),
        folder() / (comm->id + "." + std::to_string(from) + "-" + std::to_string(to) + "." + std::to_string(number))}});
  if (depth == 0) issue();
  return ncclSuccess;
}

/// Which GPU it is, and on which host, as NCCL compares them.
std::string place_of_process() {
  int device = 0;
  cudaGetDevice(&device);
  const char *const visible = std::getenv("CUDA_VISIBLE_DEVICES"), *const host = std::getenv("NCCL_HOSTID");
  return std::to_string(device + (visible == nullptr ? 0 : std::atoi(visible))) + " of " +
         (host == nullptr ? "this host" : host);
}

}  // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> made = 0;
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "nccl-%d-%d", static_cast<int>(::getpid()), made++);
  return ncclSuccess;
}

// All meet here, as NCCL's do.
ncclResult_t ncclCommInitRank(ncclComm_t* made, int size, ncclUniqueId id, int rank) {
  if (does("refuses")) return ncclSystemError;
  // Objects for collectives, which nobody uses: some containers cannot make them.
  for (const char* const object : {"NCCL_COLLNET_ENABLE", "NCCL_NVLS_ENABLE"})
    if (const char* const given = std::getenv(object); given == nullptr || *given != '0') return ncclSystemError;
  *made = new ncclComm{id.internal, rank, size, {}, {}};
  const auto place = [&](int of) { return folder() / ((*made)->id + ".rank" + std::to_string(of)); };
  std::ofstream(place(rank).string() + ".new") << place_of_process();
  fs::rename(place(rank).string() + ".new", place(rank));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int other = 0; other < size; ++other)
    while (!fs::exists(place(other))) {
      if (std::chrono::steady_clock::now() > until) return ncclSystemError;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  for (int other = 0; other < size; ++other) {
    std::string where;
    std::getline(std::ifstream(place(other)), where);
    if (other != rank && where == place_of_process()) return ncclInvalidUsage;  // "Duplicate GPU detected"
  }
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int size, ncclUniqueId id, int rank, ncclConfig_t*) {
  return ncclCommInitRank(made, size, id, rank);
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* size) {
  *size = comm->size;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = does("breaks") && received_times > kBeforeItStops ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommAbort(ncclComm_t) { return ncclSuccess; }

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--depth == 0) issue();
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return give(true, from, count, type, peer, comm, stream);
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return give(false, to, count, type, peer, comm, stream);
}
ncclResult_t ncclAlltoAll(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  ncclGroupStart();
  for (int peer = 0; peer < comm->size; ++peer) {
    const std::size_t at = bytes * static_cast<std::size_t>(peer);
    ncclSend(static_cast<const char*>(from) + at, count, type, peer, comm, stream);
    ncclRecv(static_cast<char*>(to) + at, count, type, peer, comm, stream);
  }
  return ncclGroupEnd();
}

}  // extern "C"
