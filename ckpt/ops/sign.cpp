#include "ckpt/ops/sign.h"

#include <algorithm>
#include <set>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/hash.h"
#include "ckpt/base/integers.h"
#include "ckpt/base/parallel.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/reader.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/store/destination.h"
#include "ckpt/store/named_file.h"
#include "ckpt/store/output_file.h"
#include "ckpt/store/parent_folder.h"
#include "ckpt/store/put_file.h"

namespace titan::ckpt {
namespace {

constexpr unsigned kMostSigners = 8;  // each has a buffer of 1 MiB
constexpr int kDeepest = 8;           // most levels of folders in a checkpoint of another format

Result<std::string> read_key(Fs& fs, const std::string& path) {
  const auto bytes = read_named_file(fs, path, "a key", kMostKeyBytes);
  if (bytes.status().code == Code::kCorrupt) return invalid(path + " is too large for a key");
  if (!bytes.ok()) return bytes.status();
  return std::string(text_of(*bytes));
}

/// Adds the files below `path`/`below` to `files`, except the signature and, in a Titan checkpoint (`ours`), the pin.
/// Entries that cannot be signed, such as links, go to `odd`; if `odd` is null, they are an error.
Status list_files(Fs& fs, const std::string& path, const std::string& below, int depth, bool ours,
                  std::set<std::string>& files, std::vector<std::string>* odd) {
  if (depth > kDeepest) {
    if (odd != nullptr) odd->push_back(below + " is there, and was not signed");
    return odd != nullptr ? ok_status()
                          : unsupported(path + " has folders within folders: more than " + std::to_string(kDeepest));
  }
  TITAN_ASSIGN_OR_RETURN(const std::vector<DirEntry> entries, fs.list(below.empty() ? path : join_path(path, below)));
  for (const DirEntry& entry : entries) {
    const std::string name = below.empty() ? entry.name : join_path(below, entry.name);
    if (entry.type == FileType::kDirectory) {
      TITAN_RETURN_IF_ERROR(list_files(fs, path, name, depth + 1, ours, files, odd));
    } else if (odd != nullptr && entry.type != FileType::kFile) {
      odd->push_back(name + " is a link or a device, which was not signed");
    } else if (entry.type != FileType::kFile) {
      const bool link = entry.type == FileType::kLink;
      return invalid(join_path(path, name) + " is a link or a device, which cannot be signed")
          .with_hint(link ? "copy the checkpoint with `cp -rL`, and sign the copy" : "remove it, or move it away");
    } else if (name != kSignatureFile && !(ours && name == kPinFile)) {
      if (odd == nullptr) TITAN_RETURN_IF_ERROR(check_member_path(name));
      files.insert(name);
    }
  }
  return ok_status();
}

/// The files that a signature covers. \error kNotFound, kCorrupt
Result<std::set<std::string>> files_of(Fs& fs, const std::string& path) {
  std::set<std::string> files;
  if (!fs.stat(join_path(path, kManifestFile)).ok()) {
    TITAN_RETURN_IF_ERROR(list_files(fs, path, "", 0, false, files, nullptr));
    if (files.empty()) return not_found(path + " has no files");
    return files;
  }
  TITAN_ASSIGN_OR_RETURN(const Manifest manifest, read_manifest(fs, path));
  for (const FileEntry& file : manifest.files) files.insert(file.path);
  files.insert(kManifestFile);
  return files;
}

/// Computes the digests of files, several leaves at a time.
class Digester {
 public:
  Digester(Fs& fs, const SignOptions& options, std::uint64_t total) : fs_(fs), options_(options), total_(total) {
    const unsigned threads = std::min(io_threads(options.threads), kMostSigners);
    for (unsigned i = 0; i < threads; ++i) buffers_.emplace_back(kSignedLeaf);
  }
  Result<Blake2bDigest> file(const std::string& member, std::uint64_t bytes);

