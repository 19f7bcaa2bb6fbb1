#include "libtrain/job/metrics/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/host.h"
#include "ckpt/base/path.h"

namespace titan::train {
namespace {

using ckpt::Status;

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kDigits = 10;

std::string host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

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
  const double now = ckpt::seconds_since_epoch();
  const std::string path =
      ckpt::join_path(folder, event_file_name(static_cast<std::uint64_t>(now), host_name(), ::getpid(), names));
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ckpt::File> made, fs.create(path));
  std::unique_ptr<EventFile> file(new EventFile({fs, std::move(made), path, 0}));
  // Python's reader ignores the first START in a folder and handles later ones, so each file has one.
  TITAN_RETURN_IF_ERROR(file->file_.append(file_version_record(now) + start_record(now, step + 1)));
  TITAN_RETURN_IF_ERROR(file->sync());
  TITAN_RETURN_IF_ERROR(fs.sync_dir(folder));
  return file;
}

Status EventFile::add(std::uint64_t step, const std::vector<BoardScalar>& scalars) {
  std::string record = scalars_record(ckpt::seconds_since_epoch(), step, scalars);
  if (background_ == nullptr) return file_.append(record);
  const std::size_t bytes = record.size();
  background_->add(BackgroundWriter::Keep::kWhileThereIsRoom, bytes,
                   [file = shared_from_this(), record = std::move(record)] { return file->file_.append(record); });
  return ckpt::ok_status();
}

Status EventFile::sync() { return file_.sync(); }
Status EventFile::close() { return file_.close(); }

}  // namespace titan::train
