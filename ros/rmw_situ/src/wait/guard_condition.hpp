// A guard condition.
#pragma once

#include "support/check.hpp"
#include "wait/waitable.hpp"

namespace rmw_situ {

class GuardCondition final : public Waitable {
 public:
  // NULL, with rmw's error state set, if it cannot be made.
  static std::unique_ptr<GuardCondition> make();
  ~GuardCondition() override { detach(); }

  void trigger() { situ_guard_condition_trigger(condition_.get()); }

  situ_status attach(situ_wait_set* set, uint64_t* id, situ_error* error) override {
    return situ_wait_set_attach_guard_condition(set, condition_.get(), id, error);
  }

 private:
  explicit GuardCondition(situ_guard_condition* condition) : condition_(condition) {}

  Handle<situ_guard_condition, situ_guard_condition_destroy> condition_;
};

// A handle of a new guard condition, and its end. NULL, with rmw's error state set, on failure.
rmw_guard_condition_t* make_guard_condition(rmw_context_t* context);
void destroy_guard_condition(rmw_guard_condition_t* handle);

}  // namespace rmw_situ
