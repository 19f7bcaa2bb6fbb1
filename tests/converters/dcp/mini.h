#pragma once
// A complete small torchtitan checkpoint for tests: dim 8, 2 heads of 4, 1 key head, 1 layer, step 10 of 20.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converters/format.h"
#include "converters/pickle/item.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::testing {

struct ExtraTensor {
  std::string name, dtype = "float32";
  std::vector<std::uint64_t> shape = {4};
};

struct Mini {
  bool newer_names = false;  ///< torchtitan 0.3.0's, with its moments of queries, keys and values in one
  bool optimizer = true;
  std::vector<std::pair<std::vector<std::string>, std::optional<ItemValue>>>
      changes;          ///< a changed, missing or additional value
  float odd_step = 10;  ///< of norm.weight
  std::vector<ExtraTensor> extra;
  std::vector<std::string> without;                      ///< tensors that are not written
  std::string weights = "float32", moments = "float32";  ///< element types: "bfloat16", "float64", too
  std::map<std::string, float> values = {};              ///< of all elements of a tensor, in place of the usual one
};
inline constexpr double kNextLr = 0.00051;

/// Writes it into "/step-10".
void write_mini(ckpt::testing::MemFs& fs, const Mini& mini);

/// The configuration rows that it was trained with, except for `changes`.
Settings mini_config(const std::map<std::string, std::string>& changes = {});

/// Plans its import.
Result<ImportPlan> plan_mini(const Mini& mini, const ImportOptions& options);

}  // namespace titan::convert::dcp::testing
