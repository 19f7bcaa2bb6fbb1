#pragma once
// PosixFs: the file system of this machine. Within ckpt, only ckpt/base makes system calls on files of a store.
#include <memory>

namespace titan::ckpt {

class Fs;

/// The real file system of this process; never destroyed.
Fs& posix_fs();

/// How rename_noreplace, exchange and open_member of Fs work. kKernel: with renameat2(2) and openat2(2), or without
/// them on a kernel that lacks them; kFallback: always without them, for tests. Without them `exchange` is
/// kUnsupported.
enum class NoReplace { kKernel, kFallback };

/// posix_fs() is make_posix_fs(NoReplace::kKernel), made once.
std::unique_ptr<Fs> make_posix_fs(NoReplace no_replace);

}  // namespace titan::ckpt
