// titan-make-checkpoint DIR [--size BYTES] [--dp N] [--pp N] [newer] [name=value ...]: saves one made-up checkpoint
// below DIR, for the command-line cases and the bench. --size (800M, 2G, 10GiB): a Llama-shaped model of about that
// size with normal-like values, made at about the speed of a disk; `newer`: of a format version that does not exist
// yet. `--name value` is `name=value`.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "ckpt/base/fs_posix.h"
#include "tests/support/bulk_values.h"
#include "tests/support/make_checkpoint.h"

namespace titan::ckpt::testing {
namespace {

/// "tensor:index:delta".
Change parse_change(const std::string& text) {
  const std::size_t second = text.rfind(':'), first = text.rfind(':', second - 1);
  return {text.substr(0, first), std::stoull(text.substr(first + 1)), std::stod(text.substr(second + 1))};
}

/// Makes the manifest that of the next major version, with a self-digest that holds.
void make_newer(const std::string& checkpoint) {
  const std::string path = checkpoint + "/manifest.json";
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string start = "{\"self_digest\":\"", major = "\"major\":1";
  text.replace(text.find(major), major.size(), "\"major\":2");
  text.replace(start.size(), 32, 32, '0');
  text.replace(start.size(), 32, digest_of(text).hex());
  std::ofstream(path, std::ios::binary) << text;
}

/// "2G", "512MiB", "1000000"; 0 when it is none of these.
std::uint64_t parse_size(const std::string& text) {
  std::size_t end = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return 0;
  const std::uint64_t number = std::stoull(text, &end);
  const std::string unit = text.substr(end);
  const std::string prefixes = "KMG";
  if (unit.empty()) return number;
  const std::size_t power = prefixes.find(unit[0]);
  if (power == std::string::npos || (unit.size() > 1 && unit.substr(1) != "B" && unit.substr(1) != "iB")) return 0;
  std::uint64_t factor = 1;
  for (std::size_t i = 0; i <= power; ++i) factor *= unit.size() == 3 ? 1024 : 1000;
  return number * factor;
}

bool set(Synthetic& options, const std::string& name, const std::string& value) {
  const auto number = [&] { return std::stoull(value); };
  if (name == "size") return fill_size(options, parse_size(value)).ok();
  if (name == "step")
    options.step = number();
  else if (name == "dp")
    options.dp = static_cast<std::uint32_t>(number());
  else if (name == "pp")
    options.pp = static_cast<std::uint32_t>(number());
  else if (name == "leaf")
    options.leaf_elements = number();
  else if (name == "seed")
    options.seed = number();
  else if (name == "dim")
    options.dim = number();
  else if (name == "vocab")
    options.vocab = number();
  else if (name == "layers")
    options.layers = static_cast<std::uint32_t>(number());
  else if (name == "dtype" && value == "bf16")
    options.dtype = DType::kBF16;
  else if (name == "compression" && (value == "zstd" || value == "none"))
    options.codec = value == "zstd" ? Codec::kZstd : Codec::kRaw;
  else if (name == "parity")
    options.parity = static_cast<std::uint32_t>(number());
  else if (name == "threads")
    options.threads = static_cast<unsigned>(number());
  else if (name == "lr")
    options.peak_lr = std::stod(value);
  else if (name == "slots" && value == "none")
    options.slots.clear();  // before --size
  else if (name == "created")
    options.created = value;
  else if (name == "change")
    options.changes.push_back(parse_change(value));
  else if (name == "steps")
    options.config.back().second = value;  // training.steps, the last key
  else
    return false;
  return true;
}

int main_of(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-' || argv[1][0] == '\0') {
    std::fprintf(stderr,
                 "usage: titan-make-checkpoint DIR [--size BYTES] [--dp N] [--pp N] [newer] [name=value ...]\n");
    return 2;
  }
  Synthetic options;
  bool newer = false;
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "newer") {
      newer = true;
      continue;
    }
    if (word.starts_with("--") && word.find('=') == std::string::npos && i + 1 < argc) {
      word = word.substr(2) + "=" + argv[++i];
    } else if (word.starts_with("--")) {
      word.erase(0, 2);
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || !set(options, word.substr(0, equals), word.substr(equals + 1))) {
      std::fprintf(stderr, "unknown setting %s\n", argv[i]);
      return 2;
    }
  }
  const Result<Published> published = make_checkpoint(posix_fs(), argv[1], options);
  if (!published.ok()) {
    std::fprintf(stderr, "%s\n", published.status().to_string().c_str());
    return 3;
  }
  if (newer) make_newer(published->path);
  std::printf("%s %s\n", published->path.c_str(), published->id.hex().c_str());
  return 0;
}

}  // namespace
}  // namespace titan::ckpt::testing

int main(int argc, char** argv) { return titan::ckpt::testing::main_of(argc, argv); }
