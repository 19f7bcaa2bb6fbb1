#include "converters/patch/contents.h"

#include <algorithm>
#include <unordered_map>

#include "ckpt/base/fs.h"
#include "ckpt/base/integers.h"
#include "ckpt/base/parallel.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/difference_codec.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/read/range_reader.h"
#include "converters/companions.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_index.h"
#include "converters/hf/safetensors.h"
#include "converters/patch/patch_file.h"

namespace titan::convert {

using ckpt::Digest;
using ckpt::File;
using ckpt::join_path;

namespace {

/// Covers the parts of `file` outside of regions with regions without a tensor.
void fill_holes(ContentFile& file) {
  std::vector<ckpt::ByteRange> covered;
  for (const Region& region : file.regions) covered.push_back({region.offset, region.offset + region.bytes});
  for (const ckpt::ByteRange& hole : ckpt::uncovered(covered, file.bytes))
    file.regions.push_back({hole.begin, hole.end - hole.begin, kNoTensor, 0});
  std::ranges::sort(file.regions, {}, &Region::offset);
}

/// Reads the whole store blocks that contain these bytes of `file`, which has `size` bytes.
Result<std::span<const std::byte>> read_blocks(File& file, std::uint64_t size, std::uint64_t offset,
                                               std::uint64_t bytes, ckpt::AlignedBuffer& memory) {
  const std::uint64_t begin = offset / ckpt::kScanAlignment * ckpt::kScanAlignment;
  const std::uint64_t blocks = ckpt::ceil_div(offset + bytes - begin, ckpt::kScanAlignment);
  const std::span<std::byte> out = memory.first(std::min(size - begin, blocks * ckpt::kScanAlignment));
  TITAN_RETURN_IF_ERROR(file.pread(begin, out));
  return std::span<const std::byte>(out).subspan(offset - begin, bytes);
}

class OurContents final : public Contents {
 public:
  OurContents(Fs& fs, CheckpointReader reader, ckpt::Access access)
      : Contents(reader.path()), fs_(fs), reader_(std::move(reader)), access_(access) {}
  Status open();
  const char* kind() const override { return "titan"; }
  std::uint64_t step() const override { return reader_.manifest().step; }
  std::optional<Digest> id() const override { return reader_.manifest().id; }
  Result<std::span<const std::byte>> read_tensor(std::uint32_t tensor, std::uint64_t first, std::uint64_t bytes,
                                                 ckpt::AlignedBuffer& memory) const override {
    const std::span<std::byte> out = memory.first(bytes);
    ckpt::RangeReader elements(reader_, refs_[tensor]);
    TITAN_RETURN_IF_ERROR(elements.read(first / ckpt::dtype_size(tensors_[tensor].dtype), out).about(path_));
    return std::span<const std::byte>(out);
  }
  // A checkpoint may have more files than a process can have open.
  Result<std::span<const std::byte>> read_file(std::size_t file, std::uint64_t offset, std::uint64_t bytes,
                                               ckpt::AlignedBuffer& memory) const override {
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> opened, fs_.open_member(path_, files_[file].path, access_));
    return read_blocks(*opened, files_[file].bytes, offset, bytes, memory);
  }

