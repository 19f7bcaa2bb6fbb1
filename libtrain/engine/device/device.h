#pragma once
// The device that holds a process's tensors. There is one per process, chosen before the first tensor is created.
//
// Code outside this folder creates tensors with options() and accesses values only on the host: it writes them through
// host_for() and upload(), and reads them through to_host(). On the CPU these copy nothing.
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

/// A mark after all work started so far on a device. A copy that waits for the mark reads the values that this work
/// produces.
class Fence {
 public:
  virtual ~Fence() = default;
};

/// Approximate numbers of kernel launches: for a layer's backward, for a transfer, and for a weight product with its
/// sum.
inline constexpr std::size_t kLaunchesOfLayer = 100, kLaunchesOfTransfer = 4, kLaunchesOfProduct = 5;

/// Memory in bytes. A value is 0 if the device does not count it.
struct MemoryFigures {
  std::size_t tensors = 0;  ///< peak size of all tensors
  std::size_t kept = 0;     ///< peak size that the allocator reserved, minus `tensors`
  std::size_t total = 0;    ///< memory of the device, if it has memory of its own
};

/// The interface of a device.
class Device {
 public:
  virtual ~Device() = default;
  /// LibTorch's device for the tensors.
  virtual at::Device place() const = 0;
  at::TensorOptions options(at::ScalarType type) const;
  /// For metrics: "cpu", "NVIDIA H100 80GB HBM3".
  virtual std::string name() const = 0;
  /// The identity of the device among all devices anywhere: a GPU's UUID. Empty for a device that processes share (the
  /// CPU).
  virtual std::string unit() const { return {}; }
  /// The device's contribution to the environment that results depend on: rows such as "device" and library versions.
  /// In a checkpoint's environment they are added to the host's rows, or replace them.
  virtual ckpt::Settings environment() const { return {}; }
  virtual MemoryFigures memory() const = 0;

  /// Host memory from which copies to and from the device are fastest: pinned memory, if the device knows it.
  virtual std::shared_ptr<std::byte[]> host_memory(std::size_t bytes);
  /// A tensor in such memory, to be filled and given to from_host().
  virtual at::Tensor host_tensor(at::IntArrayRef sizes, at::ScalarType type);

  /// A contiguous host tensor with the shape and type of `values`, to be filled and given to upload(). Returns `values`
  /// itself if the host can write to it.
  virtual at::Tensor host_for(const at::Tensor& values) = 0;
  /// Copies `host`, which host_for(values) returned, to `values`. `host` may be freed at once. Any thread.
  virtual void upload(const at::Tensor& host, const at::Tensor& values) = 0;
  /// Copies a host tensor to the device; returns `host` itself on the CPU. Returns at once; the caller must not change
  /// `host` afterwards.
  virtual at::Tensor from_host(at::Tensor host) = 0;

  /// The values as a contiguous host tensor; `values` itself if it is one. Only this call and read() read values from
  /// the device.
  virtual at::Tensor to_host(const at::Tensor& values) = 0;
  /// The values of one-element fp64 tensors, all in one transfer.
  virtual std::vector<double> read(std::span<const at::Tensor> scalars) = 0;

  /// Call this before each piece of a step; `launches` is roughly the number of kernels that the piece launches.
  /// Returns when the device has completed all but the newest few hundred launches, and meanwhile checks that peers are
  /// alive. Without it the host would run a step ahead, hold the tensors of all micro-batches, then block in the
  /// driver's full queue and not notice a dead peer.
  virtual void keep_pace(std::size_t launches);

  /// A second queue of work in addition to the run's. One caller gives it work and waits for it.
  virtual std::unique_ptr<Lane> make_lane() = 0;

  /// For a saver: a mark after all work started so far. Null on a device whose calls return when their work is done.
  virtual std::shared_ptr<Fence> fence() = 0;
  /// Copies a contiguous tensor to `to` once the work before `fence` is done, and waits for no other work. Any thread.
  virtual void copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence* fence) = 0;

  /// The bytes of a contiguous tensor that nothing is writing to: in place if the host can read them, else copied to
  /// `scratch`.
  virtual std::span<const std::byte> bytes(const at::Tensor& values, std::span<std::byte> scratch);

  /// The kernels of the device. They live as long as the device.
  virtual Kernels& kernels() = 0;
};

/// The device of this process: the CPU unless use_device() has set another.
Device& device();
/// Sets the device of this process; null: the CPU. Call it before the first tensor is made. `chosen` must outlive all
/// tensors.
void use_device(Device* chosen);

}  // namespace titan::train
