// Files of a few bytes that claim, or would unfold to, far more memory than there is. ctest runs this with 256 MiB of
// address space: whatever is allocated before it is checked ends the program. Every bomb must be refused with a
// message.
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/format/json_value.h"
#include "converters/dcp/metadata.h"
#include "converters/gguf/gguf_file.h"
#include "converters/hf/hf_index.h"
#include "converters/hf/safetensors.h"
#include "converters/little_endian.h"
#include "converters/pickle/item.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/own_bombs.h"

namespace {

using titan::ckpt::Status;
using titan::convert::put_le;

std::string le(std::uint64_t value, std::size_t bytes) {
  std::string out;
  put_le(out, value, bytes);
  return out;
}
std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}
std::string short_text(std::string_view text) {
  return std::string("\x8c") + static_cast<char>(text.size()) + std::string(text);
}
std::string global(std::string_view module, std::string_view name) {
  return short_text(module) + short_text(name) + "\x93";
}

Status safetensors(const std::string& bytes) {
  titan::fuzz::BytesFile file(std::as_bytes(std::span(bytes)));
  return titan::convert::read_safetensors_header(file, "bomb").status();
}
Status zip(const std::string& bytes) {
  titan::fuzz::BytesFile file(std::as_bytes(std::span(bytes)));
  return titan::convert::ZipArchive::open(file, "bomb", 0, bytes.size()).status();
}
Status item(const std::string& bytes) {
  const auto pickle = titan::convert::Pickle::decode("bomb", bytes);
  return pickle.ok() ? titan::convert::parse_item(*pickle).status() : pickle.status();
}
Status metadata(const std::string& bytes) { return titan::convert::dcp::decode_metadata("bomb", bytes).status(); }
Status index(const std::string& bytes) { return titan::convert::decode_hf_index("bomb", bytes).status(); }
Status gguf(const std::string& bytes) {
  titan::fuzz::BytesFile file(std::as_bytes(std::span(bytes)));
  return titan::convert::read_gguf_header(file, "bomb").status();
}
Status config(const std::string& bytes) { return titan::ckpt::parse_json("bomb", bytes).status(); }

// .metadata with the given parts of its state; "chunk" is memo 0, "tensor" (of 10^6 times that chunk) memo 1.
std::string metadata_of(const std::string& storage, const std::string& entries) {
  constexpr std::string_view kModule = "torch.distributed.checkpoint.metadata";
  const auto state = [](const std::string& parts) { return "}(" + parts + "ub"; };
  const std::string size = global("torch", "Size") + "K\x01\x85\x85R",
                    empty = global("torch", "Size") + std::string("K\0\x85\x85R", 5);
  const std::string chunk = global(kModule, "ChunkStorageMetadata") + ")\x81" +
                            state(short_text("offsets") + size + short_text("sizes") + empty) + std::string("q\0", 2);
  const std::string tensor =
      global(kModule, "TensorStorageMetadata") + ")\x81" +
      state(short_text("properties") + global(kModule, "TensorProperties") + ")\x81(" + global("torch", "float32") +
            global("torch", "strided") + "\x89" + global(kModule, "_MEM_FORMAT_ENCODING") + "K\x01\x85R\x89tb" +
            short_text("size") + size + short_text("chunks") + "](" + repeated(std::string_view("h\0", 2), 1'000'000) +
            "e") +
      "q\x01";
  return "\x80\x04" + global(kModule, "Metadata") + ")\x81" +
         state(short_text("planner_data") + chunk + tensor + "\x86" + short_text("storage_data") + "}" + storage +
               short_text("state_dict_metadata") + "}" + entries) +
         ".";
}

struct Bomb {
  const char* name;
  std::function<Status()> light;
  const char* says = "";  ///< part of the refusal, where another check could come first
};

}  // namespace

