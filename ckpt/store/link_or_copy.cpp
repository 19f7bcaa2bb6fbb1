#include "ckpt/store/link_or_copy.h"

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t{4} << 20;

Status copy(File& source, Fs& fs, const std::string& to, const std::function<Status()>& pulse) {
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, source.size());
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> target, fs.create(to));
  const auto fill = [&]() -> Status {
    std::vector<std::byte> block(std::min(size, kBlock));
    for (std::uint64_t at = 0; at < size; at += block.size()) {
      const std::span<std::byte> part = std::span(block).first(std::min<std::uint64_t>(block.size(), size - at));
      if (pulse) TITAN_RETURN_IF_ERROR(pulse());
      TITAN_RETURN_IF_ERROR(source.pread(at, part));
      TITAN_RETURN_IF_ERROR(target->pwrite(at, part));
    }
    return finish_member(*target);
  };
  const Status status = fill();
  if (!status.ok()) (void)fs.remove_file(to);
  return status;
}

}  // namespace

const char* link_method_name(LinkMethod method) {
  switch (method) {
    case LinkMethod::kLink: return "hard link";
    case LinkMethod::kReflink: return "reflink";
    case LinkMethod::kCopy: return "copy";
  }
  return "copy";
}

Result<Carried> link_or_copy(Fs& fs, const std::string& folder, const std::string& member, const std::string& to,
                             const std::function<Status()>& pulse) {
  const std::string from = join_path(folder, member);
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> source, fs.open_member(folder, member));
  // The writer of this file may not have synced it, and the new checkpoint depends on its bytes.
  TITAN_RETURN_IF_ERROR(source->datasync());
  Carried carried;
  const Status linked = fs.link(from, to);
  if (!linked.ok()) {
    if (linked.code != Code::kUnsupported) return linked;
    carried.reason = linked.message.substr(linked.message.rfind(": ") + 2);  // the caller names the paths
    carried.method = LinkMethod::kReflink;
    const Status cloned = fs.reflink(from, to);
    if (!cloned.ok()) {
      if (cloned.code != Code::kUnsupported) return cloned;
      carried.method = LinkMethod::kCopy;
      TITAN_RETURN_IF_ERROR(copy(*source, fs, to, pulse));
    }
  }
  TITAN_RETURN_IF_ERROR(source->close());
  return carried;
}

}  // namespace titan::ckpt
