// A library to preload: one bit of what a rank sends over its sockets is another one. TITAN_FLIP_RANK is the rank (its
// RANK), TITAN_FLIP_AT the bit, counted over all that it sends by writev (collectives) or, with TITAN_FLIP_STORE=1, by
// send (the store). TITAN_FLIP_LOG names a file that gets "<length of the message> <byte in it>" when it is done, and
// TITAN_FLIP_TOTAL one that holds the number of bits sent so far.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

struct Plan {
  bool here = !variable("TITAN_FLIP_RANK").empty() && variable("TITAN_FLIP_RANK") == variable("RANK");
  bool store = variable("TITAN_FLIP_STORE") == "1";
  bool flips = !variable("TITAN_FLIP_AT").empty();
  std::uint64_t at = std::strtoull(variable("TITAN_FLIP_AT").c_str(), nullptr, 10);
  std::atomic<std::uint64_t>* total = map();
  std::atomic<std::uint64_t> own = 0;

  static std::atomic<std::uint64_t>* map() {
    const std::string path = variable("TITAN_FLIP_TOTAL");
    const int fd = path.empty() ? -1 : ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || ::ftruncate(fd, 8) != 0) return nullptr;
    void* memory = ::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    return memory == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint64_t>*>(memory);
  }

  /// The bit of a message of `bytes` bytes that is to be flipped; negative: none.
  std::int64_t take(std::uint64_t bytes) {
    const std::uint64_t begin = own.fetch_add(8 * bytes);
    if (total) total->store(begin + 8 * bytes);
    if (!flips || at < begin || at - begin >= 8 * bytes) return -1;
    const std::string line = std::to_string(bytes) + " " + std::to_string((at - begin) / 8) + "\n",
                      log = variable("TITAN_FLIP_LOG");
    const int fd = log.empty() ? -1 : ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0) {
      (void)!::write(fd, line.data(), line.size());
      ::close(fd);
    }
    return static_cast<std::int64_t>(at - begin);
  }
};

Plan& plan() {
  static Plan* value = new Plan;  // outlives every other static
  return *value;
}

}  // namespace

extern "C" {

ssize_t writev(int fd, const iovec* parts, int count) {
  const auto real = next<ssize_t(int, const iovec*, int)>("writev");
  sockaddr_storage address;
  socklen_t length = sizeof address;
  if (!plan().here || plan().store || ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return real(fd, parts, count);
  std::vector<char> bytes;
  for (int i = 0; i < count; ++i)
    bytes.insert(bytes.end(), static_cast<const char*>(parts[i].iov_base),
                 static_cast<const char*>(parts[i].iov_base) + parts[i].iov_len);
  const std::int64_t bit = plan().take(bytes.size());
  if (bit < 0) return real(fd, parts, count);
  bytes[static_cast<std::size_t>(bit / 8)] ^= static_cast<char>(1 << (bit % 8));
  const iovec one{bytes.data(), bytes.size()};
  return real(fd, &one, 1);
}

ssize_t send(int fd, const void* data, size_t size, int flags) {
  const auto real = next<ssize_t(int, const void*, size_t, int)>("send");
  if (!plan().here || !plan().store) return real(fd, data, size, flags);
  const std::int64_t bit = plan().take(size);
  if (bit < 0) return real(fd, data, size, flags);
  std::string bytes(static_cast<const char*>(data), size);
  bytes[static_cast<std::size_t>(bit / 8)] ^= static_cast<char>(1 << (bit % 8));
  return real(fd, bytes.data(), bytes.size(), flags);
}

}  // extern "C"
