#pragma once
// PosixFs: the file system of the machine. Every system call on files is made here and in posix_file.cpp.
#include <memory>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

/// How rename_noreplace and open_member work: by the kernel's newer calls where it has them, or always the fallback
/// (tests of the fallback).
enum class NoReplace { kKernel, kFallback };

/// posix_fs() is make_posix_fs(NoReplace::kKernel), made once.
std::unique_ptr<Fs> make_posix_fs(NoReplace no_replace);

}  // namespace titan::ckpt
