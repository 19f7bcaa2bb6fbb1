#pragma once
// The verbs of titan-ckpt that write, with what never changes filled in.
#include <string>

#include "tests/crash/world.h"

namespace titan::crash {

ckpt::Status reshard(CrashFs& fs, const std::string& src, const std::string& dst, std::uint32_t dp, bool force);
ckpt::Status strip(CrashFs& fs, const std::string& src, const std::string& dst, bool force);
ckpt::Status lr_set(CrashFs& fs, const std::string& src, const std::string& dst, bool force);
/// prune RUN --keep-last 1.
ckpt::Status prune(CrashFs& fs);
ckpt::Status convert(CrashFs& fs, const std::string& src, const std::string& dst, const std::string& to, bool force);
/// A tiny folder in the form of Hugging Face.
ckpt::Status make_hf(CrashFs& fs, const std::string& folder);

}  // namespace titan::crash
