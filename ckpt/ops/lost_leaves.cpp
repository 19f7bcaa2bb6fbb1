#include "ckpt/ops/lost_leaves.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/format/checkpoint_id.h"

namespace titan::ckpt {
namespace {

/// Whether these digests are those of the leaves of `tensor`, whose digest is over them.
bool proved(const std::vector<std::optional<Digest>>& known, const StoredTensor& tensor) {
  std::vector<Digest> all;
  for (const std::optional<Digest>& digest : known) {
    if (!digest) return false;
    all.push_back(*digest);
  }
  return tensor_digest(all) == tensor.digest;
}

}  // namespace

Result<bool> LostLeaves::table_known(std::uint32_t file) {
  const auto found = tables_.find(file);
  if (found != tables_.end()) return found->second;
  const Status status = shards_.table(file).status();
  if (!status.ok() && !is_lost(status)) return status;
  return tables_[file] = status.ok();
}

Result<bool> LostLeaves::own(const TensorRef& ref, const Piece& piece, std::uint64_t leaf, std::span<std::byte> out) {
  TITAN_ASSIGN_OR_RETURN(const bool known, table_known(piece.file));
  if (!known && piece.codec != Codec::kRaw) return false;  // only the row of the leaf has its offset
  const auto bytes = [&]() -> Status {
    if (known) return reader_.read(ref, {leaf, 1}, out);
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                           fs_.open_member(reader_.path(), manifest_.files[piece.file].path));
    const std::uint64_t offset = *PieceLeaves(manifest_, ref, piece).at(leaf).offset;
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, file->size());
    if (offset + out.size() > size) return corrupt("it ends before this leaf");
    return file->pread(offset, out);
  };
  const Status read = bytes();
  if (is_lost(read)) return false;
  TITAN_RETURN_IF_ERROR(read);
  return true;
}

Status LostLeaves::fill_from_tables(const TensorRef& ref, Digests& known) {
  for (const Piece& piece : manifest_.stored(ref)->pieces) {
    TITAN_ASSIGN_OR_RETURN(const bool whole, table_known(piece.file));
    if (!whole) continue;
    TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, shards_.open(piece.file));
    TITAN_ASSIGN_OR_RETURN(const std::vector<LeafRow> rows,
                           read_rows(*file, manifest_.files[piece.file], piece.row, piece.leaf_count));
    for (std::uint64_t i = 0; i < piece.leaf_count; ++i) known[piece.first_leaf + i] = rows[i].raw;
  }
  return ok_status();
}

Status LostLeaves::fill_from_bytes(const TensorRef& ref, Digests& known) {
  std::vector<std::byte> bytes;
  for (const Piece& piece : manifest_.stored(ref)->pieces) {
    const PieceLeaves place(manifest_, ref, piece);
    for (std::uint64_t leaf = piece.first_leaf; leaf < piece.first_leaf + piece.leaf_count; ++leaf) {
      if (known[leaf]) continue;
      bytes.resize(place.bytes({leaf, 1}));
      TITAN_ASSIGN_OR_RETURN(const bool there, own(ref, piece, leaf, bytes));
      if (there) known[leaf] = digest_of(bytes);
    }
  }
  return ok_status();
}

Result<bool> LostLeaves::fill_from_donor(std::size_t donor, const TensorRef& ref, Digests& known) {
  const LeafGrid grid = manifest_.parameters[ref.index].meta.grid(manifest_.leaf_elements);
  const std::uint64_t size = dtype_size(manifest_.stored(ref)->dtype);
  std::vector<std::byte> bytes;
  for (std::uint64_t leaf = 0; leaf < known.size(); ++leaf) {
    if (known[leaf]) continue;
    bytes.resize(grid.length(leaf) * size);
    TITAN_ASSIGN_OR_RETURN(const bool has, donors_.elements(donor, ref, grid.begin(leaf), bytes));
    if (!has) return false;
    known[leaf] = digest_of(bytes);
  }
  return true;
}

// If a leaf table is lost, the digest of the tensor takes its place: leaves from any source are right if the digest
// over their digests equals it.
Result<const LostLeaves::Digests*> LostLeaves::digests(const TensorRef& ref) {
  const std::string name = manifest_.stored_name(ref);
  if (name == tensor_) return &digests_;
  const StoredTensor& tensor = *manifest_.stored(ref);
  Digests from_tables(manifest_.parameters[ref.index].meta.grid(manifest_.leaf_elements).count());
  TITAN_RETURN_IF_ERROR(fill_from_tables(ref, from_tables));
  tensor_ = name;
  digests_ = from_tables;
  const auto unknown = [](const std::optional<Digest>& digest) { return !digest; };
  if (std::none_of(from_tables.begin(), from_tables.end(), unknown)) return &digests_;
  Digests tried = from_tables;
  TITAN_RETURN_IF_ERROR(fill_from_bytes(ref, tried));
  for (std::size_t donor = 0; !proved(tried, tensor); ++donor) {
    if (donor == donors_.count()) return &digests_;
    tried = from_tables;
    TITAN_RETURN_IF_ERROR(fill_from_donor(donor, ref, tried).status());
  }
  digests_ = std::move(tried);
  return &digests_;
}

Result<bool> LostLeaves::read(const TensorRef& ref, const Piece& piece, std::uint64_t leaf, std::span<std::byte> out) {
  TITAN_ASSIGN_OR_RETURN(const Digests* const known, digests(ref));
  const std::optional<Digest> expected = (*known)[leaf];
  if (!expected) return false;
  TITAN_ASSIGN_OR_RETURN(const bool there, own(ref, piece, leaf, out));
  if (there && digest_of(out) == *expected) return true;
  const LeafGrid grid = manifest_.parameters[ref.index].meta.grid(manifest_.leaf_elements);
  return donors_.leaf({ref, grid.begin(leaf), *expected}, out);
}

}  // namespace titan::ckpt
