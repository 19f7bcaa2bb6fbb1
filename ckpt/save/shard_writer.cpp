#include "ckpt/save/shard_writer.h"

#include <algorithm>
#include <utility>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/save/leaf_pipeline.h"
#include "ckpt/save/read_back.h"
#include "ckpt/store/turnstile.h"

namespace titan::ckpt {

struct ShardWriter::Impl {
  std::string member, path;
  std::vector<ShardPiece> pieces;
  std::vector<std::size_t> first_row;  // per piece
  std::vector<LeafRow> rows;
  std::vector<unsigned char> written;  // per row, one byte each, so that threads may set different rows
  ShardSkeleton skeleton;
  std::unique_ptr<File> file;

  Impl(const std::string& folder, const std::string& name, std::vector<ShardPiece> given)
      : member(name), path(join_path(folder, name)), pieces(std::move(given)) {
    for (const ShardPiece& piece : pieces) {
      first_row.push_back(rows.size());
      rows.resize(rows.size() + piece.leaves.count);
    }
    written.resize(rows.size());
  }

  std::size_t row(std::size_t piece, std::uint64_t leaf) const {
    return first_row[piece] + (leaf - pieces[piece].leaves.first);
  }

  Status wrong(std::size_t piece, std::uint64_t leaf, const std::string& what) const {
    return failed("leaf " + std::to_string(leaf) + " of '" + pieces[piece].tensor + "' for " + path + what);
  }

  // Records that a leaf is in the file.
  Status enter(std::size_t piece, std::uint64_t leaf, const LeafRow& entry) {
    const std::size_t at = row(piece, leaf);
    if (std::exchange(written[at], 1)) return wrong(piece, leaf, " was written before");
    rows[at] = entry;
    return ok_status();
  }

  // Writes the bytes of the skeleton and sets the file's size.
  Status write_skeleton() {
    TITAN_RETURN_IF_ERROR(file->truncate(skeleton.file_bytes));
    for (const ShardSkeleton::Extent& extent : skeleton.metadata)
      TITAN_RETURN_IF_ERROR(file->pwrite(extent.offset, extent.bytes));
    return ok_status();
  }

  Result<std::pair<Piece, std::vector<Digest>>> placed(std::size_t p) const {
    const LeafRange& leaves = pieces[p].leaves;
    std::vector<Digest> digests;
    for (std::uint64_t leaf = leaves.first; leaf < leaves.end(); ++leaf) {
      if (!written[row(p, leaf)]) return wrong(p, leaf, " was never written");
      digests.push_back(rows[row(p, leaf)].raw);
    }
    const Piece piece{0, leaves.first, leaves.count, rows[first_row[p]].offset, first_row[p], pieces[p].codec};
    return std::pair{piece, std::move(digests)};
  }

  Result<WrittenShard> finish() {
    WrittenShard result;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      TITAN_ASSIGN_OR_RETURN(auto piece, placed(p));
      result.pieces.push_back(piece.first);
      result.leaves.push_back(std::move(piece.second));
    }
    const std::vector<std::byte> table = encode_leaf_table(rows);
    TITAN_RETURN_IF_ERROR(file->pwrite(skeleton.table_offset, table));
    TITAN_RETURN_IF_ERROR(finish_member(*file));
    FileEntry& entry = result.file;
    entry.path = member;
    entry.role = FileRole::kShard;
    entry.bytes = skeleton.file_bytes;
    entry.table_offset = skeleton.table_offset;
    entry.table_rows = skeleton.table_rows;
    entry.table = digest_of(table);
    entry.envelope = envelope_digest(skeleton, pieces);
    return result;
  }

  Status put_run(std::size_t piece, std::uint64_t first, std::span<const std::byte> bytes,
                 std::span<const LeafDigests> digests);
  Result<WrittenShard> stream(const LeafProvider& leaf, const ShardWriteOptions& options);
};

