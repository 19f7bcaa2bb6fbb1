#include "ckpt/format/manifest_decode.h"

#include <vector>

#include "ckpt/format/format_limits.h"
#include "ckpt/format/json_fields.h"
#include "ckpt/format/manifest_check.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

// Limits the memory of the decoded manifest, whatever its text contains. \source FORMAT.md, "manifest.json"
class Budget {
 public:
  explicit Budget(JsonReader& in) : in_(in) {}
  void spend(std::uint64_t bytes) {
    spent_ += bytes;
    if (spent_ > kMaxManifestMemory && in_.ok())
      in_.fail("it has more members, parameters, pieces and settings than a reader takes (" +
               std::to_string(kMaxManifestMemory) + " bytes in memory)");
  }

 private:
  JsonReader& in_;
  std::uint64_t spent_ = 0;
};

constexpr std::size_t kMaxDimensions = 32, kMaxFeatures = 64;

FileRole read_role(JsonReader& in) {
  const std::string_view text = in.text();
  for (const FileRole role : {FileRole::kShard, FileRole::kJson, FileRole::kDerived}) {
    if (text == role_text(role)) return role;
  }
  if (in.ok()) in.fail(incompatible("role '" + std::string(text) + "' of a member is not known to this version"));
  return FileRole::kDerived;
}

FileEntry read_file_entry(JsonReader& in) {
  FileEntry file;
  const auto role = [&] { file.role = read_role(in); };
  SeenKeys seen = read_object(in, "a member", JsonField{"path", file.path}, JsonField{"role", role},
                              JsonField{"bytes", file.bytes}, JsonField{"table_offset", file.table_offset, false},
                              JsonField{"table_rows", file.table_rows, false}, JsonField{"table", file.table, false},
                              JsonField{"envelope", file.envelope, false}, JsonField{"digest", file.whole, false});
  if (file.role == FileRole::kShard) {
    unsigned bit = 3;
    for (const char* name : {"table_offset", "table_rows", "table", "envelope"}) seen.require(bit++, name);
  } else {
    seen.require(7, "digest");
  }
  return file;
}

Piece read_piece(JsonReader& in) {
  Piece piece;
  std::size_t count = 0;
  in.array([&](std::size_t i) {
    ++count;
    switch (i) {
      case 0: piece.file = in.u32(); break;
      case 1: piece.first_leaf = in.u64(); break;
      case 2: piece.leaf_count = in.u64(); break;
      case 3: piece.offset = in.u64(); break;
      case 4: piece.row = in.u64(); break;
      case 5: {
        const std::uint64_t codec = in.u64();
        if (codec > static_cast<std::uint64_t>(Codec::kZstd))
          in.fail(incompatible("codec " + std::to_string(codec) + " of a piece is not known to this version"));
        else
          piece.codec = static_cast<Codec>(codec);
        break;
      }
      default: in.fail("a piece has 5 or 6 integers"); break;
    }
  });
  if (count < 5) in.fail("a piece has 5 or 6 integers, found " + std::to_string(count));
  return piece;
}

// Returns no Result for speed: a manifest has one dtype per tensor.
DType read_dtype(JsonReader& in) {
  const std::string_view name = in.text();
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI64, DType::kI32, DType::kU8}) {
    if (name == dtype_name(dtype)) return dtype;
  }
  if (in.ok()) in.fail("unknown dtype '" + std::string(name) + "'");
  return DType::kF32;
}

StoredTensor read_stored(JsonReader& in, Budget& budget) {
  budget.spend(kTensorCost);
  StoredTensor tensor;
  const auto pieces = [&] {
    in.array([&](std::size_t) {
      budget.spend(kPieceCost);
      tensor.pieces.push_back(read_piece(in));
    });
  };
  read_object(in, "a stored tensor", JsonField{"dtype", [&] { tensor.dtype = read_dtype(in); }},
              JsonField{"chunk", tensor.chunk}, JsonField{"digest", tensor.digest}, JsonField{"pieces", pieces});
  return tensor;
}

