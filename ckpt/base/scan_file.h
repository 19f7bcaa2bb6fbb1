#pragma once
// A file whose reads can bypass the page cache: see Fs::open_scan and Access.
#include <memory>
#include <string>

namespace titan::ckpt {

enum class Access;
class File;

/// Takes ownership of `fd`, a regular file that is open for reading. With kScan, bytes that are in the page cache are
/// read from it. With kUncached, all bytes come from the store if it supports that.
std::unique_ptr<File> make_scan_file(int fd, std::string path, Access access);

}  // namespace titan::ckpt
