#include "ckpt/store/media_watch.h"

#include <algorithm>
#include <charconv>

#include "ckpt/base/path.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 20;

UnreadablePlace place_of(const std::string& path) { return {parent_path(path), base_name(path)}; }

class WatchedFile final : public File {
 public:
  WatchedFile(MediaWatch& watch, std::unique_ptr<File> inner, UnreadablePlace place)
      : watch_(watch), inner_(std::move(inner)), place_(std::move(place)) {}
  Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    return watch_.note(inner_->pread(offset, out), {place_.folder, place_.member, offset, out.size()});
  }
  Result<std::uint64_t> size() override {
    Result<std::uint64_t> size = inner_->size();
    watch_.note(size.status(), place_);
    return size;
  }
  Status pwrite(std::uint64_t offset, std::span<const std::byte> data) override { return inner_->pwrite(offset, data); }
  Status truncate(std::uint64_t size) override { return inner_->truncate(size); }
  Status datasync() override { return inner_->datasync(); }
  Status close() override { return inner_->close(); }

 private:
  MediaWatch& watch_;
  std::unique_ptr<File> inner_;
  UnreadablePlace place_;
};

}  // namespace

std::string encode_place(const UnreadablePlace& place) {
  // The paths come last: they may contain any byte but zero.
  return std::to_string(place.offset) + " " + std::to_string(place.bytes) + " " + std::to_string(place.folder.size()) +
         " " + place.folder + place.member;
}

Result<UnreadablePlace> decode_place(const std::string& text) {
  UnreadablePlace place;
  std::uint64_t folder = 0;
  std::size_t at = 0;
  for (std::uint64_t* number : {&place.offset, &place.bytes, &folder}) {
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), *number);
    at = static_cast<std::size_t>(end - text.data()) + 1;
    if (error != std::errc{} || at > text.size() || text[at - 1] != ' ')
      return corrupt("'" + text + "' is no place in a file");
  }
  if (folder > text.size() - at) return corrupt("'" + text + "' is no place in a file");
  place.folder = text.substr(at, folder);
  place.member = text.substr(at + folder);
  return place;
}

Status read_again(Fs& fs, const UnreadablePlace& place) {
  if (place.member.empty()) return fs.list(place.folder).status();
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                         fs.open_member(place.folder, place.member, Access::kUncached));
  TITAN_RETURN_IF_ERROR(file->size().status());
  std::vector<std::byte> part(std::min(place.bytes, kPartBytes));
  for (std::uint64_t done = 0; done < place.bytes; done += part.size())
    TITAN_RETURN_IF_ERROR(file->pread(place.offset + done,
                                      std::span(part).first(std::min<std::uint64_t>(part.size(), place.bytes - done))));
  return file->close();
}

std::optional<UnreadablePlace> MediaWatch::place() const {
  const MutexLock lock(mutex_);
  return place_;
}

void MediaWatch::forget() {
  const MutexLock lock(mutex_);
  place_.reset();
}

const Status& MediaWatch::note(const Status& status, const UnreadablePlace& place) {
  if (status.code != Code::kMediaError) return status;
  const MutexLock lock(mutex_);
  place_ = place;
  return status;
}

Result<std::unique_ptr<File>> MediaWatch::watched(Result<std::unique_ptr<File>> opened, UnreadablePlace place) {
  note(opened.status(), place);
  if (!opened.ok()) return opened;
  return std::unique_ptr<File>(std::make_unique<WatchedFile>(*this, std::move(*opened), std::move(place)));
}

Result<std::unique_ptr<File>> MediaWatch::open_read(const std::string& path) {
  return watched(inner_.open_read(path), place_of(path));
}
Result<std::unique_ptr<File>> MediaWatch::open_scan(const std::string& path) {
  return watched(inner_.open_scan(path), place_of(path));
}

Result<std::unique_ptr<File>> MediaWatch::open_member(const std::string& folder, const std::string& member,
                                                      Access access) {
  return watched(inner_.open_member(folder, member, access), {folder, member});
}

Result<FileInfo> MediaWatch::stat(const std::string& path) {
  Result<FileInfo> info = inner_.stat(path);
  note(info.status(), place_of(path));
  return info;
}

Result<FileInfo> MediaWatch::stat_member(const std::string& folder, const std::string& member) {
  Result<FileInfo> info = inner_.stat_member(folder, member);
  note(info.status(), {folder, member});
  return info;
}

Result<std::vector<DirEntry>> MediaWatch::list(const std::string& path) {
  Result<std::vector<DirEntry>> entries = inner_.list(path);
  note(entries.status(), {path, ""});
  return entries;
}

}  // namespace titan::ckpt