void read_order(JsonReader& in) {
  const std::string_view order = in.text();
  if (in.ok() && order != "row_major")
    in.fail(incompatible("order '" + std::string(order) +
                         "' of elements is not known to this version (it knows row_major)"));
}

ParameterRecord read_parameter(JsonReader& in, Budget& budget) {
  budget.spend(kParameterCost);
  ParameterRecord record;
  const auto extent = [&](std::size_t i) {
    if (i == kMaxDimensions) in.fail("a parameter has more than 32 dimensions");
    record.meta.shape.push_back(in.u64());
  };
  const auto slots = [&] {
    record.slots.reserve(2);  // those of Adam
    in.object([&](std::string_view slot) { record.slots.push_back({std::string(slot), read_stored(in, budget)}); });
  };
  const SeenKeys seen = read_object(
      in, "a parameter", JsonField{"name", record.meta.name}, JsonField{"shape", [&] { in.array(extent); }},
      JsonField{"stage", record.meta.stage}, JsonField{"model", [&] { record.model = read_stored(in, budget); }, false},
      JsonField{"slots", slots, false}, JsonField{"optimizer_step", record.optimizer_step, false},
      JsonField{"order", [&] { read_order(in); }, false});
  budget.spend(record.meta.name.size());
  if (seen.has(4) && record.slots.empty()) in.fail("empty 'slots' of parameter '" + record.meta.name + "'");
  if (seen.has(4) != seen.has(5))
    in.fail("'slots' and 'optimizer_step' of parameter '" + record.meta.name + "' must come together");
  return record;
}

ComponentEntry read_component(JsonReader& in) {
  ComponentEntry entry;
  read_object(in, "a component", JsonField{"name", entry.name}, JsonField{"digest", entry.digest},
              JsonField{"bytes", entry.bytes}, JsonField{"stored_bytes", entry.stored_bytes},
              JsonField{"files", entry.files});
  return entry;
}

Mesh read_mesh(JsonReader& in) {
  Mesh mesh;
  read_object(in, "mesh", JsonField{"pp", mesh.pp}, JsonField{"dp", mesh.dp}, JsonField{"tp", mesh.tp});
  return mesh;
}

DerivedFrom read_derived_from(JsonReader& in, Budget& budget) {
  DerivedFrom from;
  const auto merged = [&] {
    in.array([&](std::size_t) {
      budget.spend(kSettingCost);
      MergedSource& source = from.merged.emplace_back();
      read_object(in, "a merged source", JsonField{"id", source.id}, JsonField{"step", source.step},
                  JsonField{"path", source.path}, JsonField{"weight", [&] { source.weight = in.real(); }});
      budget.spend(source.path.size());
    });
  };
  read_object(in, "derived_from", JsonField{"id", from.id}, JsonField{"step", from.step}, JsonField{"path", from.path},
              JsonField{"merged", merged, false});
  return from;
}

void read_format(JsonReader& in, Manifest& manifest) {
  std::string_view name;
  read_object(in, "format", JsonField{"name", name}, JsonField{"major", manifest.major},
              JsonField{"minor", manifest.minor});
  if (in.ok() && name != kFormatName)
    in.fail("format name '" + std::string(name) + "', expected '" + kFormatName + "'");
  if (in.ok() && manifest.major < kFormatMajor)
    in.fail("format version " + std::to_string(manifest.major) + " never existed");
  if (in.ok() && manifest.major > kFormatMajor) {
    in.fail(incompatible("format version " + std::to_string(manifest.major) + "." + std::to_string(manifest.minor) +
                         "; this program reads up to major version " + std::to_string(kFormatMajor))
                .with_hint("use a newer titan"));
  }
}