 private:
  Fs& fs_;
  const SignOptions& options_;
  std::vector<AlignedBuffer> buffers_;
  std::uint64_t done_ = 0, total_;
};

Result<Blake2bDigest> Digester::file(const std::string& member, std::uint64_t bytes) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs_.open_member(options_.path, member, Access::kScan));
  FileTree tree(bytes);
  std::vector<Blake2bDigest> digests(buffers_.size());
  for (std::uint64_t at = 0; at < bytes;) {
    TITAN_RETURN_IF_ERROR(options_.cancel.check());
    const std::uint64_t left = ceil_div(bytes - at, kSignedLeaf);
    const std::size_t leaves = std::min<std::uint64_t>(left, buffers_.size());
    TITAN_RETURN_IF_ERROR(parallel_for(leaves, static_cast<unsigned>(leaves), [&](std::size_t i) -> Status {
      const std::uint64_t first = at + i * kSignedLeaf;
      const std::span<std::byte> leaf = buffers_[i].first(std::min(kSignedLeaf, bytes - first));
      TITAN_RETURN_IF_ERROR(file->pread(first, leaf));
      digests[i] = signed_leaf(leaf);
      return ok_status();
    }));
    for (std::size_t i = 0; i < leaves; ++i) tree.leaf(digests[i]);
    const std::uint64_t end = std::min(bytes, at + leaves * kSignedLeaf);
    done_ += end - at;
    at = end;
    if (options_.progress) options_.progress(done_, total_);
  }
  return tree.digest();
}

std::string signature_path(const SignOptions& options) {
  return options.signature.empty() ? join_path(options.path, kSignatureFile) : options.signature;
}

/// Replaces the signature file by one with `text`, atomically.
Status write_signature(Fs& fs, const SignOptions& options, const std::string& text) {
  if (!options.signature.empty()) return write_output(fs, options.signature, text);
  return put_file(fs, signature_path(options), text, Lasting::kYes);
}

/// Checks that `force` replaces only a signature. Inside the checkpoint, a file named signature.json counts as one.
Status check_place(Fs& fs, const SignOptions& options) {
  const std::string path = signature_path(options);
  if (!options.signature.empty()) TITAN_RETURN_IF_ERROR(find_parent(fs, path).status());
  const Result<FileInfo> there = fs.stat(path);
  if (there.status().code == Code::kNotFound)
    return options.signature.empty() ? ok_status() : check_output_file(fs, path);
  TITAN_RETURN_IF_ERROR(there.status());
  bool replaceable = options.signature.empty();
  if (!replaceable && there->type == FileType::kFile) {
    const auto bytes = read_file(fs, path, kMostSignatureBytes);
    replaceable = bytes.ok() && decode_signature(path, text_of(*bytes)).ok();
  }
  if (!replaceable)
    return invalid(path + " exists and is no signature: it is never replaced")
        .with_hint("choose another name, or move it away");
  if (!options.force) return invalid(path + " exists").with_hint("replace this signature with --force");
  return ok_status();
}

}  // namespace

Result<SignReport> sign_checkpoint(Fs& fs, const SignOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const std::string pem, read_key(fs, options.key));
  TITAN_ASSIGN_OR_RETURN(const SigningKey key, SigningKey::of_pem(options.key, pem));
  SignReport report{.path = options.path, .signature = signature_path(options), .key = key.public_key()};
  TITAN_RETURN_IF_ERROR(check_place(fs, options));
  if (options.signature.empty()) TITAN_RETURN_IF_ERROR(remove_stale_temporaries(fs, report.signature));
  TITAN_ASSIGN_OR_RETURN(const std::set<std::string> files, files_of(fs, options.path));
  SignatureFile signature;
  signature.key = report.key;
  for (const std::string& member : files) {
    TITAN_ASSIGN_OR_RETURN(const FileInfo info, fs.stat_member(options.path, member));
    signature.files.push_back({member, info.size, {}});
    report.bytes += info.size;
  }
  Digester digester(fs, options, report.bytes);
  for (SignedFile& file : signature.files) {
    TITAN_ASSIGN_OR_RETURN(file.digest, digester.file(file.path, file.bytes));
  }
  report.files = signature.files.size();
  signature.signature = key.sign(signed_text(signature.files));
  TITAN_RETURN_IF_ERROR(write_signature(fs, options, encode_signature(signature)));
  return report;
}

