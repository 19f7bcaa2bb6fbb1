#pragma once
// Handles SIGBUS, which the kernel sends if a mapped file is truncated or its disk fails while it is read. The process
// then prints the name of the file and ends with exit code 3.
#include <cstddef>
#include <string>

namespace titan::train {

/// Watches the mapping of `size` bytes at `data` of the file `path`. The first call of a process installs the handler;
/// SIGBUS at any other address is handled as before.
void watch_mapping(const void* data, std::size_t size, const std::string& path);
/// Ends the watch. Call it before unmapping. An address that is not watched is ignored.
void unwatch_mapping(const void* data);

}  // namespace titan::train