Status ShardWriter::Impl::put_run(std::size_t p, std::uint64_t first, std::span<const std::byte> bytes,
                                  std::span<const LeafDigests> digests) {
  const ShardPiece& piece = pieces[p];
  if (first < piece.leaves.first || digests.size() > piece.leaves.end() - first)
    return wrong(p, first, ": the piece does not have it");
  std::uint64_t length = 0;
  for (std::uint64_t i = 0; i < digests.size(); ++i) length += piece.stored_bytes(first + i);
  if (bytes.size() != length) {
    return wrong(
        p, first,
        (digests.size() == 1 ? " has " : " and the " + std::to_string(digests.size() - 1) + " after it have ") +
            std::to_string(bytes.size()) + " stored bytes, expected " + std::to_string(length));
  }
  const std::uint64_t offset = skeleton.leaf_offset(pieces, p, first);
  TITAN_RETURN_IF_ERROR(file->pwrite(offset, bytes));
  std::uint64_t at = offset;
  for (std::uint64_t i = 0; i < digests.size(); ++i) {
    const std::uint64_t leaf = first + i, stored = piece.stored_bytes(leaf);
    const std::uint32_t mask = piece.codec == Codec::kRaw ? 0 : piece.stored[leaf - piece.leaves.first].filter_mask;
    TITAN_RETURN_IF_ERROR(enter(p, leaf, {at, stored, piece.raw_bytes(leaf), mask, digests[i].raw, digests[i].stored}));
    at += stored;
  }
  return ok_status();
}

// Encodes leaves and appends them. Their lengths are known only at the end, so libhdf5's structure comes after the
// leaves, at addresses that are chosen here. Needs only one pass.
Result<WrittenShard> ShardWriter::Impl::stream(const LeafProvider& leaf, const ShardWriteOptions& options) {
  for (ShardPiece& piece : pieces) {
    if (piece.codec != Codec::kZstd) continue;
    if (piece.chunk_bytes() > kMaxChunkBytes) {
      return invalid("a leaf of '" + piece.tensor + "' has " + std::to_string(piece.chunk_bytes()) +
                     " bytes; compressed, it may have at most " + std::to_string(kMaxChunkBytes))
          .with_hint("use smaller leaves, or no compression");
    }
    piece.stored.assign(piece.leaves.count, {});
  }
  Turnstile turnstile;
  std::uint64_t end = kStreamBegin;
  const auto store = [&](const FetchedLeaf& fetched, LeafEncoder& encoder) -> Status {
    ShardPiece& piece = pieces[fetched.piece];
    const Digest raw = digest_of(fetched.raw);
    EncodedLeaf encoded{fetched.raw, 0};
    Digest stored = raw;
    if (piece.codec == Codec::kZstd) {
      TITAN_ASSIGN_OR_RETURN(encoded, encoder.encode(fetched.raw, dtype_size(piece.dtype), piece.chunk_bytes()));
      stored = digest_of(encoded.bytes);
      if (options.prove && encoded.filter_mask != kMaskRaw) {
        if (Status proved =
                encoder.prove(encoded, raw, fetched.raw.size(), dtype_size(piece.dtype), piece.chunk_bytes());
            !proved.ok())
          return proved.wrapped("leaf " + std::to_string(fetched.leaf) + " of '" + piece.tensor + "' for " + path +
                                " cannot be saved");
      }
      piece.stored[fetched.leaf - piece.leaves.first] = {encoded.bytes.size(), encoded.filter_mask};
    }
    std::uint64_t offset = 0;
    if (!turnstile.pass(fetched.sequence, [&] { offset = std::exchange(end, end + encoded.bytes.size()); }))
      return wrong(fetched.piece, fetched.leaf, " was given up");
    TITAN_RETURN_IF_ERROR(file->pwrite(offset, encoded.bytes));
    return enter(fetched.piece, fetched.leaf,
                 {offset, encoded.bytes.size(), fetched.raw.size(), encoded.filter_mask, raw, stored});
  };
  TITAN_RETURN_IF_ERROR(run_leaf_pipeline(pieces, path, leaf, store, options.threads, turnstile));
  TITAN_ASSIGN_OR_RETURN(skeleton, make_skeleton(pieces));
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    for (std::uint64_t i = pieces[p].leaves.first; i < pieces[p].leaves.end(); ++i) {
      if (skeleton.leaf_offset(pieces, p, i) != rows[row(p, i)].offset)
        return wrong(p, i, " was placed elsewhere by libhdf5");
    }
  }
  TITAN_RETURN_IF_ERROR(write_skeleton());
  return finish();
}

ShardWriter::ShardWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ShardWriter::~ShardWriter() = default;

Result<std::unique_ptr<ShardWriter>> ShardWriter::create(Fs& fs, const std::string& folder, const std::string& member,
                                                         std::vector<ShardPiece> pieces) {
  auto impl = std::make_unique<Impl>(folder, member, std::move(pieces));
  TITAN_ASSIGN_OR_RETURN(impl->skeleton, make_skeleton(impl->pieces));
  TITAN_ASSIGN_OR_RETURN(impl->file, fs.create_large(impl->path));
  TITAN_RETURN_IF_ERROR(impl->write_skeleton());
  return std::unique_ptr<ShardWriter>(new ShardWriter(std::move(impl)));
}

