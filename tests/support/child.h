#pragma once
// A forked child that waits to be killed; it never outlives its object, also when a test fails in between.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace titan::ckpt::testing {

class Child {
 public:
  /// Runs `prepare` in a child, which keeps the pointer that it returns (null: not ready) until kill().
  template <typename Prepare>
  explicit Child(Prepare prepare) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ready[0]);
      auto kept = prepare();
      if (!kept || ::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    ready_ = pid_ > 0 && ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool ready() const { return ready_; }
  pid_t pid() const { return pid_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

}  // namespace titan::ckpt::testing
