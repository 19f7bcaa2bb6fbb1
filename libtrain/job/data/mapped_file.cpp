#include "libtrain/job/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "ckpt/base/denied.h"
#include "libtrain/job/data/mapping_guard.h"

namespace titan::train {
namespace {

/// Maximum number of files to map: the kernel's limit per process, minus a sixteenth for libraries, threads and the
/// heap. At the limit, the next allocation of any size may fail.
std::size_t most_mapped() {
  static const std::size_t most = [] {
    std::size_t allowed = 0;
    const bool known = static_cast<bool>(std::ifstream("/proc/sys/vm/max_map_count") >> allowed);
    return known ? allowed - allowed / 16 : std::numeric_limits<std::size_t>::max();
  }();
  return most;
}

std::atomic<std::size_t> g_mapped = 0;

ckpt::Status open_error(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) return ckpt::invalid("data file '" + path + "' does not exist");
  if (error == ENOMEM)  // for small files such as data files usually due to their number
    return ckpt::failed("cannot map data file '" + path + "': this process has no room for another mapping")
        .with_hint("a dataset of more files than `sysctl vm.max_map_count` says: join small ones (cat), or raise it");
  return ckpt::invalid("cannot read data file '" + path + "': " + std::strerror(error))
      .with_hint(ckpt::denied_hint(error, path, "open"));
}

}  // namespace

ckpt::Result<MappedFile> MappedFile::open(const std::string& path) {
  // Non-blocking, so that opening a FIFO does not wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return open_error(path, errno);
  struct stat info;
  void* data = nullptr;
  ckpt::Status status;
  if (::fstat(fd, &info) != 0) {
    status = open_error(path, errno);
  } else if (!S_ISREG(info.st_mode)) {
    status = ckpt::invalid("data file '" + path + "' is not a regular file");
  } else if (info.st_size > 0) {
    if (g_mapped.load() < most_mapped()) {
      data = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    } else {
      data = MAP_FAILED;
      errno = ENOMEM;
    }
    if (data == MAP_FAILED) status = open_error(path, errno);
  }
  ::close(fd);
  if (!status.ok()) return status;
  if (data != nullptr) g_mapped.fetch_add(1);
  if (data != nullptr) watch_mapping(data, static_cast<std::size_t>(info.st_size), path);
  return MappedFile(path, data, static_cast<std::size_t>(info.st_size));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  unwatch_mapping(data_);
  ::munmap(data_, size_);
  g_mapped.fetch_sub(1);
}

}  // namespace titan::train
