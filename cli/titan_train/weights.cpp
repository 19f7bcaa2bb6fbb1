#include "cli/titan_train/weights.h"

#include "ckpt/io/run_resolve.h"
#include "converters/import.h"

namespace titan::cli {

using ckpt::Result;

ckpt::WeightOpener weight_opener() {
  return [](const std::string& spec) -> Result<std::unique_ptr<ckpt::WeightSource>> {
    ckpt::Fs& fs = ckpt::posix_fs();
    const std::string path = convert::resolve_any(fs, spec);
    TITAN_ASSIGN_OR_RETURN(const convert::Format* format, convert::detect_format(fs, path));
    TITAN_ASSIGN_OR_RETURN(const std::string folder,
                           format != nullptr ? Result<std::string>(path) : ckpt::resolve_checkpoint(fs, path));
    TITAN_ASSIGN_OR_RETURN(ckpt::CheckpointReader reader, convert::open_any(fs, folder));
    return ckpt::weights_of(std::move(reader));
  };
}

}  // namespace titan::cli
