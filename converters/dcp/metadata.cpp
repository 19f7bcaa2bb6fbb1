#include "converters/dcp/metadata.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ckpt/base/text.h"
#include "ckpt/model/leaf.h"
#include "converters/pickle/pickle_names.h"

namespace titan::convert::dcp {
namespace {

constexpr std::size_t kMaxRank = 16;
constexpr std::size_t kMaxName = 4096;
constexpr std::size_t kMaxState = 64;  // most members of an instance; torch's instances have at most six

// The storage of one key, not yet matched with chunks.
struct StoredIndex {
  std::optional<std::vector<std::uint64_t>> offset;
  ItemPlace place;
};

class MetadataParser {
 public:
  explicit MetadataParser(const Pickle& pickle) : p_(pickle) {}

  Result<Metadata> run() {
    TITAN_ASSIGN_OR_RETURN(const NodeId state, state_of(p_.root(), kMetadataModule, "Metadata", "the pickle"));
    if (const NodeId version = p_.find(state, "version"); p_.is(version, NodeKind::kText))
      out_.version = p_.text(version);
    TITAN_RETURN_IF_ERROR(read_storage(p_.find(state, "storage_data")));
    TITAN_RETURN_IF_ERROR(read_entries(p_.find(state, "state_dict_metadata")));
    TITAN_RETURN_IF_ERROR(check_items());
    sort_files();
    return std::move(out_);
  }

 private:
  Status bad(const std::string& message) const { return ckpt::corrupt(p_.what() + ": " + message); }

  // The state dict (`__dict__`) of an instance of the class module.name.
  Result<NodeId> state_of(NodeId node, std::string_view module, std::string_view name, const std::string& where) const {
    if (!p_.is(node, NodeKind::kInstance) || !p_.is_made_by(node, module, name))
      return bad(where + " is " + p_.describe(node) + " instead of a " + std::string(name));
    if (!p_.is(p_.state(node), NodeKind::kDict))
      return bad(where + ": the state of a " + std::string(name) + " is " + p_.describe(p_.state(node)));
    if (p_.size(p_.state(node)) > 2 * kMaxState)
      return bad(where + ": a " + std::string(name) + " of " + p_.describe(p_.state(node)));
    return p_.state(node);
  }

  // Limits the parts of all lists. A forged pickle can refer to one value many times, at two bytes each, to exhaust
  // memory; torch writes a separate value for every part.
  Status count_parts(std::size_t parts, const std::string& where) {
    parts_ += parts;
    return parts_ <= p_.nodes() ? Status{} : bad(where + " has more parts than the pickle has values");
  }

  // A torch.Size, or a plain tuple or list of non-negative numbers.
  Result<std::vector<std::uint64_t>> dims(NodeId node, const std::string& where) const {
    if (p_.is_made_by(node, "torch", "Size") && p_.size(p_.arguments(node)) == 1) node = p_.item(p_.arguments(node), 0);
    if (!p_.is(node, NodeKind::kTuple) && !p_.is(node, NodeKind::kList))
      return bad(where + " is " + p_.describe(node) + " instead of a torch.Size");
    if (p_.size(node) > kMaxRank)
      return bad(where + " has " + std::to_string(p_.size(node)) + " dimensions, at most " + std::to_string(kMaxRank) +
                 " are read");
    std::vector<std::uint64_t> out;
    for (std::size_t i = 0; i < p_.size(node); ++i) {
      TITAN_ASSIGN_OR_RETURN(const std::uint64_t value, number(p_.item(node, i), where));
      out.push_back(value);
    }
    return out;
  }
  Result<std::uint64_t> number(NodeId node, const std::string& where) const {
    if (!p_.is(node, NodeKind::kInt) || p_.integer(node) < 0)
      return bad(where + " has " + p_.describe(node) + " instead of a number that is not negative");
    return static_cast<std::uint64_t>(p_.integer(node));
  }
  Result<std::string> key(NodeId node, const std::string& where) const {
    if (!p_.is(node, NodeKind::kText)) return bad(where + " is " + p_.describe(node) + " instead of a string");
    if (p_.text(node).size() > kMaxName)
      return bad(where + " has " + std::to_string(p_.text(node).size()) + " bytes, at most " +
                 std::to_string(kMaxName) + " are read");
    return std::string(p_.text(node));
  }

