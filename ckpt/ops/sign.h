#pragma once
// `sign` and `verify --key`: signs a checkpoint's files, and checks whether they are what the owner of a key signed.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/format/signature_file.h"

namespace titan::ckpt {

class Fs;

struct SignOptions {
  std::string path;  ///< folder of a checkpoint of Titan or of another format
  std::string key;   ///< key file: the private key to sign, the public key to check
  /// The signature file; empty: the one in the checkpoint.
  std::string signature;
  bool force = false;    ///< replaces an existing signature
  unsigned threads = 0;  ///< threads that read and hash; 0: as io_threads(); at most 8
  CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes
};

struct SignReport {
  std::string path, signature;
  PublicKey key{};
  std::uint64_t files = 0, bytes = 0;
};

/// Reads every byte once, with a buffer of 1 MiB per thread, and writes the signature. The signature covers all members
/// and the manifest of a Titan checkpoint, or all files below a folder of another format. The same files and key give
/// the same bytes. \error kInvalid (the key, names, a link in a folder of another format), kUnsupported (more than 8
/// levels of folders in it), kNotFound, kCorrupt, kIncompatible (newer format), kFailed, kMediaError, kInterrupted,
/// kTerminated
Result<SignReport> sign_checkpoint(Fs& fs, const SignOptions& options);

/// The result of a check.
struct SignatureCheck {
  std::string path, signature;
  PublicKey key{};                 ///< the key that the caller gave
  std::vector<std::string> wrong;  ///< why the signature is invalid; empty if it is valid
  std::uint64_t files = 0, bytes = 0;
};

/// Compares every byte with the signature. A missing or damaged signature is reported in `wrong`, not as an error.
/// \error kInvalid (the key), kIncompatible (a signature of a newer version), kFailed, kMediaError, kInterrupted,
/// kTerminated
Result<SignatureCheck> check_signature(Fs& fs, const SignOptions& options);

}  // namespace titan::ckpt
