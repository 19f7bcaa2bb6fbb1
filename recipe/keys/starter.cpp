#include "recipe/keys/starter.h"

#include "ckpt/base/toml_text.h"

namespace titan::recipe {
namespace {

std::string line(const std::string& setting, const std::string& comment) {
  constexpr std::size_t kComments = 36;
  return setting + std::string(setting.size() < kComments ? kComments - setting.size() : 1, ' ') + "# " + comment +
         "\n";
}

}  // namespace

std::string starter_toml(const Starter& starter) {
  const bool own = starter.weights.empty(), text = own || starter.vocabulary == 256;
  std::string out = own ? "# A small model (about 1 M parameters) on a text of your own, in minutes.\n"
                        : "# Continues training from existing weights, on data of your own.\n";
  out +=
      "#   titan-train plan FILE.toml             what would happen\n"
      "#   titan-train run FILE.toml --nproc 2    trains; the same command resumes after a stop\n"
      "# docs/configuration.md has every key; the names are torchtitan's.\n\n";
  out += "[job]\n" + line("dump_folder = \"my-run\"", "checkpoints, metrics.jsonl and logs");
  if (own) {
    out += "\n[model]\n" + line("dim = 128", "width");
    out += line("n_layers = 4", "depth") + line("n_heads = 4", "attention heads; dim / n_heads is even");
    out += line("vocab_size = 256", "the bytes of the text");
  } else {
    out += "\n[checkpoint]\n" +
           line("initial_load_path = " + ckpt::toml_string(starter.weights), "the run uses its model: no [model] here");
    out += line("interval = 100", "steps between two saves");
  }
  out += "\n[optimizer]\n" + (own ? line("lr = 3e-3", "peak; smaller for larger models")
                                  : line("lr = 1e-4", "peak; a tenth of what trained the weights"));
  out += "\n[lr_scheduler]\n" + line("warmup_steps = 20", "steps up to the peak");
  out += line("min_lr_factor = 0.1", "the last learning rate, as a share of lr");
  out += "\n[training]\n";
  if (text) {
    out += line("dataset_path = \"my-text.txt\"", "any UTF-8 text, or a folder of such files");
  } else {
    out +=
        line("dataset = \"tokens\"", "ids of the weights' own tokenizer, below " + std::to_string(starter.vocabulary));
    out += line("dataset_path = \"my-tokens.bin\"", "raw ids: uint16, or token_dtype = \"uint32\"");
  }
  out += line(own ? "seq_len = 128" : "seq_len = 256", "tokens of a sequence");
  out += line("local_batch_size = 2", "sequences computed at once");
  out += line("global_batch_size = 8", "sequences of a step, over all ranks");
  out += line("steps = 200", "also the length of the learning-rate schedule");
  if (own) out += line("device = \"cpu\"", "or \"auto\": GPUs where there is a driver, one a rank");
  out += line("mixed_precision_param = \"float32\"", "or \"bfloat16\", where that is fast");
  return out;
}

}  // namespace titan::recipe