  Status read_storage(NodeId dict) {
    if (!p_.is(dict, NodeKind::kDict)) return bad("storage_data is " + p_.describe(dict) + " instead of a dict");
    TITAN_RETURN_IF_ERROR(count_parts(p_.size(dict), "storage_data"));
    for (std::size_t i = 0; i < p_.size(dict); i += 2) {
      TITAN_ASSIGN_OR_RETURN(const NodeId index,
                             state_of(p_.item(dict, i), kMetadataModule, "MetadataIndex", "a key of storage_data"));
      TITAN_ASSIGN_OR_RETURN(const std::string name, key(p_.find(index, "fqn"), "the fqn of a MetadataIndex"));
      const std::string where = "storage of " + name;
      StoredIndex stored;
      if (const NodeId offset = p_.find(index, "offset"); offset != kNoNode && !p_.is(offset, NodeKind::kNone)) {
        TITAN_ASSIGN_OR_RETURN(stored.offset, dims(offset, where + ": offset"));
      }
      TITAN_ASSIGN_OR_RETURN(const NodeId info,
                             state_of(p_.item(dict, i + 1), kFilesystemModule, "_StorageInfo", where));
      TITAN_ASSIGN_OR_RETURN(const std::string path, key(p_.find(info, "relative_path"), where + ": relative_path"));
      TITAN_ASSIGN_OR_RETURN(stored.place.offset, number(p_.find(info, "offset"), where + ": offset"));
      TITAN_ASSIGN_OR_RETURN(stored.place.length, number(p_.find(info, "length"), where + ": length"));
      const NodeId transforms = p_.find(info, "transform_descriptors");
      if (transforms != kNoNode && !p_.is(transforms, NodeKind::kNone) && p_.size(transforms) > 0) {
        return ckpt::unsupported(p_.what() + ": " + where + " is transformed (" + p_.describe(p_.item(transforms, 0)) +
                                 "); compressed items are not read");
      }
      TITAN_ASSIGN_OR_RETURN(stored.place.file, file_index(path));
      storage_[name].push_back(std::move(stored));
    }
    for (auto& [name, list] : storage_) {
      std::ranges::sort(list, {}, &StoredIndex::offset);
      for (std::size_t i = 1; i < list.size(); ++i)
        if (list[i].offset == list[i - 1].offset) return bad("storage of " + name + " is there twice for one offset");
    }
    return {};
  }

  Result<std::uint32_t> file_index(const std::string& path) {
    const auto [found, added] = file_of_.try_emplace(path, static_cast<std::uint32_t>(out_.files.size()));
    if (added) {
      if (Status status = check_relative_path(path); !status.ok())
        return status.wrapped(p_.what() + ": a relative_path leaves the directory");
      out_.files.push_back(path);
    }
    return found->second;
  }

  Status read_entries(NodeId dict) {
    if (!p_.is(dict, NodeKind::kDict)) return bad("state_dict_metadata is " + p_.describe(dict) + " instead of a dict");
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < p_.size(dict); i += 2) {
      TITAN_ASSIGN_OR_RETURN(const std::string name, key(p_.item(dict, i), "a key of state_dict_metadata"));
      if (!names.insert(p_.text(p_.item(dict, i))).second) return bad("key " + name + " is there twice");
      const NodeId value = p_.item(dict, i + 1);
      if (p_.is_made_by(value, kMetadataModule, "BytesStorageMetadata")) {
        TITAN_RETURN_IF_ERROR(read_bytes(name));
      } else {
        TITAN_ASSIGN_OR_RETURN(const NodeId state, state_of(value, kMetadataModule, "TensorStorageMetadata", name));
        TITAN_RETURN_IF_ERROR(read_tensor(name, state));
      }
    }
    std::ranges::sort(out_.tensors, {}, &TensorEntry::name);
    std::ranges::sort(out_.values, {}, &BytesEntry::name);
    return {};
  }