int main() {
  const std::string text =
      std::string("\x80\x02X") + le(1 << 20, 4) + std::string(1 << 20, 'x') + std::string("q\0", 2);
  const Bomb bombs[] = {
      {"safetensors: a header of 2^63 bytes", [] { return safetensors(le(std::uint64_t{1} << 63, 8) + "{}"); }},
      {"safetensors: a header of 100 MB in a file of 10 bytes", [] { return safetensors(le(100'000'000, 8) + "{}"); }},
      {"safetensors: a tensor of 2^62 bytes",
       [] {
         std::string json =
             R"({"a":{"dtype":"U8","shape":[4611686018427387904],"data_offsets":[0,4611686018427387904]}})";
         return safetensors(le(json.size(), 8) + json);
       }},
      {"index: a tensor's file 64,000 times",
       [] {
         return index(R"({"weight_map":{)" + repeated(R"("a":"x.safetensors",)", 64'000) + R"("a":"x.safetensors"}})");
       }},
      {"gguf: 2^60 tensors and keys",
       [] { return gguf("GGUF" + le(3, 4) + le(std::uint64_t{1} << 60, 8) + le(std::uint64_t{1} << 60, 8)); }},
      {"gguf: a text of 2^62 bytes",
       [] {
         return gguf("GGUF" + le(3, 4) + le(0, 8) + le(1, 8) + le(1, 8) + "k" + le(8, 4) +
                     le(std::uint64_t{1} << 62, 8));
       }},
      {"gguf: two million empty lists, and a key that is not there",
       [] {
         return gguf("GGUF" + le(3, 4) + le(0, 8) + le(2, 8) + le(1, 8) + "k" + le(9, 4) + le(9, 4) + le(2'000'000, 8) +
                     repeated(le(0, 4) + le(0, 8), 2'000'000));
       }},
      {"json: 10^6 open brackets", [] { return config(std::string(1'000'000, '[')); }},
      {"zip: 2^32 entries",
       [] {
         return zip(std::string("PK\5\6\0\0\0\0", 8) + le(0xfffe, 2) + le(0xfffe, 2) + le(0xfffffff0, 4) + le(0, 4) +
                    le(0, 2));
       }},
      {"zip64: a directory of 2^60 bytes",
       [] {
         return zip(std::string("PK\6\6", 4) + le(44, 8) + std::string(12, '\0') + le(0, 8) +
                    le(std::uint64_t{1} << 50, 8) + le(std::uint64_t{1} << 50, 8) + le(std::uint64_t{1} << 60, 8) +
                    std::string("PK\6\7", 4) + le(0, 4) + le(0, 8) + le(1, 4) + std::string("PK\5\6", 4) + le(0, 4) +
                    le(0xffff, 2) + le(0xffff, 2) + le(0xffffffff, 4) + le(0xffffffff, 4) + le(0, 2));
       }},
      {"pickle: a string of 4 GiB", [] { return item(std::string("\x80\x02X") + le(0xffffffff, 4)); }},
      {"pickle: a memo index of 2^32 - 1", [] { return item(std::string("\x80\x02Nr") + le(0xffffffff, 4) + "."); }},
      {"pickle: a string of 1 MiB named 100,000 times",
       [&] { return item(text + "](" + repeated(std::string_view("h\0", 2), 100'000) + "e\x86."); }},
      {"pickle: a list of 500,000 times itself",
       [] { return item(std::string("\x80\x02]q\0(", 6) + repeated(std::string_view("h\0", 2), 500'000) + "e."); }},
      {"metadata: one key of 4,000 bytes for 100,000 entries",
       [] {
         return metadata(metadata_of("", "(X" + le(4000, 4) + std::string(4000, 'k') + "q\x02" +
                                             global("torch.distributed.checkpoint.metadata", "BytesStorageMetadata") +
                                             ")\x81}bq\x03" + repeated("h\x02h\x03", 100'000) + "u"));
       }},
      {"metadata: one chunk a million times",
       [] { return metadata(metadata_of("", "(" + short_text("t") + "h\x01u")); }, "more parts than"},
      {"metadata: a tensor of a million chunks under 200 names",
       [] {
         std::string entries = "(";
         for (int i = 0; i < 200; ++i) entries += short_text("t" + std::to_string(i)) + "h\x01";
         return metadata(metadata_of("", entries + "u"));
       },
       "more parts than"},
  };
  int failures = 0;
  for (const Bomb& bomb : bombs) {
    const Status status = bomb.light();
    std::printf("%s: %s\n", bomb.name, status.ok() ? "TAKEN" : status.message.substr(0, 160).c_str());
    failures += status.ok() || status.message.find(bomb.says) == std::string::npos ? 1 : 0;
  }
  for (const titan::fuzz::OwnBomb& bomb : titan::fuzz::own_bombs()) {
    const Status status = bomb.light();
    std::printf("%s: %s\n", bomb.name.c_str(), status.ok() ? "TAKEN" : status.message.substr(0, 160).c_str());
    failures += status.ok() ? 1 : 0;
  }
  const Status whole = titan::fuzz::verify_four_million_leaves();
  std::printf("four million leaves in one shard: %s\n", whole.ok() ? "whole" : whole.to_string().c_str());
  failures += whole.ok() ? 0 : 1;
  return failures == 0 ? 0 : 1;
}
