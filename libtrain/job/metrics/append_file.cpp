#include "libtrain/job/metrics/append_file.h"

#include <span>
#include <utility>

#include "ckpt/base/fs.h"

namespace titan::train {

using ckpt::Status;

namespace {

constexpr std::size_t kMostKept = 64 << 20;  // for a run that never syncs

Status closed(const std::string& path) { return ckpt::failed("'" + path + "' is closed"); }

}  // namespace

AppendFile::AppendFile(ckpt::Fs& fs, std::unique_ptr<ckpt::File> file, std::string path, std::uint64_t end)
    : fs_(fs), file_(std::move(file)), path_(std::move(path)), end_(end), durable_(end) {}
AppendFile::AppendFile(AppendFile&& other) noexcept = default;
AppendFile::~AppendFile() = default;

Status AppendFile::append(std::string_view record) {
  if (!file_) return closed(path_);
  if (lost_) TITAN_RETURN_IF_ERROR(open_anew());
  TITAN_RETURN_IF_ERROR(put(end_, record));
  end_ += record.size();
  since_ += record;
  if (since_.size() > kMostKept) {
    since_.clear();
    durable_ = end_;
  }
  return ckpt::ok_status();
}

Status AppendFile::put(std::uint64_t at, std::string_view record) {
  Status status = file_->pwrite(at, std::as_bytes(std::span(record)));
  // A full disk may have stored half a record; a later record must not follow it.
  if (!status.ok() && !file_->truncate(at).ok()) status.causes.push_back("and the partial line could not be removed");
  return status;
}

Status AppendFile::open_anew() {
  (void)file_->close();
  TITAN_ASSIGN_OR_RETURN(file_, fs_.open_update(path_));
  TITAN_RETURN_IF_ERROR(put(durable_, since_));
  lost_ = false;
  return ckpt::ok_status();
}

Status AppendFile::sync() {
  if (!file_) return closed(path_);
  if (lost_) TITAN_RETURN_IF_ERROR(open_anew());
  const Status status = file_->datasync();
  lost_ = !status.ok();
  if (lost_) return status;
  durable_ = end_;
  since_.clear();
  return status;
}

Status AppendFile::close() {
  if (!file_) return ckpt::ok_status();
  const Status synced = sync();
  const Status late = file_->close();
  file_.reset();
  return synced.ok() ? late : synced;
}

}  // namespace titan::train
