#include "tests/fuzz/own_bombs.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "tests/fuzz/bytes_file.h"

namespace titan::fuzz {
namespace {

using ckpt::Digest;
using ckpt::FileEntry;
using ckpt::FileInfo;
using ckpt::kLeafRowBytes;
using ckpt::Manifest;
using ckpt::Result;
using ckpt::Status;

constexpr std::uint64_t kMillion = 1'000'000;

// Bytes that are made when they are read: none is in memory.
using Content = std::function<void(std::uint64_t offset, std::span<std::byte> out)>;
void zeros(std::uint64_t, std::span<std::byte> out) { std::fill(out.begin(), out.end(), std::byte{0}); }

struct Made {
  std::uint64_t size = 0, allocated = 0;
  Content content = zeros;
};

class MadeFile final : public ckpt::File {
 public:
  explicit MadeFile(const Made& made) : made_(made) {}
  Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    if (offset > made_.size || out.size() > made_.size - offset) return ckpt::corrupt("the file ends before");
    made_.content(offset, out);
    return ckpt::ok_status();
  }
  Status pwrite(std::uint64_t, std::span<const std::byte>) override { return ckpt::failed("read only"); }
  Status truncate(std::uint64_t) override { return ckpt::failed("read only"); }
  Result<std::uint64_t> size() override { return made_.size; }
  Status datasync() override { return ckpt::ok_status(); }
  Status close() override { return ckpt::ok_status(); }

 private:
  const Made& made_;
};

class MadeFolder final : public ckpt::ReadOnlyFs {
 public:
  std::map<std::string, Made> files;
  void put(const std::string& path, std::string text) {
    const auto kept = std::make_shared<std::string>(std::move(text));
    files[path] = {kept->size(), kept->size(), [kept](std::uint64_t offset, std::span<std::byte> out) {
                     std::memcpy(out.data(), kept->data() + offset, out.size());
                   }};
  }

  Result<std::unique_ptr<ckpt::File>> open_read(const std::string& path) override {
    const auto found = files.find(path);
    if (found == files.end()) return ckpt::not_found(path);
    return std::unique_ptr<ckpt::File>(std::make_unique<MadeFile>(found->second));
  }
  Result<FileInfo> stat(const std::string& path) override {
    FileInfo info;
    info.type = ckpt::FileType::kDirectory;
    if (const auto found = files.find(path); found != files.end()) {
      info.type = ckpt::FileType::kFile;
      info.size = found->second.size;
      info.allocated = found->second.allocated;
      return info;
    }
    const auto below = files.lower_bound(path + "/");
    if (below == files.end() || !below->first.starts_with(path + "/")) return ckpt::not_found(path);
    return info;
  }
  Result<std::vector<ckpt::DirEntry>> list(const std::string& path) override {
    return ckpt::failed(path + ": is not listed");
  }
};

constexpr const char* kRoot = "/c";
constexpr const char* kShard = "model/shard-00000.h5";

// A checkpoint of one tensor of `leaves` bytes, a leaf of one byte each, in one shard: data, then the table.
Manifest bytes_manifest(std::uint64_t leaves) {
  Manifest manifest;
  manifest.step = 7;
  manifest.leaf_elements = 1;
  FileEntry file;
  file.path = kShard;
  file.bytes = leaves + leaves * kLeafRowBytes;
  file.table_offset = leaves;
  file.table_rows = leaves;
  file.envelope = ckpt::digest_of(std::string_view());
  manifest.files.push_back(file);
  ckpt::ParameterRecord record;
  record.meta = {"w", {leaves}, 0};
  record.model = ckpt::StoredTensor{ckpt::DType::kU8, 1, {}, {{0, 0, leaves, 0, 0}}};
  manifest.parameters.push_back(record);
  manifest.components.push_back({ckpt::kModel, {}, leaves, file.bytes, 1});
  return manifest;
}

struct Checkpoint {
  MadeFolder fs;
  Manifest manifest;
  explicit Checkpoint(std::uint64_t leaves, std::uint64_t allocated) : manifest(bytes_manifest(leaves)) {
    fs.files[std::string(kRoot) + "/" + kShard] = {manifest.files[0].bytes, allocated};
  }
  void seal() { fs.put(std::string(kRoot) + "/manifest.json", encode_manifest(manifest)); }

