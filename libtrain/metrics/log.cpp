#include "libtrain/metrics/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>
#include <mutex>

#include "ckpt/base/printable.h"

namespace titan::train {
namespace {

using Logger = std::shared_ptr<spdlog::logger>;

std::mutex g_mutex;
Logger g_logger;

Logger make_logger(int rank, const std::string& run_dir, std::string* file_error) {
  auto console = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  console->set_level(rank == 0 ? spdlog::level::info : spdlog::level::warn);
  auto logger = std::make_shared<spdlog::logger>("titan", console);
  if (!run_dir.empty()) {
    const std::string path = rank_log(rank, run_dir);
    try {
      auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);  // appends, makes the folder
      file->set_level(spdlog::level::debug);
      logger->sinks().push_back(file);
    } catch (const spdlog::spdlog_ex& error) {
      *file_error = "no log file: " + std::string(error.what());  // training goes on without
    }
  }
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);  // lines are few, and a rank may be killed at any time
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      "%Y-%m-%dT%H:%M:%S.%eZ %L r" + std::to_string(rank) + " %v", spdlog::pattern_time_type::utc));
  return logger;
}

/// The present logger; before init_log() that of rank 0 without a file.
Logger logger() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  std::string ignored;
  if (!g_logger) g_logger = make_logger(0, "", &ignored);
  return g_logger;
}

void log(spdlog::level::level_enum level, const std::string& message) {
  // The overload without format arguments: braces in a message are text.
  // Messages name settings and paths that others wrote: a line break or an escape sequence in them must not forge a
  // line.
  logger()->log(level, spdlog::string_view_t(ckpt::printable(message)));
}

}  // namespace

std::string init_log(int rank, const std::string& run_dir) {
  std::string file_error;
  Logger fresh = make_logger(rank, run_dir, &file_error);
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_logger) g_logger->flush();
  g_logger = std::move(fresh);
  return file_error;
}

std::string rank_log(int rank, const std::string& run_dir) {
  return run_dir.empty() ? "" : run_dir + "/logs/rank-" + std::to_string(rank) + ".log";
}

void log_debug(const std::string& message) { log(spdlog::level::debug, message); }
void log_info(const std::string& message) { log(spdlog::level::info, message); }
void log_warn(const std::string& message) { log(spdlog::level::warn, message); }
void log_error(const std::string& message) { log(spdlog::level::err, message); }
void flush_log() { logger()->flush(); }

std::string log_text(const ckpt::Status& status) {
  std::string text = status.message;
  for (const std::string& cause : status.causes) text += "; caused by: " + cause;
  return status.hint.empty() ? text : text + "; hint: " + status.hint;
}

}  // namespace titan::train