Result<std::unique_ptr<ShardWriter>> ShardWriter::join(Fs& fs, const std::string& folder, const std::string& member,
                                                       std::vector<ShardPiece> pieces) {
  auto impl = std::make_unique<Impl>(folder, member, std::move(pieces));
  TITAN_ASSIGN_OR_RETURN(impl->skeleton, make_skeleton(impl->pieces));
  TITAN_ASSIGN_OR_RETURN(impl->file, fs.open_large(impl->path));
  return std::unique_ptr<ShardWriter>(new ShardWriter(std::move(impl)));
}

const std::vector<ShardPiece>& ShardWriter::pieces() const { return impl_->pieces; }
std::uint64_t ShardWriter::offset(std::size_t piece, std::uint64_t leaf) const {
  return impl_->skeleton.leaf_offset(impl_->pieces, piece, leaf);
}
std::uint64_t ShardWriter::stored_bytes(std::size_t piece, std::uint64_t leaf) const {
  return impl_->pieces[piece].stored_bytes(leaf);
}

Status ShardWriter::put(std::size_t piece, std::uint64_t leaf, std::span<const std::byte> bytes, const Digest& raw,
                        const Digest& stored) {
  const LeafDigests digests{raw, stored};
  return impl_->put_run(piece, leaf, bytes, {&digests, 1});
}

Status ShardWriter::put_run(std::size_t piece, std::uint64_t first, std::span<const std::byte> bytes,
                            std::span<const LeafDigests> digests) {
  return impl_->put_run(piece, first, bytes, digests);
}

Status ShardWriter::take_over(std::size_t piece, const Piece& placed, const std::vector<Digest>& digests) {
  const LeafRange& leaves = impl_->pieces[piece].leaves;
  if (placed.leaf_count != leaves.count || digests.size() != leaves.count || placed.row != impl_->first_row[piece] ||
      placed.offset != offset(piece, leaves.first))
    return impl_->wrong(piece, leaves.first, " was put elsewhere: another version of libhdf5 lays the file out there");
  for (std::uint64_t i = 0; i < leaves.count; ++i) {
    const std::uint64_t leaf = leaves.first + i, bytes = stored_bytes(piece, leaf);
    TITAN_RETURN_IF_ERROR(impl_->enter(piece, leaf, {offset(piece, leaf), bytes, bytes, 0, digests[i], digests[i]}));
  }
  return ok_status();
}

Result<std::pair<Piece, std::vector<Digest>>> ShardWriter::placed(std::size_t piece) const {
  return impl_->placed(piece);
}

Status ShardWriter::leave() {
  TITAN_RETURN_IF_ERROR(impl_->file->datasync());
  return impl_->file->close();
}

std::span<const LeafRow> ShardWriter::rows() const { return impl_->rows; }

Result<WrittenShard> ShardWriter::finish() { return impl_->finish(); }

Result<WrittenShard> write_shard(Fs& fs, const std::string& folder, const std::string& member,
                                 const std::vector<ShardPiece>& pieces, const LeafProvider& leaf,
                                 const ShardWriteOptions& options) {
  if (is_stream(pieces)) {
    ShardWriter::Impl impl(folder, member, pieces);
    TITAN_ASSIGN_OR_RETURN(impl.file, fs.create(impl.path));
    TITAN_ASSIGN_OR_RETURN(WrittenShard written, impl.stream(leaf, options));
    TITAN_RETURN_IF_ERROR(read_back(fs, folder, written.file, impl.rows, options.read_back, options.threads));
    return written;
  }
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ShardWriter> writer, ShardWriter::create(fs, folder, member, pieces));
  const auto store = [&](const FetchedLeaf& fetched, LeafEncoder&) {
    const Digest digest = digest_of(fetched.raw);
    return writer->put(fetched.piece, fetched.leaf, fetched.raw, digest, digest);
  };
  Turnstile unused;
  TITAN_RETURN_IF_ERROR(run_leaf_pipeline(pieces, writer->impl_->path, leaf, store, options.threads, unused));
  TITAN_ASSIGN_OR_RETURN(WrittenShard written, writer->finish());
  TITAN_RETURN_IF_ERROR(read_back(fs, folder, written.file, writer->impl_->rows, options.read_back, options.threads));
  return written;
}

}  // namespace titan::ckpt