  Status read_bytes(const std::string& name) {
    const auto found = storage_.find(name);
    if (found == storage_.end()) return bad(name + " has no item in storage_data");
    if (found->second.size() != 1 || found->second[0].offset)
      return bad(name + " is no tensor, but storage_data has offsets for it");
    out_.values.push_back({name, found->second[0].place});
    return {};
  }

  // The dtype in TensorProperties: a tuple of five or six, in old files a dict.
  Result<std::string> read_dtype(const std::string& name, NodeId properties) const {
    const std::string where = name + ": properties";
    if (!p_.is(properties, NodeKind::kInstance) || p_.name(p_.callee(properties)) != "TensorProperties")
      return bad(where + " are " + p_.describe(properties));
    const NodeId state = p_.state(properties);
    NodeId dtype = kNoNode, layout = kNoNode;
    if (p_.is(state, NodeKind::kTuple) && (p_.size(state) == 5 || p_.size(state) == 6)) {
      dtype = p_.item(state, 0);
      layout = p_.item(state, 1);
      if (const NodeId format = p_.item(state, 3); !p_.is(format, NodeKind::kCall))
        return bad(where + ": memory format " + p_.describe(format));
    } else if (p_.is(state, NodeKind::kDict)) {
      dtype = p_.find(state, "dtype");
      layout = p_.find(state, "layout");
    } else {
      return bad(where + " hold " + p_.describe(state) + " instead of a tuple of 5 or 6");
    }
    if (!p_.is(dtype, NodeKind::kGlobal) || p_.module(dtype) != "torch")
      return bad(where + ": element type " + p_.describe(dtype));
    const bool strided =
        p_.is_global(layout, "torch", "strided") ||
        (p_.is_made_by(layout, "torch.serialization", "_get_layout") && p_.size(p_.arguments(layout)) == 1 &&
         p_.is(p_.item(p_.arguments(layout), 0), NodeKind::kText) &&
         p_.text(p_.item(p_.arguments(layout), 0)) == "torch.strided");
    if (!strided && layout != kNoNode)
      return ckpt::unsupported(p_.what() + ": " + where + ": the layout is not torch.strided");
    return std::string(p_.name(dtype));
  }

  Status read_tensor(const std::string& name, NodeId state) {
    TensorEntry tensor{name, {}, {}, {}};
    TITAN_ASSIGN_OR_RETURN(tensor.dtype, read_dtype(name, p_.find(state, "properties")));
    TITAN_ASSIGN_OR_RETURN(tensor.shape, dims(p_.find(state, "size"), name + ": size"));
    std::uint64_t elements = 0;
    if (!ckpt::checked_elements(tensor.shape, &elements)) return bad(name + ": the number of elements overflows");
    const NodeId chunks = p_.find(state, "chunks");
    if (!p_.is(chunks, NodeKind::kList))
      return bad(name + ": chunks are " + p_.describe(chunks) + " instead of a list");
    TITAN_RETURN_IF_ERROR(count_parts(p_.size(chunks), name + ": chunks"));
    const auto stored = storage_.find(name);
    for (std::size_t i = 0; i < p_.size(chunks); ++i) {
      const std::string where = name + ": chunk " + std::to_string(i);
      TITAN_ASSIGN_OR_RETURN(const NodeId box,
                             state_of(p_.item(chunks, i), kMetadataModule, "ChunkStorageMetadata", where));
      Chunk chunk;
      TITAN_ASSIGN_OR_RETURN(chunk.offsets, dims(p_.find(box, "offsets"), where + ": offsets"));
      TITAN_ASSIGN_OR_RETURN(chunk.sizes, dims(p_.find(box, "sizes"), where + ": sizes"));
      if (chunk.offsets.size() != tensor.shape.size() || chunk.sizes.size() != tensor.shape.size()) {
        return bad(where + " has " + std::to_string(chunk.offsets.size()) + " and " +
                   std::to_string(chunk.sizes.size()) + " dimensions, the tensor has " +
                   std::to_string(tensor.shape.size()));
      }
      bool empty = false;
      for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
        if (chunk.sizes[d] > tensor.shape[d] || chunk.offsets[d] > tensor.shape[d] - chunk.sizes[d])
          return bad(where + " leaves the tensor in dimension " + std::to_string(d));
        empty = empty || chunk.sizes[d] == 0;
      }
      if (empty) continue;  // uneven sharding: legal, and several empty chunks may share one index
      if (stored == storage_.end()) return bad(where + " has no item in storage_data");
      TITAN_RETURN_IF_ERROR(place_chunk(where, stored->second, chunk));
      tensor.chunks.push_back(std::move(chunk));
    }
    TITAN_RETURN_IF_ERROR(check_cover(p_.what() + ": " + name, tensor.shape, tensor.chunks));
    std::ranges::sort(tensor.chunks, {}, &Chunk::offsets);
    out_.tensors.push_back(std::move(tensor));
    return {};
  }

