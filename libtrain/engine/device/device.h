#pragma once
// The device that holds a process's tensors: the CPU or one GPU. It is chosen before the first tensor is created.
//
// Code outside this folder creates tensors with options(), and accesses values only on the host: it writes them through
// host_for() and upload(), and reads them through to_host(). On the CPU these functions do not copy contiguous tensors.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "ckpt/model/settings.h"
#include "libtrain/engine/device/kernels.h"
#include "libtrain/engine/device/lane.h"

namespace titan::train {

/// A point in a device's queue of work. A copy that waits for the fence reads the values after all work before that
/// point.
class Fence {
 public:
  virtual ~Fence() = default;
};

/// Approximate numbers of kernel launches, for Device::keep_pace(): of a layer's backward; of a transfer; of a product
/// that computes a weight's gradient, with its addition to a sum.
inline constexpr std::size_t kLaunchesOfLayer = 100, kLaunchesOfTransfer = 4, kLaunchesOfProduct = 5;

/// Memory of a device in bytes. A value is 0 if the device does not count it.
struct MemoryFigures {
  std::size_t tensors = 0;  ///< peak of all tensors together
  std::size_t kept = 0;     ///< peak of what the allocator reserved, minus `tensors`
  std::size_t total = 0;    ///< all memory of a device that has its own; 0 for the CPU
};

class Device {
 public:
  virtual ~Device() = default;
  /// LibTorch's device for the tensors.
  virtual at::Device place() const = 0;
  at::TensorOptions options(at::ScalarType type) const;
  /// For metrics: "cpu", "NVIDIA H100 80GB HBM3".
  virtual std::string name() const = 0;
  /// A globally unique id: a GPU's UUID. Empty for a device that several ranks may share (the CPU).
  virtual std::string unit() const { return {}; }
  /// What results depend on, as rows (name, value): the model of the device, versions of libraries. In a checkpoint's
  /// environment a row is added to the host's rows, or replaces the host's row of the same name.
  virtual ckpt::Settings environment() const { return {}; }
  virtual MemoryFigures memory() const = 0;

  /// Allocates host memory for fast copies to and from the device: pinned memory for a GPU.
  virtual std::shared_ptr<std::byte[]> host_memory(std::size_t bytes);
  /// A tensor in memory like host_memory(), to be filled and given to from_host().
  virtual at::Tensor host_tensor(at::IntArrayRef sizes, at::ScalarType type);

  /// A contiguous host tensor with the shape and type of `values`, to be filled and given to upload(). On the CPU it is
  /// `values` itself.
  virtual at::Tensor host_for(const at::Tensor& values) = 0;
  /// Copies `host`, which host_for(values) returned, to `values`. The caller may free `host` afterwards. Any thread.
  virtual void upload(const at::Tensor& host, const at::Tensor& values) = 0;
  /// Copies a host tensor to the device; returns `host` itself on the CPU. Returns at once; the caller must not change
  /// `host` afterwards.
  virtual at::Tensor from_host(at::Tensor host) = 0;

  /// The values as a contiguous host tensor; `values` itself if it is one. Waits for the device.
  virtual at::Tensor to_host(const at::Tensor& values) = 0;
  /// The values of one-element fp64 tensors, all in one transfer. Waits for the device.
  virtual std::vector<double> read(std::span<const at::Tensor> scalars) = 0;

  /// Keeps the host from running far ahead of the device. Call this before each part of a step; `launches` is roughly
  /// the number of kernels that the part launches. Returns when the device has completed all but the newest few
  /// hundred launches, and checks meanwhile that peers are alive. Without this call the host would run a step ahead and
  /// hold the tensors of all micro-batches; it would then block in the driver, whose queue is full, and not notice a
  /// dead peer.
  virtual void keep_pace(std::size_t launches);

  /// Creates a second queue of work, in addition to the run's (lane.h).
  virtual std::unique_ptr<Lane> make_lane() = 0;

  /// The point after all work started so far, for the copies of a save. Null on the CPU, where a call returns when its
  /// work is done.
  virtual std::shared_ptr<Fence> fence() = 0;
  /// Copies a contiguous tensor to `to` once the work before `fence` is done. Returns after the copy; does not wait for
  /// later work. Any thread.
  virtual void copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence* fence) = 0;

  /// The bytes of a contiguous tensor: on the CPU the tensor's own memory, else a copy in `scratch`. No work that
  /// writes to the tensor may be in progress.
  virtual std::span<const std::byte> bytes(const at::Tensor& values, std::span<std::byte> scratch);

  /// The kernels of the device. They live as long as the device.
  virtual Kernels& kernels() = 0;
};

/// The device of this process: the CPU unless use_device() has set another.
Device& device();
/// Sets the device of this process; null: the CPU. Call it before the first tensor is created. `chosen` must outlive
/// all tensors.
void use_device(Device* chosen);

}  // namespace titan::train
