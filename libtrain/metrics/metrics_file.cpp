#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libtrain/metrics/metrics.h"
#include "libtrain/metrics/metrics_scan.h"

namespace titan::train {
namespace {

using ckpt::Status;

Status io_error(const std::string& call, const std::string& path) {
  return ckpt::failed(call + " of '" + path + "' failed: " + std::strerror(errno));
}

/// Closes at the end of a scope; errors of what was only read do not matter.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Status write_all(int fd, const char* data, std::size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error("write", path);
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return {};
}

Status sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const Descriptor dir{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (dir.fd < 0) return io_error("open", folder);
  if (::fsync(dir.fd) != 0) return io_error("fsync", folder);
  return {};
}

/// Appends bytes [begin, end) of `fd` to the file `target`, durably.
Status keep_tail(int fd, std::uint64_t begin, std::uint64_t end, const std::string& target) {
  const Descriptor out{::open(target.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
  if (out.fd < 0) return io_error("open", target);
  std::vector<char> buffer(1 << 20);
  while (begin < end) {
    const std::size_t want = std::min<std::uint64_t>(buffer.size(), end - begin);
    const ssize_t got = ::pread(fd, buffer.data(), want, static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return io_error("read", "metrics file for " + target);
    TITAN_RETURN_IF_ERROR(write_all(out.fd, buffer.data(), static_cast<std::size_t>(got), target));
    begin += static_cast<std::uint64_t>(got);
  }
  if (::fsync(out.fd) != 0) return io_error("fsync", target);
  return {};
}

/// Finds where to cut. \error kFailed when reading fails.
Status scan_file(int fd, const std::string& path, MetricsScan* scan) {
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", path);
    if (got == 0) return {};
    scan->feed({buffer.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace

ckpt::Result<std::unique_ptr<MetricsFile>> MetricsFile::open(const std::string& path, std::uint64_t step, std::uint32_t attempt) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return io_error("open", path);
  std::unique_ptr<MetricsFile> file(new MetricsFile(fd, path, attempt));

  MetricsScan scan(step);
  TITAN_RETURN_IF_ERROR(scan_file(fd, path, &scan));
  // The tail is safe elsewhere before it is cut here; a crash in between keeps it twice, never not at all.
  if (scan.cut() < scan.whole_lines()) {
    const std::string kept = path + ".attempt-" + std::to_string(attempt);
    TITAN_RETURN_IF_ERROR(keep_tail(fd, scan.cut(), scan.whole_lines(), kept));
  }
  TITAN_RETURN_IF_ERROR(sync_folder_of(path));
  if (scan.cut() < scan.size() && ::ftruncate(fd, static_cast<off_t>(scan.cut())) != 0) return io_error("truncate", path);
  TITAN_RETURN_IF_ERROR(file->sync());
  return file;
}

MetricsFile::~MetricsFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::string MetricsFile::line_start(std::uint64_t step) const {
  return std::string(kMetricsLineStart) + std::to_string(step) + ",\"time\":\"" + utc_now() +
         "\",\"attempt\":" + std::to_string(attempt_);
}

Status MetricsFile::step(const StepMetrics& metrics) {
  std::string line = line_start(metrics.step);
  line += ",\"loss\":" + json_number(metrics.loss) + ",\"grad_norm\":" + json_number(metrics.grad_norm);
  line += ",\"lr\":" + json_number(metrics.lr) + ",\"tokens\":" + std::to_string(metrics.tokens) + ",\"samples\":" + std::to_string(metrics.samples);
  line += ",\"tps\":" + json_number(metrics.tps) + ",\"time_s\":" + json_number(metrics.time_s);
  line += ",\"data_s\":" + json_number(metrics.data_s);
  return append(std::move(line));
}

Status MetricsFile::event(std::uint64_t step, std::string_view name, const EventFields& fields) {
  struct Text {
    std::string operator()(const std::string& value) const { return json_string(value); }
    std::string operator()(double value) const { return json_number(value); }
    std::string operator()(std::uint64_t value) const { return std::to_string(value); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
  };
  std::string line = line_start(step) + ",\"event\":" + json_string(name);
  for (const auto& [key, value] : fields) line += "," + json_string(key) + ":" + std::visit(Text{}, value);
  return append(std::move(line));
}

Status MetricsFile::append(std::string line) {
  if (fd_ < 0) return ckpt::failed("'" + path_ + "' is closed");
  line += "}\n";
  const off_t before = ::lseek(fd_, 0, SEEK_END);
  if (before < 0) return io_error("seek", path_);
  Status status = write_all(fd_, line.data(), line.size(), path_);
  // A full disk may have taken half a line; a later line must not follow it.
  if (!status.ok() && ::ftruncate(fd_, before) != 0) status.causes.push_back("and the partial line could not be removed");
  return status;
}

Status MetricsFile::sync() {
  if (fd_ < 0) return ckpt::failed("'" + path_ + "' is closed");
  if (::fsync(fd_) != 0) return io_error("fsync", path_);
  return {};
}

Status MetricsFile::close() {
  if (fd_ < 0) return {};
  Status status = sync();
  const int result = ::close(fd_);
  fd_ = -1;
  if (status.ok() && result != 0) return io_error("close", path_);
  return status;
}

}  // namespace titan::train
