#include "ckpt/io/run_lock.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>

namespace titan::ckpt {
namespace {

constexpr double kStaleSeconds = 60;
constexpr std::uint64_t kTextLimit = 16 * 1024;

/// One kernel decides about advisory locks of both.
bool same_host(const LockOwner& a, const LockOwner& b) {
  return a.host == b.host || (!a.boot_id.empty() && a.boot_id == b.boot_id);
}

bool same_process(const LockOwner& a, const LockOwner& b) {
  return a.host == b.host && a.boot_id == b.boot_id && a.pid == b.pid && a.since == b.since;
}

Result<LockOwner> read_owner(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(std::vector<std::byte> data, read_file(fs, path, kTextLimit));
  return decode_lock_owner(std::string(reinterpret_cast<const char*>(data.data()), data.size()));
}

Status refuse(const std::string& run_dir, const std::string& path, const Result<LockOwner>& holder, const LockOwner& self) {
  if (!holder.ok())
    return locked(run_dir + " is locked by another process, which left no readable note in " + path)
        .with_hint("wait until it ends, or use another folder");
  std::string who = "process " + std::to_string(holder->pid) + " on host " + holder->host + " since " + holder->since;
  if (!holder->job_id.empty()) who += ", job " + holder->job_id + ", restart " + std::to_string(holder->restart_count);
  Status status = locked(run_dir + " is locked by a live run or tool: " + who);
  if (holder->heartbeat > 0) {
    const double age = std::round(self.heartbeat - holder->heartbeat);
    status.causes.push_back("its last heartbeat in " + path + " is " + std::to_string(static_cast<long long>(age)) + " s old");
    if (!same_host(*holder, self) && age >= kStaleSeconds)
      return status.with_hint("if host " + holder->host + " is dead and its file server still keeps the lock: rm " + path);
  }
  return status.with_hint("stop that run first, or wait until the tool ends; or use another folder");
}

double seconds_since_epoch() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::uint32_t count_from(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

}  // namespace

bool holder_is_gone(const LockOwner& holder, const LockOwner& self) {
  if (same_host(holder, self)) return true;
  if (!holder.job_id.empty() && holder.job_id == self.job_id && self.restart_count > holder.restart_count) return true;
  return self.heartbeat - holder.heartbeat >= kStaleSeconds;
}

std::string encode_lock_owner(const LockOwner& owner) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer writer(buffer);
  auto text = [&writer](const char* key, const std::string& value) {
    writer.Key(key);
    writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  writer.StartObject();
  text("host", owner.host);
  text("boot_id", owner.boot_id);
  writer.Key("pid");
  writer.Uint64(owner.pid);
  text("since", owner.since);
  text("job_id", owner.job_id);
  writer.Key("restart_count");
  writer.Uint(owner.restart_count);
  writer.Key("heartbeat");
  writer.Double(owner.heartbeat);
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

Result<LockOwner> decode_lock_owner(const std::string& text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseStopWhenDoneFlag | rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(
      text.data(), text.size());
  if (document.HasParseError() || !document.IsObject()) return corrupt("the note in a run lock is not a JSON object");
  LockOwner owner;
  auto member = [&document](const char* key) -> const rapidjson::Value* {
    auto found = document.FindMember(key);
    return found == document.MemberEnd() ? nullptr : &found->value;
  };
  auto read_text = [&member](const char* key, std::string* out) {
    const rapidjson::Value* value = member(key);
    if (value && value->IsString()) out->assign(value->GetString(), value->GetStringLength());
    return value && value->IsString();
  };
  const rapidjson::Value* pid = member("pid");
  const rapidjson::Value* restarts = member("restart_count");
  const rapidjson::Value* heartbeat = member("heartbeat");
  if (!read_text("host", &owner.host) || !read_text("boot_id", &owner.boot_id) || !read_text("since", &owner.since) ||
      !read_text("job_id", &owner.job_id) || !pid || !pid->IsUint64() || !restarts || !restarts->IsUint() || !heartbeat ||
      !heartbeat->IsNumber()) {
    return corrupt("the note in a run lock lacks one of host, boot_id, pid, since, job_id, restart_count, heartbeat");
  }
  owner.pid = pid->GetUint64();
  owner.restart_count = restarts->GetUint();
  owner.heartbeat = heartbeat->GetDouble();
  return owner;
}

Result<std::unique_ptr<RunLock>> RunLock::take(Fs& fs, const std::string& run_dir, LockOwner self) {
  const std::string path = join_path(run_dir, kRunLockFile);
  Result<std::unique_ptr<FileLock>> lock = fs.lock(path);
  if (!lock.ok()) {
    if (lock.status().code != Code::kLocked) return lock.status();
    const std::vector<std::string>& causes = lock.status().causes;
    return refuse(run_dir, path, decode_lock_owner(causes.empty() ? "" : causes.front()), self);
  }
  // Some network file systems grant the lock to every host: the note decides there. An unreadable note is that of a
  // run which died while writing it.
  if (Result<LockOwner> holder = read_owner(fs, path); holder.ok() && !holder_is_gone(*holder, self))
    return refuse(run_dir, path, holder, self);
  TITAN_RETURN_IF_ERROR((*lock)->write(encode_lock_owner(self)));
  return std::unique_ptr<RunLock>(new RunLock(fs, path, std::move(*lock), std::move(self)));
}

RunLock::RunLock(Fs& fs, std::string path, std::unique_ptr<FileLock> lock, LockOwner self)
    : fs_(fs), path_(std::move(path)), lock_(std::move(lock)), self_(std::move(self)) {}

RunLock::~RunLock() {
  if (!still_ours().ok()) return;
  self_.heartbeat = 0;
  Status ignored = lock_->write(encode_lock_owner(self_));  // the next run waits for the heartbeat then
  (void)ignored;
}

Status RunLock::still_ours() const {
  Result<LockOwner> holder = read_owner(fs_, path_);
  if (!holder.ok()) {
    return holder.status().code == Code::kNotFound
               ? locked(path_ + " was removed while this run held it: another run may start in this folder")
               : holder.status();
  }
  if (same_process(*holder, self_)) return ok_status();
  return locked(path_ + " was taken over by process " + std::to_string(holder->pid) + " on host " + holder->host + " at " +
                holder->since)
      .with_hint("this run was silent for too long: stop it, the other one goes on");
}

Status RunLock::pulse() {
  constexpr double kSeconds = 5;
  const double now = seconds_since_epoch();
  return now - self_.heartbeat < kSeconds ? ok_status() : beat(now);
}

Status RunLock::beat(double now) {
  TITAN_RETURN_IF_ERROR(still_ours());
  self_.heartbeat = now;
  return lock_->write(encode_lock_owner(self_));
}

LockOwner this_process() {
  LockOwner self;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) self.host = host;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");  // kernel state, not storage: does not go through Fs
  std::getline(boot, self.boot_id);
  self.pid = static_cast<std::uint64_t>(::getpid());
  if (std::string job = environment("SLURM_JOB_ID"); !job.empty()) {
    self.job_id = "slurm:" + job;
    self.restart_count = count_from(environment("SLURM_RESTART_COUNT"));
  } else if (job = environment("TORCHELASTIC_RUN_ID"); !job.empty() && job != "none") {
    self.job_id = "torchrun:" + job;
    self.restart_count = count_from(environment("TORCHELASTIC_RESTART_COUNT"));
  }
  self.heartbeat = seconds_since_epoch();
  const auto seconds = static_cast<std::time_t>(self.heartbeat);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  self.since = text;
  return self;
}

}  // namespace titan::ckpt
