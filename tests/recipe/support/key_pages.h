#pragma once
// The two files that are made of the key table.
#include <string>

namespace titan::test {

/// Every key with its default, doc, limits and class, as TOML (configs/full.toml).
std::string full_toml();
/// The same as a page of tables (docs/configuration.md).
std::string keys_page();

}  // namespace titan::test
