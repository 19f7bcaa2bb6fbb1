// write_checkpoint RUN: a trainer of a line, y = w x + b with Adam, that saves after 10 steps into RUN/step-00000010.
#include <titan/ckpt/checkpoint.h>
#include <titan/ckpt/write.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr int kSteps = 10;

struct Parameter {
  std::string name;
  std::array<float, 1> value{}, exp_avg{}, exp_avg_sq{};

  void adam(float gradient, int step) {
    exp_avg[0] = 0.9f * exp_avg[0] + 0.1f * gradient;
    exp_avg_sq[0] = 0.999f * exp_avg_sq[0] + 0.001f * gradient * gradient;
    const float mean = exp_avg[0] / (1 - std::pow(0.9f, step)), square = exp_avg_sq[0] / (1 - std::pow(0.999f, step));
    value[0] -= 0.1f * mean / (std::sqrt(square) + 1e-8f);
  }
};

int fail(const titan::Status& status) {
  std::fprintf(stderr, "error: %s: %s\n", status.path.c_str(), status.text().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_checkpoint RUN\n");
    return 2;
  }
  Parameter w{"line.weight"}, b{"line.bias"};
  for (int step = 1; step <= kSteps; ++step) {
    const float x = 0.1f * static_cast<float>(step), error = w.value[0] * x + b.value[0] - (3 * x + 1);
    w.adam(2 * error * x, step);
    b.adam(2 * error, step);
  }

  std::vector<titan::TensorData> tensors;
  const auto add = [&](const Parameter& p, const char* slot, const std::array<float, 1>& data) {
    tensors.push_back({p.name, slot, titan::DType::kFloat32, {1}, std::as_bytes(std::span(data))});
  };
  for (const Parameter* p : {&w, &b}) {
    add(*p, "", p->value);
    add(*p, "exp_avg", p->exp_avg);
    add(*p, "exp_avg_sq", p->exp_avg_sq);
  }
  titan::State state;
  state.step = kSteps;
  state.program = "line-trainer 1.0";
  state.settings = {{"optimizer.lr", "0.1"}, {"optimizer.name", "\"Adam\""}};

  const titan::Result<titan::Written> written =
      titan::write_checkpoint(titan::step_folder(argv[1], kSteps), state, tensors);
  if (!written.ok()) return fail(written.status());
  std::printf("%s  id %s\n", written->path.c_str(), written->id.c_str());

  // Look at it as anybody would.
  const titan::Result<titan::Checkpoint> again = titan::Checkpoint::open(std::string(argv[1]) + "@latest");
  if (!again.ok()) return fail(again.status());
  const titan::Result<titan::Verification> verified = again->verify();
  if (!verified.ok()) return fail(verified.status());
  std::printf("%zu tensors, %s\n", again->tensors().size(), verified->whole() ? "whole" : "damaged");
  return verified->whole() ? 0 : 1;
}