  // One thread: the address space of threads is no memory, but it is limited here.
  Status verify() {
    seal();
    const auto report = ckpt::verify_checkpoint(fs, kRoot, {}, {}, 1);
    if (!report.ok()) return report.status();
    if (report->damage.empty()) return ckpt::ok_status();
    return ckpt::corrupt(report->damage[0].file + ": " + report->damage[0].unit + ": " + report->damage[0].detail +
                         " (" + std::to_string(report->damage.size() + report->not_named) + " places)");
  }
  // What cat and a resume do.
  Status read() {
    seal();
    auto reader = ckpt::CheckpointReader::open(fs, kRoot);
    if (!reader.ok()) return reader.status();
    std::vector<std::byte> out(1);
    return reader->read({0, ""}, {manifest.files[0].table_rows / 2, 1}, out);
  }
};

Digest digest_of_zeros(std::uint64_t bytes) {
  const std::vector<std::byte> part(1 << 20);
  ckpt::Hasher hasher;
  for (; bytes > 0; bytes -= std::min<std::uint64_t>(bytes, part.size()))
    hasher.update(std::span(part).first(std::min<std::uint64_t>(bytes, part.size())));
  return hasher.digest();
}

// A text of `head`, `element` again and again up to `bytes`, without its last comma, and `tail`; none of it is in
// memory.
Made endless(std::string head, std::string element, std::string tail, std::uint64_t bytes) {
  const std::uint64_t middle = bytes / element.size() * element.size() - 1;
  Made made;
  made.size = made.allocated = head.size() + middle + tail.size();
  made.content = [head, element, tail, middle](std::uint64_t offset, std::span<std::byte> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint64_t at = offset + i;
      const char c = at < head.size()            ? head[at]
                     : at < head.size() + middle ? element[(at - head.size()) % element.size()]
                                                 : tail[at - head.size() - middle];
      out[i] = static_cast<std::byte>(c);
    }
  };
  return made;
}

// The digest of the whole of `made`, whose self-digest is still zeros.
Digest digest_of(const Made& made) {
  std::vector<std::byte> part(1 << 20);
  ckpt::Hasher hasher;
  for (std::uint64_t at = 0; at < made.size; at += part.size()) {
    const std::span<std::byte> out = std::span(part).first(std::min<std::uint64_t>(part.size(), made.size - at));
    made.content(at, out);
    hasher.update(out);
  }
  return hasher.digest();
}

// A sealed manifest whose list or object `key` is full of `element`, in place of what a small one has.
Status manifest_with(const std::string& key, const std::string& open, const std::string& element,
                     const std::string& close) {
  std::string text = encode_manifest(bytes_manifest(1));
  std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(ckpt::kManifestPrefix.size()), 32, '0');
  std::size_t at = text.find("\"" + key + "\":[");
  if (at == std::string::npos) return ckpt::ok_status();  // which is reported
  at += key.size() + 3;
  std::size_t end = at;  // the last character of the old value
  for (int depth = 0; end < text.size(); ++end) {
    if (text[end] == '[' || text[end] == '{') ++depth;
    if (text[end] == ']' || text[end] == '}') --depth;
    if (depth == 0) break;
  }
  const std::string head = text.substr(0, at) + open, tail = close + text.substr(end + 1);
  const std::uint64_t room = ckpt::kMaxManifestBytes - head.size() - tail.size();
  std::string sealed = head;
  sealed.replace(ckpt::kManifestPrefix.size(), 32, digest_of(endless(head, element, tail, room)).hex());
  MadeFolder fs;
  fs.files[std::string(kRoot) + "/manifest.json"] = endless(sealed, element, tail, room);
  const auto report = ckpt::verify_checkpoint(fs, kRoot, {}, {}, 1);
  if (!report.ok()) return report.status();
  if (report->damage.empty()) return ckpt::ok_status();
  return ckpt::corrupt(report->damage[0].detail);
}

Status state_with(const std::string& head, const std::string& element, const std::string& tail) {
  const Made made = endless(head, element, tail, ckpt::max_json_bytes("train_state.json") - head.size() - tail.size());
  std::string text(made.size, ' ');
  made.content(0, std::as_writable_bytes(std::span(text)));
  return ckpt::decode_train_state("train_state.json", text).status();
}

}  // namespace