 private:
  void add_tensor(const ckpt::TensorRef& ref);
  Fs& fs_;
  CheckpointReader reader_;
  ckpt::Access access_;
  std::vector<ckpt::TensorRef> refs_;
};

void OurContents::add_tensor(const ckpt::TensorRef& ref) {
  const ckpt::Manifest& manifest = reader_.manifest();
  const ckpt::StoredTensor& stored = *manifest.stored(ref);
  const ckpt::LeafGrid grid = manifest.parameters[ref.index].meta.grid(manifest.leaf_elements);
  const std::uint64_t size = ckpt::dtype_size(stored.dtype);
  // A piece is whole leaves, because a leaf is read completely for its digest. Leaves larger than a piece may be are
  // divided.
  const std::uint64_t bytes = grid.leaf_elements * size, leaf = bytes > ckpt::kMaxDifferencePiece ? kPatchPiece : bytes;
  const auto number = static_cast<std::uint32_t>(tensors_.size());
  tensors_.push_back({std::string(ref.slot.empty() ? ckpt::kModel : ckpt::kOptimizer) + "/" + manifest.stored_name(ref),
                      stored.dtype, grid.elements * size, std::max<std::uint64_t>(kPatchPiece / leaf, 1) * leaf});
  refs_.push_back(ref);
  for (const ckpt::Piece& piece : stored.pieces) {
    if (piece.codec != ckpt::Codec::kRaw) continue;
    const std::uint64_t begin = grid.begin(piece.first_leaf), end = grid.begin(piece.first_leaf + piece.leaf_count);
    files_[piece.file].regions.push_back({piece.offset, (end - begin) * size, number, begin * size});
  }
}

Status OurContents::open() {
  const ckpt::Manifest& manifest = reader_.manifest();
  for (const ckpt::FileEntry& file : manifest.files) files_.push_back({file.path, file.bytes, {}});
  TITAN_ASSIGN_OR_RETURN(const ckpt::FileInfo own, fs_.stat_member(path_, ckpt::kManifestFile));
  files_.push_back({ckpt::kManifestFile, own.size, {}});
  for (std::uint32_t i = 0; i < manifest.parameters.size(); ++i) {
    if (manifest.parameters[i].model) add_tensor({i, ""});
    for (const ckpt::SlotTensor& slot : manifest.parameters[i].slots) add_tensor({i, slot.name});
  }
  for (ContentFile& file : files_) fill_holes(file);
  return ckpt::ok_status();
}

class Safetensors final : public Contents {
 public:
  Safetensors(const std::string& path, ckpt::Access access) : Contents(path), access_(access) {}
  Status open(Fs& fs);
  const char* kind() const override { return "hf"; }
  Result<std::span<const std::byte>> read_tensor(std::uint32_t tensor, std::uint64_t first, std::uint64_t bytes,
                                                 ckpt::AlignedBuffer& memory) const override {
    return read_file(places_[tensor].file, places_[tensor].offset + first, bytes, memory);
  }
  Result<std::span<const std::byte>> read_file(std::size_t file, std::uint64_t offset, std::uint64_t bytes,
                                               ckpt::AlignedBuffer& memory) const override {
    return read_blocks(*opened_[file], files_[file].bytes, offset, bytes, memory);
  }

 private:
  struct Place {
    std::size_t file;
    std::uint64_t offset;
  };
  Status add_file(Fs& fs, const std::string& folder, const std::string& name);
  ckpt::Access access_;
  std::vector<std::unique_ptr<File>> opened_;
  std::vector<Place> places_;
};

Status Safetensors::add_file(Fs& fs, const std::string& folder, const std::string& name) {
  const std::string at = join_path(folder, name), real = through_link(fs, at);
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file,
                         fs.open_member(ckpt::parent_path(real), ckpt::base_name(real), access_));
  ContentFile content{name, 0, {}};
  TITAN_ASSIGN_OR_RETURN(content.bytes, file->size());
  if (name.ends_with(kSafetensorsSuffix)) {
    TITAN_ASSIGN_OR_RETURN(const SafetensorsHeader header, read_safetensors_header(*file, at, true));
    for (const SafetensorsEntry& entry : header.entries) {
      const std::uint64_t offset = header.buffer_offset + entry.begin, bytes = entry.end - entry.begin;
      if (bytes == 0) continue;
      content.regions.push_back({offset, bytes, static_cast<std::uint32_t>(tensors_.size()), 0});
      tensors_.push_back({entry.name, entry.dtype, bytes});
      places_.push_back({files_.size(), offset});
    }
  }
  fill_holes(content);
  files_.push_back(std::move(content));
  opened_.push_back(std::move(file));
  return ckpt::ok_status();
}

Status Safetensors::open(Fs& fs) {
  TITAN_ASSIGN_OR_RETURN(one_file_, is_file(fs, path_));
  if (one_file_) {
    TITAN_RETURN_IF_ERROR(add_file(fs, ckpt::parent_path(path_), ckpt::base_name(path_)));
  } else {
    // A folder that `convert` would refuse is refused for a patch, too.
    TITAN_RETURN_IF_ERROR(open_hf(fs, path_).status());
    TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(path_));
    for (const ckpt::DirEntry& entry : entries) {
      const bool part = entry.name.ends_with(kSafetensorsSuffix) || entry.name == kHfIndex || is_companion(entry.name);
      if (!part || !ckpt::check_member_path(entry.name).ok()) {
        others_.push_back(entry.name);
        continue;
      }
      TITAN_RETURN_IF_ERROR(add_file(fs, path_, entry.name));
    }
  }
  std::unordered_map<std::string_view, std::size_t> names;
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!names.emplace(tensors_[i].name, i).second)
      return ckpt::unsupported(path_ + " has two tensors named '" + tensors_[i].name + "' in two files")
          .with_hint("give one of its files");
  return ckpt::ok_status();
}

}  // namespace