namespace {

/// Reads the signature. If it is missing or cannot be used, adds the reason to `check.wrong`.
Result<SignatureFile> read_signature(Fs& fs, const SignOptions& options, SignatureCheck& check) {
  // A signature in the checkpoint must not be a link.
  const bool named = !options.signature.empty() && fs.stat(check.signature).status().code != Code::kNotFound;
  const auto bytes = named ? read_named_file(fs, check.signature, "a signature", kMostSignatureBytes)
                           : read_file(fs, check.signature, kMostSignatureBytes);
  if (!bytes.ok() && bytes.status().code != Code::kNotFound && bytes.status().code != Code::kCorrupt)
    return bytes.status();
  if (bytes.status().code == Code::kNotFound) check.wrong.push_back("it is not signed: there is no " + check.signature);
  if (bytes.status().code == Code::kCorrupt) check.wrong.push_back(check.signature + " is no signature");
  if (!bytes.ok()) return SignatureFile{};
  Result<SignatureFile> signature = decode_signature(check.signature, text_of(*bytes));
  if (signature.status().code == Code::kCorrupt) {
    check.wrong.push_back(signature.status().message);
    return SignatureFile{};
  }
  if (!signature.ok()) return signature.status();
  if (signature->key != check.key)
    check.wrong.push_back("it is signed by another key, " + hex_of(signature->key) + ", expected " + hex_of(check.key));
  else if (!signature_holds(check.key, signed_text(signature->files), signature->signature))
    check.wrong.push_back("the signature is not of what " + check.signature + " lists: that file was changed");
  return signature;
}

}  // namespace

Result<SignatureCheck> check_signature(Fs& fs, const SignOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const std::string pem, read_key(fs, options.key));
  SignatureCheck check{.path = options.path, .signature = signature_path(options)};
  TITAN_ASSIGN_OR_RETURN(check.key, public_key_of_pem(options.key, pem));
  TITAN_ASSIGN_OR_RETURN(const SignatureFile signature, read_signature(fs, options, check));
  if (!check.wrong.empty()) return check;
  std::set<std::string> known;
  for (const SignedFile& file : signature.files) {
    known.insert(file.path);
    check.bytes += file.bytes;
  }
  Digester digester(fs, options, check.bytes);
  for (const SignedFile& file : signature.files) {
    const auto info = fs.stat_member(options.path, file.path);
    if (!info.ok() && info.status().code != Code::kNotFound && info.status().code != Code::kCorrupt)
      return info.status();
    if (!info.ok() || info->type != FileType::kFile) {
      check.wrong.push_back(file.path + " is missing, or no regular file");
    } else if (info->size != file.bytes) {
      check.wrong.push_back(file.path + " has " + std::to_string(info->size) + " bytes, and " +
                            std::to_string(file.bytes) + " were signed");
    } else {
      TITAN_ASSIGN_OR_RETURN(const Blake2bDigest digest, digester.file(file.path, file.bytes));
      if (digest != file.digest) check.wrong.push_back(file.path + " is not what was signed");
      ++check.files;
    }
  }
  if (!check.wrong.empty()) return check;
  // Another program may load a file that the manifest does not list.
  std::set<std::string> there;
  TITAN_RETURN_IF_ERROR(list_files(fs, options.path, "", 0, known.contains(kManifestFile), there, &check.wrong));
  for (const std::string& member : there)
    if (!known.contains(member) && join_path(options.path, member) != check.signature)
      check.wrong.push_back(member + " is there, and was not signed");
  return check;
}

}  // namespace titan::ckpt
