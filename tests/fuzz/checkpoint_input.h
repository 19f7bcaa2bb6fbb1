#pragma once
// A checkpoint folder as input of a fuzz target. The input is unpacked into an in-memory folder; renew_digests() then
// corrects every digest, since otherwise no changed byte would pass the first check.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/files.h"
#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/read/shard_reader.h"
#include "tests/support/mem_fs.h"

namespace titan::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Files in a row: u8 length of the path, path, u32 bytes that follow, u64 bytes of the whole file (the rest is a
/// hole), bytes. A last file may be cut off. No file is larger than `most`.
inline void unpack(std::span<const std::byte> in, ckpt::Fs& fs, const std::string& folder, std::uint64_t most) {
  const auto take = [&in](std::size_t count) {
    const auto part = in.first(std::min(count, in.size()));
    in = in.subspan(part.size());
    return part;
  };
  while (!in.empty()) {
    const std::string path(as_text(take(little_endian(take(1)))));
    const std::uint64_t stored = little_endian(take(4)), whole = little_endian(take(8));
    const auto bytes = take(stored);
    if (!ckpt::check_member_path(path).ok()) continue;
    const std::string place = ckpt::join_path(folder, path);
    if (!ckpt::make_dirs(fs, ckpt::parent_path(place)).ok() || fs.stat(place).ok()) continue;
    auto file = fs.create(place);
    if (!file.ok()) continue;
    require((*file)->pwrite(0, bytes).ok());
    if (whole > bytes.size()) require((*file)->truncate(std::min(whole, most)).ok());
  }
}

/// Recomputes the digests of an in-memory checkpoint. Offsets, lengths and counts stay as in the input.
class Renewal {
 public:
  Renewal(ckpt::testing::MemFs& fs, std::string folder, ckpt::Manifest& manifest)
      : fs_(fs), folder_(std::move(folder)), manifest_(manifest) {}

  void run() {
    rows_.resize(manifest_.files.size());
    for (std::size_t i = 0; i < manifest_.files.size(); ++i) {
      if (manifest_.files[i].role == ckpt::FileRole::kShard)
        shard(static_cast<std::uint32_t>(i));
      else
        whole(manifest_.files[i]);
    }
    for (ckpt::ParameterRecord& record : manifest_.parameters) {
      if (record.model) tensor(*record.model);
      for (ckpt::SlotTensor& slot : record.slots) tensor(slot.tensor);
    }
    for (ckpt::ComponentEntry& entry : manifest_.components)
      if (entry.name == ckpt::kModel || entry.name == ckpt::kOptimizer)
        entry.digest = ckpt::component_digest(manifest_, entry.name);
    id();
  }

 private:
  static constexpr std::uint64_t kMostRows = 4096;

  std::vector<std::byte> bytes(const std::string& member, std::uint64_t offset, std::uint64_t count) {
    auto file = fs_.open_read(ckpt::join_path(folder_, member));
    if (!file.ok()) return {};
    std::vector<std::byte> out(count);
    return (*file)->pread(offset, out).ok() ? out : std::vector<std::byte>{};
  }

  void whole(ckpt::FileEntry& file) {
    if (file.bytes > (1 << 20)) return;
    file.whole = ckpt::digest_of(bytes(file.path, 0, file.bytes));
    for (ckpt::ComponentEntry& entry : manifest_.components)
      if (ckpt::json_path(entry.name) == file.path) entry.digest = file.whole;
  }

  template <typename Take>
  void each_piece(Take take) {
    for (ckpt::ParameterRecord& record : manifest_.parameters) {
      const ckpt::LeafGrid grid = record.meta.grid(manifest_.leaf_elements);
      const auto all = [&](const ckpt::StoredTensor& tensor) {
        for (const ckpt::Piece& piece : tensor.pieces) take(tensor, piece, grid);
      };
      if (record.model) all(*record.model);
      for (const ckpt::SlotTensor& slot : record.slots) all(slot.tensor);
    }
  }

  void shard(std::uint32_t index) {
    ckpt::FileEntry& entry = manifest_.files[index];
    if (entry.table_rows > kMostRows || entry.bytes > (1 << 20)) return;
    const std::vector<std::byte> table = bytes(entry.path, entry.table_offset, entry.table_rows * ckpt::kLeafRowBytes);
    if (table.size() != entry.table_rows * ckpt::kLeafRowBytes) return;
    std::vector<ckpt::LeafRow>& rows = rows_[index] = ckpt::decode_leaf_table(table);
    each_piece([&](const ckpt::StoredTensor& tensor, const ckpt::Piece& piece, const ckpt::LeafGrid& grid) {
      if (piece.file != index) return;
      for (std::uint64_t i = 0; i < piece.leaf_count; ++i) row(entry, tensor, piece, grid, i, rows[piece.row + i]);
    });
    std::vector<std::byte> renewed = ckpt::encode_leaf_table(rows);
    // Reserved bytes stay as the input has them.
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::copy_n(table.begin() + static_cast<std::ptrdiff_t>(64 * i + 28), 4,
                  renewed.begin() + static_cast<std::ptrdiff_t>(64 * i + 28));
    require(fs_.overwrite(ckpt::join_path(folder_, entry.path), entry.table_offset, renewed).ok());
    entry.table = ckpt::digest_of(renewed);
    std::vector<ckpt::ByteRange> covered{{entry.table_offset, entry.table_offset + renewed.size()}};
    for (const ckpt::LeafRow& row : rows)
      if (row.offset <= entry.bytes && row.stored_bytes <= entry.bytes - row.offset)
        covered.push_back({row.offset, row.offset + row.stored_bytes});
    ckpt::Hasher envelope;
    for (const ckpt::ByteRange& range : ckpt::uncovered(std::move(covered), entry.bytes))
      envelope.update(bytes(entry.path, range.begin, range.end - range.begin));
    entry.envelope = envelope.digest();
  }

  void row(const ckpt::FileEntry& entry, const ckpt::StoredTensor& tensor, const ckpt::Piece& piece,
           const ckpt::LeafGrid& grid, std::uint64_t i, ckpt::LeafRow& row) {
    const std::uint64_t size = ckpt::dtype_size(tensor.dtype), raw = grid.length(piece.first_leaf + i) * size;
    if (row.offset > entry.bytes || row.stored_bytes > entry.bytes - row.offset) return;
    row.raw = row.stored = ckpt::digest_of(bytes(entry.path, row.offset, row.stored_bytes));
    if (piece.codec == ckpt::Codec::kRaw) return;
    const ckpt::LeafPlace leaf{raw, grid.chunk_extent() * size, size, piece.codec, {}};
    if (leaf.chunk_bytes > (1 << 20) || !ckpt::row_fits(row, leaf, entry.bytes)) return;
    row = ckpt::LeafReader().measure(bytes(entry.path, row.offset, row.stored_bytes), row, leaf);
  }

  void tensor(ckpt::StoredTensor& tensor) {
    std::vector<ckpt::Digest> leaves;
    for (const ckpt::Piece& piece : tensor.pieces) {
      const std::vector<ckpt::LeafRow>& rows = rows_[piece.file];
      if (piece.row > rows.size() || piece.leaf_count > rows.size() - piece.row) return;
      for (std::uint64_t i = 0; i < piece.leaf_count; ++i) leaves.push_back(rows[piece.row + i].raw);
    }
    tensor.digest = ckpt::tensor_digest(leaves);
  }

  template <typename Value, typename Decode>
  bool load(const char* component, Decode decode, Value& value) {
    const ckpt::ComponentEntry* entry = manifest_.component(component);
    if (entry == nullptr) return true;
    const auto decoded = decode(
        component, as_text(bytes(ckpt::json_path(component), 0, std::min<std::uint64_t>(entry->bytes, 1 << 20))));
    if (decoded.ok()) value = *decoded;
    return decoded.ok();
  }

  void id() {
    ckpt::LrSchedule lr;
    ckpt::DataPosition data;
    ckpt::TrainState train;
    if (load(ckpt::kLrScheduler, ckpt::decode_lr_schedule, lr) &&
        load(ckpt::kDataloader, ckpt::decode_data_position, data) &&
        load(ckpt::kTrainState, ckpt::decode_train_state, train))
      manifest_.id = ckpt::checkpoint_id(manifest_, lr, data, train.tokens);
  }

  ckpt::testing::MemFs& fs_;
  std::string folder_;
  ckpt::Manifest& manifest_;
  std::vector<std::vector<ckpt::LeafRow>> rows_;  // by file
};

/// Puts `text` in the place of a file of another length.
inline void replace_file(ckpt::Fs& fs, const std::string& path, std::string_view text) {
  require(fs.remove_file(path).ok());
  require(ckpt::write_new_file(fs, path, std::as_bytes(std::span(text))).ok());
}

}  // namespace titan::fuzz