// Returns whether the manifest announces compressed pieces.
bool read_requires(JsonReader& in, Manifest& manifest) {
  bool zstd = false;
  std::vector<std::string> features;
  in.array([&](std::size_t i) {
    if (i == kMaxFeatures) in.fail("'requires' names more than 64 features");
    features.emplace_back(in.text());
  });
  if (!in.ok()) return false;
  for (const std::string& feature : features) {
    if (feature == "zstd")
      zstd = true;
    else if (feature == "excluded")
      manifest.excluded = true;
    else if (feature == "mixture")
      manifest.mixture = true;
    else
      in.fail(incompatible("it needs the feature '" + feature + "', which this version does not have")
                  .with_hint("use a newer titan"));
  }
  return zstd;
}

// The major version in `text`, 0 if it cannot be read. For texts whose self-digest does not match.
std::uint32_t peek_major(std::string_view text) {
  constexpr std::string_view kMajor = "\"major\":";
  const std::size_t at = text.substr(0, 512).find(kMajor);
  std::uint32_t major = 0;
  for (std::size_t i = at; at != std::string_view::npos && i + kMajor.size() < text.size(); ++i) {
    const char digit = text[i + kMajor.size()];
    if (digit < '0' || digit > '9' || major > 100'000) break;
    major = major * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  return major;
}

}  // namespace

Result<Manifest> decode_manifest(const std::string& what, std::string_view text) {
  if (Status intact = check_self_digest(what, text); !intact.ok()) {
    // A future version may compute the self-digest in another way. Then the error is about the version.
    const std::uint32_t major = peek_major(text);
    if (major <= kFormatMajor) return intact;
    Status newer = incompatible(what + ": format version " + std::to_string(major) +
                                "; this program reads up to major version " + std::to_string(kFormatMajor));
    newer.causes.push_back(intact.message);
    return newer.with_hint("use a newer titan");
  }
  JsonReader in(what, text);
  Manifest manifest;
  Budget budget(in);
  const auto each = [&](std::uint64_t cost, auto&& read) {
    in.array([&](std::size_t) {
      budget.spend(cost);
      read();
    });
  };
  bool zstd = false;
  const auto cuts = [&] { each(kSmallCost, [&] { manifest.stage_cuts.push_back(in.u32()); }); };
  const auto components = [&] { each(kSettingCost, [&] { manifest.components.push_back(read_component(in)); }); };
  const auto files = [&] { each(kFileCost, [&] { manifest.files.push_back(read_file_entry(in)); }); };
  const auto parameters = [&] {
    manifest.parameters.reserve(text.size() / 400);  // a small Llama with Adam has 450 bytes per parameter
    in.array([&](std::size_t) { manifest.parameters.push_back(read_parameter(in, budget)); });
  };
  const auto config = [&] {
    manifest.config = in.string_map([&](std::size_t bytes) { budget.spend(kSettingCost + bytes); });
  };
  read_object(in, "the manifest", JsonField{"self_digest", [&] { in.skip(); }},
              JsonField{"format", [&] { read_format(in, manifest); }},
              JsonField{"requires", [&] { zstd = read_requires(in, manifest); }}, JsonField{"id", manifest.id},
              JsonField{"step", manifest.step}, JsonField{"created", manifest.created},
              JsonField{"writer", manifest.writer}, JsonField{"mesh", [&] { manifest.mesh = read_mesh(in); }},
              JsonField{"stage_cuts", cuts}, JsonField{"leaf_elements", manifest.leaf_elements},
              JsonField{"order", [&] { read_order(in); }}, JsonField{"components", components},
              JsonField{"files", files}, JsonField{"parameters", parameters}, JsonField{"config", config},
              JsonField{"derived_from", [&] { manifest.derived_from = read_derived_from(in, budget); }, false});
  if (Status status = in.finish(); !status.ok()) {
    if (!status.message.starts_with(what)) status.message = what + ": " + status.message;
    return status;
  }
  if (!zstd && manifest.uses(Codec::kZstd))
    return corrupt(what + ": a piece is compressed, but 'requires' does not name 'zstd'");
  if (Status status = check_manifest(manifest); !status.ok()) {
    status.message = what + ": " + status.message;
    return status;
  }
  return manifest;
}

}  // namespace titan::ckpt
