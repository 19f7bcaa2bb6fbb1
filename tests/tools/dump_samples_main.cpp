// titan-dump-samples CONFIG FIRST COUNT train|validation OUT: writes the tokens of samples FIRST..FIRST+COUNT-1 as raw
// little-endian int32 rows of seq_len + 1, so that a program that shares no code with us can train on the same batches.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "libtrain/job/data/dataset.h"
#include "recipe/keys/loader.h"
#include "recipe/plan/plan_values.h"
#include "recipe/plan/run_config.h"

int main(int argc, char** argv) {
  using namespace titan::train;
  const auto fail = [](const titan::ckpt::Status& status) {
    std::fprintf(stderr, "%s\n", status.to_string().c_str());
    return 2;
  };
  if (argc < 6)
    return std::fprintf(stderr,
                        "usage: titan-dump-samples CONFIG FIRST COUNT train|validation OUT [--key=value ...]\n"),
           2;
  const auto loaded = titan::recipe::load_run_config(argv[1], {argv + 6, argv + argc});
  if (!loaded.ok()) return fail(loaded.status());
  const auto dims = titan::recipe::model_dims(loaded->config);
  if (!dims.ok()) return fail(dims.status());
  const auto dataset = Dataset::open(loaded->config, static_cast<std::uint64_t>(loaded->config.debug.seed.value_or(0)),
                                     static_cast<std::uint64_t>(dims->vocab_size));
  if (!dataset.ok()) return fail(dataset.status());
  const Dataset& data = **dataset;
  const bool validation = std::string(argv[4]) == "validation";
  const std::uint64_t first = std::stoull(argv[2]), count = validation && std::string(argv[3]) == "all"
                                                                ? data.validation_samples()
                                                                : std::stoull(argv[3]);
  std::vector<std::int64_t> row(
      static_cast<std::size_t>(validation ? data.validation_seq_len() : loaded->config.training.seq_len) + 1);
  std::ofstream out(argv[5], std::ios::binary);
  for (std::uint64_t i = first; i < first + count; ++i) {
    if (const auto status = validation ? data.validation_sample(i, row) : data.sample(i, row); !status.ok())
      return fail(status);
    const std::vector<std::int32_t> tokens(row.begin(), row.end());
    out.write(reinterpret_cast<const char*>(tokens.data()),
              static_cast<std::streamsize>(tokens.size() * sizeof(std::int32_t)));
  }
  return out.good() ? 0 : 3;
}
