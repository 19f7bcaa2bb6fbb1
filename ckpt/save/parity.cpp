#include "ckpt/save/parity.h"

#include <algorithm>
#include <memory>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/galois.h"
#include "ckpt/base/integers.h"
#include "ckpt/base/parallel.h"
#include "ckpt/base/path.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/manifest_decode.h"
#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kStripe = std::uint64_t{1} << 20;  // bytes of each member that are processed at a time
constexpr unsigned kStripesAtOnce = 4;                     // each in its own thread

/// A file that is read: a member, or the parity in a parity file. Bytes after its end count as zeros.
struct Source {
  std::unique_ptr<File> file;
  std::uint64_t begin = 0, bytes = 0;
  std::vector<std::uint8_t> factors;  ///< one for each sum
};

/// Computes `sums` sums of the sources times their factors, in order of stripes of kStripe bytes. `put` gets each sum
/// of each stripe.
Status sum_up(const std::vector<Source>& sources, std::size_t sums, std::uint64_t length, const ParityHooks& hooks,
              const std::function<Status(std::size_t sum, std::uint64_t at, std::span<const std::byte>)>& put) {
  struct Stripe {
    std::vector<std::byte> in = std::vector<std::byte>(kStripe);
    std::vector<std::vector<std::byte>> sums;
  };
  std::vector<Stripe> stripes(kStripesAtOnce);
  for (Stripe& stripe : stripes) stripe.sums.resize(sums, std::vector<std::byte>(kStripe));
  const auto work = [&](Stripe& stripe, std::uint64_t at) -> Status {
    std::vector<std::span<std::byte>> targets(stripe.sums.begin(), stripe.sums.end());
    for (std::span<std::byte> target : targets) std::fill(target.begin(), target.end(), std::byte{0});
    for (const Source& source : sources) {
      if (at >= source.bytes) continue;
      const std::span<std::byte> in = std::span(stripe.in).first(std::min(kStripe, source.bytes - at));
      TITAN_RETURN_IF_ERROR(source.file->pread(source.begin + at, in));
      galois_add(in, source.factors, targets);
    }
    return ok_status();
  };
  for (std::uint64_t at = 0; at < length; at += kStripe * kStripesAtOnce) {
    if (hooks.check) TITAN_RETURN_IF_ERROR(hooks.check());
    const std::uint64_t count = std::min<std::uint64_t>(kStripesAtOnce, ceil_div(length - at, kStripe));
    TITAN_RETURN_IF_ERROR(parallel_for(count, static_cast<unsigned>(count),
                                       [&](std::size_t i) { return work(stripes[i], at + i * kStripe); }));
    for (std::uint64_t i = 0; i < count; ++i)
      for (std::size_t sum = 0; sum < sums; ++sum)
        TITAN_RETURN_IF_ERROR(put(sum, at + i * kStripe,
                                  std::span(stripes[i].sums[sum]).first(std::min(kStripe, length - at - i * kStripe))));
    const std::uint64_t end = std::min(length, at + count * kStripe);
    for (const Source& source : sources)
      if (hooks.advanced && at < source.bytes) hooks.advanced(std::min(end, source.bytes) - at);
  }
  return ok_status();
}

Result<Source> open_source(Fs& fs, const std::string& folder, const FileEntry& entry) {
  Source source;
  TITAN_ASSIGN_OR_RETURN(source.file, fs.open_member(folder, entry.path, Access::kScan));
  source.bytes = entry.bytes;
  return source;
}

/// A parity file that is being written; its bytes are hashed as they are written.
class ParityFile {
 public:
  static Result<ParityFile> create(Fs& fs, const std::string& folder, const ParityHeader& header,
                                   const std::string& manifest) {
    ParityFile made;
    made.entry_.path = parity_path(header.number());
    made.entry_.role = FileRole::kDerived;
    made.entry_.bytes = header.file_bytes();
    TITAN_ASSIGN_OR_RETURN(made.file_, fs.create(join_path(folder, made.entry_.path)));
    const auto head = encode_parity_header(header);
    TITAN_RETURN_IF_ERROR(made.append(head));
    TITAN_RETURN_IF_ERROR(made.append(std::as_bytes(std::span(manifest))));
    return made;
  }
  Status append(std::span<const std::byte> bytes) {
    TITAN_RETURN_IF_ERROR(file_->pwrite(at_, bytes));
    hasher_.update(bytes);
    at_ += bytes.size();
    return ok_status();
  }
  Result<FileEntry> finish() {
    const Digest end = hasher_.digest();
    TITAN_RETURN_IF_ERROR(append(std::as_bytes(std::span(end.bytes))));
    entry_.whole = hasher_.digest();
    TITAN_RETURN_IF_ERROR(finish_member(*file_));
    return entry_;
  }

