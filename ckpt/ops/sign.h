#pragma once
// `sign` and `verify --key`: whether the files of a checkpoint are those that the owner of a key vouched for.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "ckpt/format/signature_file.h"

namespace titan::ckpt {

struct SignOptions {
  std::string path;  ///< of a checkpoint, a folder: ours, or of another format
  std::string key;   ///< a file: a private key to sign, a public one to check
  /// Where the signature is; empty: in the checkpoint
  std::string signature;
  bool force = false;  ///< replaces a signature that is there
  unsigned threads = 0;
  CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes
};

struct SignReport {
  std::string path, signature;
  PublicKey key{};
  std::uint64_t files = 0, bytes = 0;
};

/// Reads every byte once, in a MiB a thread, and writes the signature: of ours of all members and the manifest, of
/// others of all files below the folder. The same files and key give the same bytes. \error kInvalid (the key, names),
/// kNotFound, kCorrupt, kFailed, kInterrupted, kTerminated
Result<SignReport> sign_checkpoint(Fs& fs, const SignOptions& options);

struct SignatureCheck {
  std::string path, signature;
  PublicKey key{};                 ///< that was asked for
  std::vector<std::string> wrong;  ///< why the signature does not hold: empty where it does
  std::uint64_t files = 0, bytes = 0;
};

/// Compares every byte with what was signed. \error kInvalid (the key), kNotFound (no checkpoint), kFailed,
/// kMediaError, kInterrupted, kTerminated. No signature, or a damaged one, is an answer.
Result<SignatureCheck> check_signature(Fs& fs, const SignOptions& options);

}  // namespace titan::ckpt
