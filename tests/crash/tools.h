#pragma once
// The verbs of titan-ckpt that write, with what never changes filled in.
#include <string>
#include <vector>

#include "tests/crash/world.h"

namespace titan::crash {

ckpt::Status reshard(CrashFs& fs, const std::string& src, const std::string& dst, std::uint32_t dp, bool force);
ckpt::Status strip(CrashFs& fs, const std::string& src, const std::string& dst, bool force);
ckpt::Status lr_set(CrashFs& fs, const std::string& src, const std::string& dst, bool force);
/// prune RUN --keep-last 1.
ckpt::Status prune(CrashFs& fs);
/// prune RUN --thin 1.
ckpt::Status thin(CrashFs& fs);
/// verify SRC --repair --from DONORS -o DST; something must be damaged.
ckpt::Status repair(CrashFs& fs, const std::string& src, const std::string& dst, const std::vector<std::string>& donors,
                    bool force);
/// parity PATH --files 1.
ckpt::Status set_parity(CrashFs& fs, const std::string& path);
/// scrub RUN --status STATUS, whose file is read again. \error kCorrupt: a step is damaged
ckpt::Status scrub(CrashFs& fs, const std::string& status);
ckpt::Status convert(CrashFs& fs, const std::string& src, const std::string& dst, const std::string& to, bool force);
/// A tiny folder in the form of Hugging Face.
ckpt::Status make_hf(CrashFs& fs, const std::string& folder);

}  // namespace titan::crash