 private:
  std::unique_ptr<File> file_;
  FileEntry entry_;
  Hasher hasher_;
  std::uint64_t at_ = 0;
};

/// The header and the manifest in a parity file; empty if it is damaged or another kind of file.
struct WholeParity {
  ParityHeader header;
  std::string manifest;
};
Result<std::optional<WholeParity>> read_parity(Fs& fs, const std::string& folder, const std::string& member,
                                               const ParityHooks& hooks) {
  const auto read = [&]() -> Result<WholeParity> {
    TITAN_ASSIGN_OR_RETURN(const FileInfo info, fs.stat_member(folder, member));
    if (info.type != FileType::kFile) return corrupt(member + " is not a regular file");
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.open_member(folder, member, Access::kScan));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, file->size());
    if (size < kParityHeader + kParityEnd) return corrupt(member + " is too short");
    std::vector<std::byte> buffer(kParityHeader);
    TITAN_RETURN_IF_ERROR(file->pread(0, buffer));
    WholeParity found;
    TITAN_ASSIGN_OR_RETURN(found.header, decode_parity_header(buffer, size));
    Hasher hasher;
    for (std::uint64_t at = 0; at < size - kParityEnd; at += buffer.size()) {
      if (hooks.check) TITAN_RETURN_IF_ERROR(hooks.check());
      buffer.resize(std::min(kStripe, size - kParityEnd - at));
      TITAN_RETURN_IF_ERROR(file->pread(at, buffer));
      hasher.update(buffer);
    }
    Digest end;
    TITAN_RETURN_IF_ERROR(file->pread(size - kParityEnd, std::as_writable_bytes(std::span(end.bytes))));
    if (end != hasher.digest()) return corrupt(member + " does not match its digest");
    found.manifest.resize(found.header.manifest_bytes);
    TITAN_RETURN_IF_ERROR(file->pread(kParityHeader, std::as_writable_bytes(std::span(found.manifest))));
    return found;
  };
  Result<WholeParity> found = read();
  if (found.ok()) return std::optional(std::move(*found));
  const Code code = found.status().code;
  if (code == Code::kCorrupt || code == Code::kMediaError || code == Code::kNotFound)
    return std::optional<WholeParity>();
  return found.status();
}

/// Computes the lost members of one group.
Status rebuild_group(Fs& fs, const std::string& folder, const ParityFound& found, const ParityGroup& group,
                     std::uint32_t number, const std::vector<std::uint32_t>& lost, const std::string& to,
                     const ParityHooks& hooks) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < found.rows && rows.size() < lost.size(); ++row)
    if (found.whole.contains(number * found.rows + row)) rows.push_back(row);
  GaloisMatrix matrix;
  for (const std::uint32_t row : rows) {
    matrix.emplace_back();
    for (const std::uint32_t member : lost) matrix.back().push_back(cauchy(row, member - group.first));
  }
  const std::optional<GaloisMatrix> inverse = galois_inverse(std::move(matrix));
  if (!inverse) return failed("parity files that cannot be solved");
  // Each lost member is a weighted sum of the parity files and of the members that exist.
  std::vector<Source> sources;
  for (std::uint32_t member = group.first; member < group.end; ++member) {
    if (std::find(lost.begin(), lost.end(), member) != lost.end()) continue;
    TITAN_ASSIGN_OR_RETURN(Source source, open_source(fs, folder, found.manifest->files[member]));
    for (const std::vector<std::uint8_t>& line : *inverse) {
      std::uint8_t factor = 0;
      for (std::size_t r = 0; r < rows.size(); ++r)
        factor = static_cast<std::uint8_t>(factor ^ galois_product(line[r], cauchy(rows[r], member - group.first)));
      source.factors.push_back(factor);
    }
    sources.push_back(std::move(source));
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    Source source;
    TITAN_ASSIGN_OR_RETURN(source.file,
                           fs.open_member(folder, parity_path(number * found.rows + rows[r]), Access::kScan));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, source.file->size());
    source.bytes = group.largest;
    source.begin = size - kParityEnd - group.largest;
    for (const std::vector<std::uint8_t>& line : *inverse) source.factors.push_back(line[r]);
    sources.push_back(std::move(source));
  }
  std::vector<std::unique_ptr<File>> files;
  for (const std::uint32_t member : lost) {
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.create(join_path(to, found.manifest->files[member].path)));
    files.push_back(std::move(file));
  }
  const auto put = [&](std::size_t i, std::uint64_t at, std::span<const std::byte> bytes) -> Status {
    const std::uint64_t size = found.manifest->files[lost[i]].bytes;
    if (at >= size) return ok_status();
    return files[i]->pwrite(at, bytes.first(std::min<std::uint64_t>(bytes.size(), size - at)));
  };
  TITAN_RETURN_IF_ERROR(sum_up(sources, lost.size(), group.largest, hooks, put));
  for (const std::unique_ptr<File>& file : files) TITAN_RETURN_IF_ERROR(finish_member(*file));
  return ok_status();
}

}  // namespace

