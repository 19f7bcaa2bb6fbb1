#pragma once
// Log lines "2026-01-02T03:04:05.678Z I r0 message key=value" on stderr and in logs/rank-N.log. spdlog stays in
// log.cpp.
#include <functional>
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

/// Sets up this process's log: rank 0 shows info and above on stderr, others warnings and above; everything from debug
/// on goes to `<run_dir>/logs/rank-N.log` when `run_dir` is not empty, by a thread that no line waits for. Call again
/// to change. Returns why there is no such file, else "". A run continues without the file; where its folder cannot be
/// used at all, this reason is the error to report.
std::string init_log(int rank, const std::string& run_dir);
enum class LogLevel { kInfo, kWarn, kError };
/// What this process would show on stderr goes to `show` from the next init_log on: a terminal has an owner. Called by
/// one thread at a time.
void show_log(std::function<void(LogLevel, const std::string& message)> show);
/// Where the log of a rank lies; empty without a run folder.
std::string rank_log(int rank, const std::string& run_dir);
/// A message is one line: control characters in it are escaped.
void log_debug(const std::string& message);
void log_info(const std::string& message);
void log_warn(const std::string& message);
void log_error(const std::string& message);
/// Waits until the log file has what was logged, at most 2 s for a store that stands still.
void flush_log();
/// Message, causes and hint as one line of the log.
std::string log_text(const ckpt::Status& status);

}  // namespace titan::train
