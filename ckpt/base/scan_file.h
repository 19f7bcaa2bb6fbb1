#pragma once
// A file that is read past the page cache: see Fs::open_scan and Access.
#include <memory>
#include <string>

namespace titan::ckpt {

enum class Access;
class File;

/// Takes `fd`, a regular file that is open for reading. kScan: bytes that are in memory already come from memory.
/// kUncached: all bytes come from the store, if it can do that.
std::unique_ptr<File> make_scan_file(int fd, std::string path, Access access);

}  // namespace titan::ckpt