Status write_parity(Fs& fs, const std::string& folder, std::uint32_t rows, Manifest& manifest,
                    const ParityHooks& hooks) {
  const std::string text = encode_manifest(manifest);
  const std::vector<ParityGroup> groups = parity_groups(manifest);
  TITAN_RETURN_IF_ERROR(make_own_dir(fs, join_path(folder, "parity")));
  std::vector<FileEntry> made;
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    std::vector<Source> sources;
    for (std::uint32_t member = groups[g].first; member < groups[g].end; ++member) {
      TITAN_ASSIGN_OR_RETURN(Source source, open_source(fs, folder, manifest.files[member]));
      for (std::uint32_t row = 0; row < rows; ++row) source.factors.push_back(cauchy(row, member - groups[g].first));
      sources.push_back(std::move(source));
    }
    std::vector<ParityFile> files;
    for (std::uint32_t row = 0; row < rows; ++row) {
      TITAN_ASSIGN_OR_RETURN(ParityFile file,
                             ParityFile::create(fs, folder, {g, rows, row, text.size(), groups[g].largest}, text));
      files.push_back(std::move(file));
    }
    TITAN_RETURN_IF_ERROR(sum_up(
        sources, rows, groups[g].largest, hooks,
        [&](std::size_t row, std::uint64_t, std::span<const std::byte> bytes) { return files[row].append(bytes); }));
    for (ParityFile& file : files) {
      TITAN_ASSIGN_OR_RETURN(FileEntry entry, file.finish());
      made.push_back(std::move(entry));
    }
  }
  manifest.files.insert(manifest.files.end(), made.begin(), made.end());
  return fs.sync_dir(join_path(folder, "parity"));
}

Result<ParityFound> find_parity(Fs& fs, const std::string& folder, const std::optional<Manifest>& wanted,
                                const ParityHooks& hooks) {
  ParityFound found;
  std::string text = wanted ? encode_manifest(*wanted) : "";
  const std::string place = join_path(folder, "parity");
  if (const Result<FileInfo> info = fs.stat(place); info.ok() && info->type != FileType::kDirectory) return found;
  const Result<std::vector<DirEntry>> entries = fs.list(place);
  if (entries.status().code == Code::kNotFound) return found;
  TITAN_RETURN_IF_ERROR(entries.status());
  for (const DirEntry& entry : *entries) {
    TITAN_ASSIGN_OR_RETURN(std::optional<WholeParity> one, read_parity(fs, folder, "parity/" + entry.name, hooks));
    if (!one || "parity/" + entry.name != parity_path(one->header.number())) continue;
    if (text.empty()) text = one->manifest;
    if (one->manifest != text) continue;  // made for another state of the folder
    if (!found.manifest) {
      Result<Manifest> manifest = decode_manifest(folder + "/parity/" + entry.name, text);
      if (!manifest.ok()) continue;
      found.manifest = std::move(*manifest);
      found.rows = one->header.rows;
    }
    const std::vector<ParityGroup> groups = parity_groups(*found.manifest);
    if (one->header.rows == found.rows && one->header.group < groups.size() &&
        one->header.parity_bytes == groups[one->header.group].largest)
      found.whole.insert(one->header.number());
  }
  return found;
}

Status rebuild_members(Fs& fs, const std::string& folder, const ParityFound& found, const std::set<std::uint32_t>& lost,
                       const std::string& to, std::set<std::uint32_t>& made, const ParityHooks& hooks) {
  const std::vector<ParityGroup> groups = parity_groups(*found.manifest);
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    std::vector<std::uint32_t> of_group;
    for (const std::uint32_t member : lost)
      if (member >= groups[g].first && member < groups[g].end) of_group.push_back(member);
    std::size_t rows = 0;
    for (std::uint32_t row = 0; row < found.rows; ++row) rows += found.whole.count(g * found.rows + row);
    if (of_group.empty() || of_group.size() > rows) continue;
    TITAN_RETURN_IF_ERROR(rebuild_group(fs, folder, found, groups[g], g, of_group, to, hooks));
    made.insert(of_group.begin(), of_group.end());
  }
  return ok_status();
}

}  // namespace titan::ckpt
