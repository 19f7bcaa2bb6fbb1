#include "ckpt/format/manifest_check.h"

#include <algorithm>
#include <unordered_set>

#include "ckpt/format/member_names.h"
#include "ckpt/format/shard_file.h"

namespace titan::ckpt {
namespace {

struct Extent {
  std::uint64_t begin = 0, end = 0;
};

// The byte ranges of one shard that pieces use, one list per slot. Pieces are visited parameter by parameter and are
// stored slot by slot, so each list is already in ascending order.
struct Usage {
  std::vector<std::vector<Extent>> rows, bytes;
  void add(std::size_t slot, const Extent& row, const Extent& byte) {
    if (rows.size() <= slot) {
      rows.resize(slot + 1);
      bytes.resize(slot + 1);
    }
    rows[slot].push_back(row);
    bytes[slot].push_back(byte);
  }
};

std::vector<Extent> joined(const std::vector<std::vector<Extent>>& lists) {
  std::vector<Extent> all;
  std::size_t count = 0;
  for (const std::vector<Extent>& list : lists) count += list.size();
  all.reserve(count + 1);  // one more for the table
  for (const std::vector<Extent>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

struct Totals {
  std::uint64_t raw_bytes = 0;
  std::vector<bool> files;  // by index: whether it holds a piece
};

void sort_by_begin(std::vector<Extent>& extents) {
  const auto by_begin = [](const Extent& a, const Extent& b) { return a.begin < b.begin; };
  if (!std::is_sorted(extents.begin(), extents.end(), by_begin)) std::sort(extents.begin(), extents.end(), by_begin);
}

class Checker {
 public:
  explicit Checker(const Manifest& manifest) : manifest_(manifest), usage_(manifest.files.size()) {
    model_.files.resize(manifest.files.size());
    optimizer_.files.resize(manifest.files.size());
  }

  Status run() {
    const Mesh& mesh = manifest_.mesh;
    if (mesh.pp == 0 || mesh.dp == 0 || mesh.tp == 0) return corrupt("a degree of the mesh is 0");
    if (manifest_.leaf_elements == 0 || manifest_.leaf_elements > std::uint64_t{1} << 32)
      return corrupt("leaf_elements is " + std::to_string(manifest_.leaf_elements) + ", expected 1 to 2^32");
    TITAN_RETURN_IF_ERROR(members());
    TITAN_RETURN_IF_ERROR(parameters());
    TITAN_RETURN_IF_ERROR(shards());
    return components();
  }

 private:
  Status members() {
    std::unordered_set<std::string_view> paths;
    for (const FileEntry& file : manifest_.files) {
      TITAN_RETURN_IF_ERROR(check_member_path(file.path));
      if (file.path == kManifestFile) return corrupt("the manifest lists itself");
      if (!paths.insert(file.path).second) return corrupt("member '" + file.path + "' is listed twice");
      if (file.role == FileRole::kJson && file.bytes > max_json_bytes(file.path))
        return corrupt("member '" + file.path + "' has " + std::to_string(file.bytes) + " bytes, at most " +
                       std::to_string(max_json_bytes(file.path)) + " are allowed");
      if (file.role != FileRole::kShard) continue;
      if (file.table_offset > file.bytes || file.table_rows > (file.bytes - file.table_offset) / kLeafRowBytes)
        return corrupt("the leaf table of '" + file.path + "' does not fit in the file");
    }
    return ok_status();
  }

  Status parameters() {
    std::unordered_set<std::string_view> names;
    names.reserve(manifest_.parameters.size());
    for (const ParameterRecord& record : manifest_.parameters) {
      if (Status name = check_parameter_name(record.meta.name); !name.ok()) return corrupt(name.message);
      if (!names.insert(record.meta.name).second)
        return corrupt("parameter '" + record.meta.name + "' is listed twice");
      if (record.model) TITAN_RETURN_IF_ERROR(tensor(record, "", 0, *record.model, model_));
      for (std::size_t i = 0; i < record.slots.size(); ++i) {
        const std::string& slot = record.slots[i].name;
        if (!is_slot_name(slot))
          return corrupt("slot name '" + slot + "' of '" + record.meta.name + "': only a-z, 0-9 and _ are allowed");
        for (std::size_t j = 0; j < i; ++j) {
          if (record.slots[j].name == slot)
            return corrupt("slot '" + slot + "' of '" + record.meta.name + "' is there twice");
        }
        TITAN_RETURN_IF_ERROR(tensor(record, slot, i, record.slots[i].tensor, optimizer_));
      }
      with_model_ += record.model.has_value();
      with_slots_ += !record.slots.empty();
    }
    return ok_status();
  }

  Status tensor(const ParameterRecord& record, std::string_view slot, std::size_t slot_index,
                const StoredTensor& tensor, Totals& totals) {
    const auto wrong = [&](const std::string& what) {
      return corrupt("tensor '" + record.meta.name + (slot.empty() ? "" : ".") + std::string(slot) + "': " + what);
    };
    std::uint64_t elements = 0;
    if (record.meta.shape.size() > 32) return wrong("it has more than 32 dimensions");
    const std::uint64_t size = dtype_size(tensor.dtype);
    std::uint64_t tensor_bytes = 0;
    if (!checked_elements(record.meta.shape, &elements) || __builtin_mul_overflow(elements, size, &tensor_bytes) ||
        tensor_bytes > std::uint64_t{1} << 63)
      return wrong("its shape overflows");
    const LeafGrid grid{elements, manifest_.leaf_elements};
    if (tensor.chunk != grid.chunk_extent())
      return wrong("chunk is " + std::to_string(tensor.chunk) + ", expected " + std::to_string(grid.chunk_extent()));
    const std::uint64_t leaves = grid.count();
    std::uint64_t next = 0;
    for (const Piece& piece : tensor.pieces) {
      if (piece.first_leaf != next || piece.leaf_count == 0 || piece.leaf_count > leaves - next)
        return wrong("its pieces do not cover leaf " + std::to_string(next) + " exactly once");
      next += piece.leaf_count;
      if (piece.file >= manifest_.files.size() || manifest_.files[piece.file].role != FileRole::kShard)
        return wrong("a piece names file " + std::to_string(piece.file) + ", which is no shard");
      const FileEntry& file = manifest_.files[piece.file];
      const std::uint64_t bytes = (grid.begin(next) - grid.begin(piece.first_leaf)) * size;
      const bool raw = piece.codec == Codec::kRaw;
      if (piece.row > file.table_rows || piece.leaf_count > file.table_rows - piece.row)
        return wrong("rows of a piece lie outside the leaf table of '" + file.path + "'");
      if (!raw && tensor.chunk > kMaxChunkBytes / size)
        return wrong("its chunk of " + std::to_string(tensor.chunk) + " elements is too large for compressed pieces");
      if (piece.offset > file.bytes || (raw ? bytes : 1) > file.bytes - piece.offset)
        return wrong("a piece lies outside '" + file.path + "'");
      // Only the leaf table has the lengths of compressed leaves. This checks that no two begin at the same byte.
      usage_[piece.file].add(slot_index, {piece.row, piece.row + piece.leaf_count},
                             {piece.offset, piece.offset + (raw ? bytes : 1)});
      totals.files[piece.file] = true;
      totals.raw_bytes += bytes;
    }
    if (next != leaves) return wrong("its pieces do not cover leaf " + std::to_string(next));
    return ok_status();
  }

  Status shards() {
    for (std::size_t i = 0; i < usage_.size(); ++i) {
      const FileEntry& file = manifest_.files[i];
      if (file.role != FileRole::kShard) continue;
      std::vector<Extent> rows = joined(usage_[i].rows), bytes = joined(usage_[i].bytes);
      bytes.push_back({file.table_offset, file.table_offset + file.table_rows * kLeafRowBytes});
      sort_by_begin(rows);
      sort_by_begin(bytes);
      std::uint64_t next = 0;
      for (const Extent& extent : rows) {
        if (extent.begin != next)
          return corrupt("row " + std::to_string(next) + " of the leaf table of '" + file.path +
                         "' is not used exactly once");
        next = extent.end;
      }
      if (next != file.table_rows)
        return corrupt("row " + std::to_string(next) + " of the leaf table of '" + file.path + "' is not used");
      for (std::size_t k = 1; k < bytes.size(); ++k) {
        if (bytes[k].begin < bytes[k - 1].end)
          return corrupt("pieces overlap in '" + file.path + "' at offset " + std::to_string(bytes[k].begin));
      }
    }
    return ok_status();
  }

  Status components() {
    std::unordered_set<std::string_view> names;
    for (const ComponentEntry& entry : manifest_.components) {
      if (!names.insert(entry.name).second) return corrupt("component '" + entry.name + "' is listed twice");
    }
    if (with_model_ != (manifest_.component(kModel) ? manifest_.parameters.size() : 0))
      return corrupt("the component 'model' and the parameters' 'model' records do not agree");
    if ((with_slots_ > 0) != (manifest_.component(kOptimizer) != nullptr))
      return corrupt("the component 'optimizer' and the parameters' slots do not agree");
    TITAN_RETURN_IF_ERROR(sums(kModel, model_));
    TITAN_RETURN_IF_ERROR(sums(kOptimizer, optimizer_));
    for (const char* name : {kLrScheduler, kDataloader, kTrainState}) TITAN_RETURN_IF_ERROR(json(name));
    return ok_status();
  }

  Status sums(const char* name, const Totals& totals) {
    const ComponentEntry* entry = manifest_.component(name);
    if (!entry) return ok_status();
    std::uint64_t stored = 0, files = 0;
    for (std::size_t i = 0; i < totals.files.size(); ++i) {
      stored += totals.files[i] ? manifest_.files[i].bytes : 0;
      files += totals.files[i];
    }
    if (entry->bytes != totals.raw_bytes || entry->stored_bytes != stored || entry->files != files)
      return corrupt("component '" + std::string(name) + "': bytes or files do not agree with its pieces");
    return ok_status();
  }

  Status json(const char* name) {
    const ComponentEntry* entry = manifest_.component(name);
    const std::string path = json_path(name);
    const auto member = std::ranges::find(manifest_.files, path, &FileEntry::path);
    if ((entry != nullptr) != (member != manifest_.files.end()))
      return corrupt("component '" + std::string(name) + "' and member '" + path + "' must come together");
    if (entry && (member->role != FileRole::kJson || member->whole != entry->digest || member->bytes != entry->bytes))
      return corrupt("component '" + std::string(name) + "' and member '" + path + "' do not agree");
    return ok_status();
  }

  const Manifest& manifest_;
  std::vector<Usage> usage_;
  Totals model_, optimizer_;
  std::size_t with_model_ = 0, with_slots_ = 0;
};

}  // namespace

Status check_manifest(const Manifest& manifest) { return Checker(manifest).run(); }

}  // namespace titan::ckpt
