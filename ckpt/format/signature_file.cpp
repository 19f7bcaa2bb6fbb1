#include "ckpt/format/signature_file.h"

#include <algorithm>

#include "ckpt/base/hash.h"
#include "ckpt/format/json_fields.h"
#include "ckpt/format/json_writer.h"
#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

constexpr const char* kSignatureFormat = "titan.signature/1";

void read_hex(JsonReader& json, std::span<std::uint8_t> out) {
  const std::string_view text = json.text();
  if (json.ok() && !bytes_of_hex(text, out))
    json.fail("expected " + std::to_string(2 * out.size()) + " lower-case hex digits");
}

void put_u64(Blake2b& hasher, std::uint64_t value) {
  std::array<std::uint8_t, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
  hasher.update(std::as_bytes(std::span(bytes)));
}

}  // namespace

Blake2bDigest signed_leaf(std::span<const std::byte> leaf) {
  constexpr std::byte kLeaf{0};
  Blake2b hasher;
  hasher.update({&kLeaf, 1});
  hasher.update(leaf);
  return hasher.digest();
}

FileTree::FileTree(std::uint64_t bytes) {
  constexpr std::byte kRoot{1};
  hasher_.update({&kRoot, 1});
  put_u64(hasher_, bytes);
}

std::string signed_text(const std::vector<SignedFile>& files) {
  std::string text = std::string(kSignatureFormat) + "\n";
  for (const SignedFile& file : files)
    text += hex_of(file.digest.bytes) + " " + std::to_string(file.bytes) + " " + file.path + "\n";
  return text;
}

std::string encode_signature(const SignatureFile& signature) {
  JsonWriter json;
  json.begin().lines("format", kSignatureFormat, "key", hex_of(signature.key), "signature",
                     hex_of(signature.signature));
  json.line().key("files").begin_list();
  for (const SignedFile& file : signature.files)
    json.line().begin().members("path", file.path, "bytes", file.bytes, "blake2b", hex_of(file.digest.bytes)).end();
  json.line().end_list().line();
  return std::move(json.end()).finish();
}

Result<SignatureFile> decode_signature(const std::string& what, std::string_view text) {
  JsonReader json(what, text);
  SignatureFile signature;
  std::string format;
  const auto files = [&] {
    json.array([&](std::size_t) {
      SignedFile file;
      read_object(json, "a signed file", JsonField{"path", file.path}, JsonField{"bytes", file.bytes},
                  JsonField{"blake2b", [&] { read_hex(json, file.digest.bytes); }});
      if (!json.ok()) return;
      if (const Status status = check_member_path(file.path); !status.ok()) return json.fail(status.message);
      if (!signature.files.empty() && !(signature.files.back().path < file.path))
        return json.fail("signed files are not in order of their names");
      signature.files.push_back(std::move(file));
    });
  };
  read_object(json, "a signature", JsonField{"format", format},
              JsonField{"key", [&] { read_hex(json, signature.key); }},
              JsonField{"signature", [&] { read_hex(json, signature.signature); }}, JsonField{"files", files});
  TITAN_RETURN_IF_ERROR(json.finish());
  if (format != kSignatureFormat) return incompatible(what + " is a signature of another version: " + format);
  return signature;
}

}  // namespace titan::ckpt
