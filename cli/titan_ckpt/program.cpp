#include "cli/titan_ckpt/verbs.h"

namespace titan::cli {

using ui::Built;
using ui::Flag;
using ui::Program;
using ui::Verb;

Program titan_ckpt_program() {
  const Flag stats_inspect{"stats", "", "minimum, maximum, mean of every tensor", 0, Built::kNotYet};
  const Flag stats_diff{"stats", "", "statistics of the differences", 0, Built::kNotYet};
  const Flag force{"force", "", "replace DST where it is a checkpoint itself"};
  const Flag dry_run{"dry-run", "", "show what would be done, write nothing"};
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
          {"strip",
           {"SRC", "DST"},
           "drop the optimizer state; what stays is hard-linked where the file system can",
           {{"keep", "model", "keep the parameters alone, without schedule, data position and history"},
            {"dtype", "bf16|f32", "convert the parameters, rounding to nearest, ties to even"},
            force,
            dry_run}},
          {"lr",
           {"show|set", "CKPT"},
           "show CKPT: the curve, the resume point marked; set SRC DST: a checkpoint with another schedule, previewed first",
           {{"config", "CONFIG", "show: what each policy would make of this configuration"},
            {"steps", "N", "set: the new end of curve and training"},
            {"policy", "NAME", "set: keep, rescale, extend, rewarm or config"},
            {"peak", "X", "set: new optimizer.lr"},
            {"warmup", "N", "set: new lr_scheduler.warmup_steps"},
            {"decay-ratio", "R|none", "set: new lr_scheduler.decay_ratio"},
            {"decay-type", "T", "set: linear, sqrt or cosine"},
            {"min-factor", "M", "set: new lr_scheduler.min_lr_factor"},
            {"rewarm-from", "zero|present", "set: where the policy rewarm starts"},
            force,
            dry_run},
           Built::kYes,
           false,
           {"DST"}},
          {"convert", {"SRC", "DST"}, "from and to other formats", {}, Built::kNotYet},
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