  Status place_chunk(const std::string& where, const std::vector<StoredIndex>& list, Chunk& chunk) const {
    const auto found = std::ranges::lower_bound(list, std::optional(chunk.offsets), {}, &StoredIndex::offset);
    if (found == list.end() || found->offset != chunk.offsets) return bad(where + " has no item in storage_data");
    chunk.place = found->place;
    return {};
  }

  // Items of one file must not overlap: two keys with one range would be a crafted file.
  Status check_items() const {
    struct Range {
      ItemPlace place;
      const std::string* name;
    };
    std::vector<Range> ranges;
    for (const TensorEntry& tensor : out_.tensors)
      for (const Chunk& chunk : tensor.chunks) ranges.push_back({chunk.place, &tensor.name});
    for (const BytesEntry& value : out_.values) ranges.push_back({value.place, &value.name});
    std::ranges::sort(ranges, {}, [](const Range& range) { return std::pair(range.place.file, range.place.offset); });
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const ItemPlace& place = ranges[i].place;
      std::uint64_t end = 0;
      if (__builtin_add_overflow(place.offset, place.length, &end))
        return bad(*ranges[i].name + ": offset and length overflow");
      if (i + 1 < ranges.size() && ranges[i + 1].place.file == place.file && ranges[i + 1].place.offset < end) {
        return bad("the items of " + *ranges[i].name + " and " + *ranges[i + 1].name + " overlap in " +
                   out_.files[place.file]);
      }
    }
    return {};
  }

  void sort_files() {
    std::vector<std::string> sorted = out_.files;
    std::ranges::sort(sorted);
    std::vector<std::uint32_t> moved;
    for (const std::string& file : out_.files)
      moved.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(sorted, file) - sorted.begin()));
    for (TensorEntry& tensor : out_.tensors)
      for (Chunk& chunk : tensor.chunks) chunk.place.file = moved[chunk.place.file];
    for (BytesEntry& value : out_.values) value.place.file = moved[value.place.file];
    out_.files = std::move(sorted);
  }

  const Pickle& p_;
  Metadata out_;
  std::size_t parts_ = 0;
  std::unordered_map<std::string, std::vector<StoredIndex>> storage_;
  std::map<std::string, std::uint32_t> file_of_;
};

template <typename Entry>
const Entry* find_by_name(const std::vector<Entry>& entries, std::string_view name) {
  const auto found = std::ranges::lower_bound(entries, name, {}, &Entry::name);
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

const TensorEntry* Metadata::tensor(std::string_view name) const { return find_by_name(tensors, name); }
const BytesEntry* Metadata::value(std::string_view name) const { return find_by_name(values, name); }

Result<Metadata> parse_metadata(const Pickle& pickle) { return MetadataParser(pickle).run(); }

Result<Metadata> decode_metadata(std::string what, std::string bytes) {
  TITAN_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::decode(std::move(what), std::move(bytes)));
  return parse_metadata(pickle);
}

Status check_relative_path(std::string_view path) {
  const auto bad = [&](const char* why) {
    return ckpt::corrupt("path '" + std::string(path.substr(0, 200)) + "' " + why);
  };
  if (path.empty()) return bad("is empty");
  if (path.size() > 255) return bad("is longer than 255 bytes");
  if (path.front() == '/') return bad("begins with '/'");
  for (const char c : path)
    if (c == ':' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return bad("has a character that is not allowed");
  for (const std::string& part : ckpt::split(path, '/'))
    if (part.empty() || part == "." || part == "..") return bad("has an empty, '.' or '..' part");
  return {};
}

}  // namespace titan::convert::dcp