std::vector<OwnBomb> own_bombs() {
  const std::string attempt =
      R"({"step":1,"tokens":1,"seed":"1","origin":"","wall_time_s":0,"attempts":[{"number":1,"changed":[)";
  return {
      {"ours: 2^34 rows in a file without a byte on disk, verified",
       [] { return Checkpoint(std::uint64_t{1} << 34, 0).verify(); }},
      {"ours: 2^34 rows in a file without a byte on disk, read",
       [] { return Checkpoint(std::uint64_t{1} << 34, 0).read(); }},
      {"ours: 4 million rows of zeros, verified", [] { return Checkpoint(4 * kMillion, 4096).verify(); }},
      {"ours: 4 million rows of zeros, read", [] { return Checkpoint(4 * kMillion, 4096).read(); }},
      {"ours: 4 million rows of zeros under their right digest, verified",
       [] {
         Checkpoint bomb(4 * kMillion, 4096);
         bomb.manifest.files[0].table = digest_of_zeros(4 * kMillion * kLeafRowBytes);
         return bomb.verify();
       }},
      {"ours: 4 million rows of zeros under their right digest, read",
       [] {
         Checkpoint bomb(4 * kMillion, 4096);
         bomb.manifest.files[0].table = digest_of_zeros(4 * kMillion * kLeafRowBytes);
         return bomb.read();
       }},
      {"ours: a JSON member of 2^40 bytes",
       [] {
         Checkpoint bomb(1, 4096);
         FileEntry json;
         json.path = "train_state.json";
         json.role = ckpt::FileRole::kJson;
         json.bytes = std::uint64_t{1} << 40;
         bomb.manifest.files.push_back(json);
         bomb.manifest.components.push_back({ckpt::kTrainState, {}, json.bytes, json.bytes, 1});
         bomb.fs.files["/c/train_state.json"] = {json.bytes, 0};
         return bomb.verify();
       }},
      {"ours: a manifest of 2^40 bytes",
       [] {
         Checkpoint bomb(1, 4096);
         bomb.fs.files["/c/manifest.json"] = {std::uint64_t{1} << 40, 0};
         const auto report = ckpt::verify_checkpoint(bomb.fs, kRoot, {}, {}, 1);
         return !report.ok()             ? report.status()
                : report->damage.empty() ? ckpt::ok_status()
                                         : ckpt::corrupt(report->damage[0].detail);
       }},
      {"ours: a manifest full of pieces", [] { return manifest_with("pieces", "[", "[0,0,1,0,0],", "]"); }},
      {"ours: a manifest full of members",
       [] {
         return manifest_with(
             "files", "[", R"({"path":"a","role":"json","bytes":0,"digest":"00000000000000000000000000000000"},)", "]");
       }},
      {"ours: a manifest full of parameters",
       [] { return manifest_with("parameters", "[", R"({"name":"a","shape":[],"stage":0},)", "]"); }},
      {"ours: a manifest full of slots",
       [] {
         return manifest_with(
             "parameters", R"([{"name":"a","shape":[],"stage":0,"optimizer_step":0,"slots":{)",
             R"("a":{"dtype":"uint8","chunk":1,"digest":"00000000000000000000000000000000","pieces":[]},)", "}}]");
       }},
      {"ours: a manifest full of dimensions", [] { return manifest_with("shape", "[", "1,", "]"); }},
      {"ours: a manifest full of stage cuts", [] { return manifest_with("stage_cuts", "[", "1,", "]"); }},
      {"ours: a manifest full of features", [] { return manifest_with("requires", "[", R"("a",)", "]"); }},
      {"ours: a manifest full of components",
       [] {
         return manifest_with(
             "components", "[",
             R"({"name":"a","digest":"00000000000000000000000000000000","bytes":0,"stored_bytes":0,"files":0},)", "]");
       }},
      {"ours: a manifest full of escaped strings under an unknown key",
       [] { return manifest_with("requires", R"([],"unknown":[)", R"("\n",)", R"(],"requires":["x"])"); }},
      {"ours: a manifest full of escaped keys under an unknown key",
       [] { return manifest_with("requires", R"([],"unknown":{)", R"("\n":1,)", R"(},"requires":["x"])"); }},
      {"ours: a train_state full of notes", [attempt] { return state_with(attempt, R"("",)", "]}]}"); }},
      {"ours: a train_state full of escaped notes", [attempt] { return state_with(attempt, R"("\n",)", "]}]}"); }},
      {"ours: a train_state full of attempts", [] { return state_with(R"({"attempts":[)", R"({},)", "]}"); }},
  };
}

Status verify_four_million_leaves() {
  constexpr std::uint64_t kLeaves = 4 * kMillion;
  Checkpoint honest(kLeaves, 1 << 28);
  const std::byte zero[1] = {};
  const Digest leaf = ckpt::digest_of(std::span<const std::byte>(zero));
  const auto row = [leaf](std::uint64_t index) { return ckpt::encode_leaf_table({{index, 1, 1, 0, leaf, leaf}}); };
  Made& made = honest.fs.files[std::string(kRoot) + "/" + kShard];
  made.content = [&](std::uint64_t offset, std::span<std::byte> out) {
    std::uint64_t cached = UINT64_MAX;
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < out.size();) {
      const std::uint64_t at = offset + i;
      if (at < kLeaves) {
        out[i++] = std::byte{0};
        continue;
      }
      const std::uint64_t index = (at - kLeaves) / kLeafRowBytes, in_row = (at - kLeaves) % kLeafRowBytes;
      if (index != cached) bytes = row(cached = index);
      const std::size_t count = std::min<std::size_t>(kLeafRowBytes - in_row, out.size() - i);
      std::memcpy(out.data() + i, bytes.data() + in_row, count);
      i += count;
    }
  };
  ckpt::Hasher table, tensor;
  for (std::uint64_t i = 0; i < kLeaves; ++i) {
    table.update(row(i));
    tensor.update(std::as_bytes(std::span(leaf.bytes)));
  }
  honest.manifest.files[0].table = table.digest();
  honest.manifest.parameters[0].model->digest = tensor.digest();
  honest.manifest.components[0].digest = component_digest(honest.manifest, ckpt::kModel);
  honest.manifest.id = checkpoint_id(honest.manifest, {}, {}, 0);
  TITAN_RETURN_IF_ERROR(honest.verify());
  return honest.read();
}

}  // namespace titan::fuzz
