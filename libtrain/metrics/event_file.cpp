#include "libtrain/metrics/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>

namespace titan::train {
namespace {

using ckpt::Status;

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kDigits = 10;

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

Status closed(const std::string& path) { return ckpt::failed("'" + path + "' is closed"); }

}  // namespace

std::string event_file_name(std::uint64_t now, const std::string& host, int pid,
                            const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix)) continue;
    std::uint64_t seconds = 0;
    const char* const digits = name.data() + kPrefix.size();
    const auto [end, error] = std::from_chars(digits, name.data() + name.size(), seconds);
    if (error == std::errc{} && end == digits + kDigits) now = std::max(now, seconds + 1);
  }
  std::string seconds = std::to_string(now);
  seconds.insert(0, kDigits - std::min(kDigits, seconds.size()), '0');
  return std::string(kPrefix) + seconds + "." + host + "." + std::to_string(pid) + ".0";
}

ckpt::Result<std::unique_ptr<EventFile>> EventFile::open(ckpt::Fs& fs, const std::string& folder, std::uint64_t step) {
  TITAN_RETURN_IF_ERROR(ckpt::make_dirs(fs, folder));
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(folder));
  std::vector<std::string> names;
  for (const ckpt::DirEntry& entry : entries) names.push_back(entry.name);
  const double now = wall_time();
  const std::string path =
      ckpt::join_path(folder, event_file_name(static_cast<std::uint64_t>(now), host_name(), ::getpid(), names));
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ckpt::File> made, fs.create(path));
  std::unique_ptr<EventFile> file(new EventFile(std::move(made), path));
  // Python's reader passes over the first START of a folder and forgets by every later one: each file has one.
  TITAN_RETURN_IF_ERROR(file->append(file_version_record(now) + start_record(now, step + 1)));
  TITAN_RETURN_IF_ERROR(file->sync());
  TITAN_RETURN_IF_ERROR(fs.sync_dir(folder));
  return file;
}

Status EventFile::add(std::uint64_t step, const std::vector<BoardScalar>& scalars) {
  return append(scalars_record(wall_time(), step, scalars));
}

Status EventFile::append(const std::string& record) {
  if (!file_) return closed(path_);
  Status status = file_->pwrite(end_, std::as_bytes(std::span(record)));
  // A reader stops at half a record: none may follow it.
  if (!status.ok() && !file_->truncate(end_).ok())
    status.causes.push_back("and the partial record could not be removed");
  if (status.ok()) end_ += record.size();
  return status;
}

Status EventFile::sync() {
  if (!file_) return closed(path_);
  return file_->datasync();
}

Status EventFile::close() {
  if (!file_) return ckpt::ok_status();
  const Status synced = sync();
  const Status late = file_->close();
  file_.reset();
  return synced.ok() ? late : synced;
}

}  // namespace titan::train