Result<std::unique_ptr<Contents>> Contents::open(Fs& fs, const std::string& path, ckpt::Access access) {
  TITAN_ASSIGN_OR_RETURN(const Format* const format, detect_format(fs, path));
  if (format == nullptr) {
    Result<CheckpointReader> reader = CheckpointReader::open(fs, path);
    if (reader.status().code == ckpt::Code::kNotFound) return explained(fs, path, reader.status());
    if (!reader.ok()) return reader.status();
    auto ours = std::make_unique<OurContents>(fs, std::move(reader).value(), access);
    TITAN_RETURN_IF_ERROR(ours->open());
    return std::unique_ptr<Contents>(std::move(ours));
  }
  if (std::string(format->name()) != "hf")
    return ckpt::unsupported(path + " is a checkpoint in the form of " + format->title() +
                             ": patches of it are not supported yet")
        .with_hint("`titan-ckpt convert " + ckpt::shell_word(path) + " DST --to hf` makes safetensors of it");
  auto foreign = std::make_unique<Safetensors>(path, access);
  TITAN_RETURN_IF_ERROR(foreign->open(fs));
  return std::unique_ptr<Contents>(std::move(foreign));
}

std::uint64_t Contents::bytes() const {
  std::uint64_t sum = 0;
  for (const ContentFile& file : files_) sum += file.bytes;
  return sum;
}

namespace {

/// Takes the pieces of a checkpoint in order, and reads several at a time of those with unknown digests.
class IdReader {
 public:
  IdReader(const Contents& contents, unsigned threads) : contents_(contents) {
    for (unsigned i = 0; i < threads; ++i) memory_.push_back(Contents::piece_memory());
  }

  Status add(std::size_t file, std::uint64_t offset, std::uint64_t bytes, const Digest& known) {
    pieces_.push_back({file, offset, bytes, known});
    return pieces_.size() == memory_.size() ? flush() : ckpt::ok_status();
  }

  Status begin_file(const std::string& path, std::uint64_t bytes) {
    TITAN_RETURN_IF_ERROR(flush());
    id_.begin_file(path, bytes);
    return ckpt::ok_status();
  }

  Result<Digest> finish() {
    TITAN_RETURN_IF_ERROR(flush());
    return id_.finish();
  }

 private:
  struct IdPiece {
    std::size_t file;
    std::uint64_t offset, bytes;
    Digest digest;
  };

  Status flush() {
    TITAN_RETURN_IF_ERROR(
        ckpt::parallel_for(pieces_.size(), static_cast<unsigned>(memory_.size()), [&](std::size_t i) -> Status {
          IdPiece& piece = pieces_[i];
          if (piece.digest != Digest{}) return ckpt::ok_status();
          TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> read,
                                 contents_.read_file(piece.file, piece.offset, piece.bytes, memory_[i]));
          piece.digest = ckpt::digest_of(read);
          return ckpt::ok_status();
        }));
    for (const IdPiece& piece : pieces_) id_.piece(piece.digest);
    pieces_.clear();
    return ckpt::ok_status();
  }

  const Contents& contents_;
  std::vector<ckpt::AlignedBuffer> memory_;
  std::vector<IdPiece> pieces_;
  ContentId id_;
};

}  // namespace

Result<Digest> content_id(const Contents& contents, const PieceDigests& known, const ckpt::CancelToken& cancel,
                          unsigned threads) {
  IdReader reader(contents, threads);
  for (std::size_t f = 0; f < contents.files().size(); ++f) {
    const ContentFile& file = contents.files()[f];
    TITAN_RETURN_IF_ERROR(reader.begin_file(contents.one_file() ? "" : file.path, file.bytes));
    for (const Region& region : file.regions) {
      TITAN_RETURN_IF_ERROR(each_piece(contents, region, [&](std::uint64_t at, std::uint64_t bytes) -> Status {
        TITAN_RETURN_IF_ERROR(cancel.check());
        Digest digest;
        if (region.tensor != kNoTensor && !known.empty() && !known[region.tensor].empty())
          digest = known[region.tensor][(region.first + at) / contents.tensors()[region.tensor].piece];
        return reader.add(f, region.offset + at, bytes, digest);
      }));
    }
  }
  return reader.finish();
}

void ContentId::begin_file(const std::string& path, std::uint64_t bytes) {
  end_file();
  files_.str(path);
  files_.u64(bytes);
  open_ = true;
}

void ContentId::end_file() {
  if (open_) files_.digest(hasher_.digest());
  hasher_ = ckpt::Hasher();
}

Digest ContentId::finish() {
  end_file();
  return files_.finish();
}

unsigned patch_threads(unsigned wanted) {
  constexpr unsigned kMost = 4;
  return std::min(ckpt::io_threads(wanted), kMost);
}

}  // namespace titan::convert
