// Stand-in for Lyrical's header of the same name: what rmw_situ and its tests use of rosidl::Buffer.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rosidl {

template <typename T>
class BufferImplBase {
 public:
  virtual ~BufferImplBase() = default;
  virtual std::string get_backend_type() const = 0;
  virtual size_t size() const = 0;
  virtual std::unique_ptr<BufferImplBase<T>> to_cpu() const = 0;
  virtual std::unique_ptr<BufferImplBase<T>> clone() const = 0;
};

template <typename T>
class CpuBufferImpl : public BufferImplBase<T> {
 public:
  std::vector<T>& get_storage() { return storage_; }
  const std::vector<T>& get_storage() const { return storage_; }
  std::string get_backend_type() const override { return "cpu"; }
  size_t size() const override { return storage_.size(); }
  std::unique_ptr<BufferImplBase<T>> to_cpu() const override { return clone(); }
  std::unique_ptr<BufferImplBase<T>> clone() const override {
    return std::make_unique<CpuBufferImpl<T>>(*this);
  }

 private:
  std::vector<T> storage_;
};

template <typename T, typename Allocator = std::allocator<T>>
class Buffer {
 public:
  Buffer() : impl_(std::make_unique<CpuBufferImpl<T>>()) {}
  explicit Buffer(std::unique_ptr<BufferImplBase<T>> impl) : impl_(std::move(impl)) {}

  std::string get_backend_type() const { return impl_->get_backend_type(); }
  const BufferImplBase<T>* get_impl() const { return impl_.get(); }
  size_t size() const { return impl_->size(); }
  void resize(size_t size) { storage().resize(size); }
  T& operator[](size_t index) { return storage()[index]; }
  const T& operator[](size_t index) const { return storage()[index]; }

 private:
  std::vector<T>& storage() const {
    if (get_backend_type() != "cpu") throw std::runtime_error("the buffer is not on the host");
    return static_cast<CpuBufferImpl<T>&>(*impl_).get_storage();
  }

  std::unique_ptr<BufferImplBase<T>> impl_;
};

}  // namespace rosidl
