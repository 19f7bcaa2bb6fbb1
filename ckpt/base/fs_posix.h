#pragma once
// PosixFs: the file system of the machine. Every system call on files is made in fs_posix.cpp.
#include <memory>
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

/// How rename_noreplace and open_member work: by the kernel's newer calls where it has them, or always the fallback (tests of the fallback).
enum class NoReplace { kKernel, kFallback };

/// Returns the Status for `error` (an errno value) of `call` on `path`; a full disk or quota says how much is free.
Status errno_status(int error, const std::string& path, const std::string& call);
/// The same for a call that reads: kMediaError where the store says that it cannot give back what it holds.
Status read_errno_status(int error, const std::string& path, const std::string& call);

/// posix_fs() is make_posix_fs(NoReplace::kKernel), made once.
std::unique_ptr<Fs> make_posix_fs(NoReplace no_replace);

}  // namespace titan::ckpt
