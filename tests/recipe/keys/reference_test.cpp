#include "recipe/keys/reference.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>

#include "recipe/keys/writer.h"
#include "tests/recipe/support/config_support.h"
#include "tests/recipe/support/key_pages.h"

namespace titan::recipe::reference_test {
namespace {

using test::full_toml;
using test::keys_page;
using testing::HasSubstr;

/// A generated file of the tree.
void expect_on_disk(const std::string& name, const std::string& text) {
  const std::string path = std::string(TITAN_SOURCE_DIR) + "/" + name;
  if (std::getenv("TITAN_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  const std::string disk{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(disk, text) << "regenerate with TITAN_UPDATE_GOLDEN=1";
}

TEST(Reference, GeneratedFilesOnDiskAreWhatTheKeyTableSays) {
  expect_on_disk("configs/full.toml", full_toml());
  expect_on_disk("docs/configuration.md", keys_page());
}

TEST(Reference, FullTomlLoadsToTheDefaults) {
  EXPECT_EQ(resolved_settings(load_ok(full_toml()).config), resolved_settings(Config{}));
}

TEST(Reference, FullTomlNamesEveryKey) {
  const std::string text = full_toml();
  for (const Key& key : key_table()) {
    const std::string leaf = key.value_in ? key.name.substr(key.name.find('.') + 1) + " =" : key.name + "  ";
    EXPECT_THAT(text, HasSubstr(leaf)) << key.name;
  }
}

TEST(Reference, ThePageHasEveryKeyAndNoCellAbove160Characters) {
  const std::string page = keys_page();
  for (const Key& key : key_table()) EXPECT_THAT(page, HasSubstr("| `" + key.name + "` |"));
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) continue;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '|');) EXPECT_LE(cell.size(), 162u) << cell;
  }
}

}  // namespace
}  // namespace titan::recipe::reference_test
