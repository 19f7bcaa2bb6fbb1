#include "cli/titan_ckpt/verbs.h"

namespace titan::cli {

using ui::Built;
using ui::Flag;
using ui::Program;
using ui::Verb;

Program titan_ckpt_program() {
  const Flag stats_inspect{"stats", "", "minimum, maximum, mean of every tensor", 0, Built::kNotYet};
  const Flag stats_diff{"stats", "", "statistics of the differences", 0, Built::kNotYet};
  return {
      "titan-ckpt",
      "looks into checkpoints; CKPT is a checkpoint folder, RUN@step or RUN@latest",
      {
          {"ls", {"RUN"}, "steps of a run; the one that a resume takes, and why not the others", {}},
          {"inspect",
           {"CKPT"},
           "components, mesh, stages, LR schedule, data position, tensors",
           {{"tensors", "GLOB", "list the tensors whose names match"}, stats_inspect, {"config", "", "show the resolved configuration"}}},
          {"verify", {"CKPT|RUN"}, "check every digest; name file, tensor, leaf and offset of any damage", {}},
          {"diff", {"A", "B"}, "what differs in the state; layout, configuration and history are notes", {{"config", "", "let the notes count as differences"}, stats_diff}},
          {"cat", {"CKPT", "TENSOR"}, "one tensor, whatever its sharding", {{"output", "FILE.npy", "write it as a NumPy file", 'o'}}},
          {"reshard", {"SRC", "DST"}, "rewrite for another mesh", {}, Built::kNotYet},
          {"strip", {"SRC", "DST"}, "drop the optimizer state", {}, Built::kNotYet},
          {"lr", {"show|set", "CKPT"}, "show or rewrite the LR schedule", {}, Built::kNotYet},
          {"convert",
           {"SRC", "DST"},
           "from and to other formats",
           {{"from", "FORMAT", "of SRC: titan or hf; detected when left out"},
            {"to", "FORMAT", "of DST; titan when left out and SRC is foreign"},
            {"dry-run", "", "show what would be done and write nothing"},
            {"skip", "GLOB", "leave out the tensors of SRC whose names match", 0, Built::kYes, ui::Repeat::kMany},
            {"dtype", "TYPE", "cast to f32, bf16 or f16 (not with --to titan)"},
            {"max-shard-size", "SIZE", "of one file: bytes, 5GB, 512MiB (hf: 5GB)"},
            {"untie", "", "write a tied head as a tensor of its own"},
            {"force", "", "replace DST where it is a checkpoint and nothing else"}}},
          {"prune", {"RUN"}, "delete old steps", {}, Built::kNotYet},
          {"advise", {"RUN"}, "save interval, cost, disk needed", {}, Built::kNotYet},
          {"plot", {"RUN|CKPT..."}, "loss, LR and gradient norm over steps", {}, Built::kNotYet},
      },
      {
          {"json", "", "one JSON document on stdout; errors as JSON on stderr"},
          {"color", "WHEN", "always or never; else NO_COLOR, CLICOLOR_FORCE and the terminal decide"},
          {"bytes", "", "sizes as exact numbers of bytes"},
      },
  };
}

}  // namespace titan::cli
