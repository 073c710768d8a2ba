// Guard conditions.
#include "wait/guard_condition.hpp"

#include <rmw/allocators.h>
#include <rmw/rmw.h>

namespace rmw_situ {

std::unique_ptr<GuardCondition> GuardCondition::make() {
  situ_guard_condition* condition;
  situ_error error;
  if (situ_guard_condition_create(&condition, &error) != SITU_OK) {
    failed("cannot make", "guard condition", error);
    return nullptr;
  }
  return std::unique_ptr<GuardCondition>(new GuardCondition(condition));
}

rmw_guard_condition_t* make_guard_condition(rmw_context_t* context) {
  auto condition = GuardCondition::make();
  if (!condition) return nullptr;
  rmw_guard_condition_t* const handle = rmw_guard_condition_allocate();
  if (handle == nullptr) throw std::bad_alloc();
  handle->implementation_identifier = identifier;
  handle->data = condition.release();
  handle->context = context;
  return handle;
}

void destroy_guard_condition(rmw_guard_condition_t* handle) {
  if (handle == nullptr) return;
  delete static_cast<GuardCondition*>(handle->data);
  rmw_guard_condition_free(handle);
}

}  // namespace rmw_situ

using namespace rmw_situ;

extern "C" {

rmw_guard_condition_t* rmw_create_guard_condition(rmw_context_t* context) {
  SITU_CHECK_HANDLE_OR_NULL(context);
  return guarded(static_cast<rmw_guard_condition_t*>(nullptr), [&] { return make_guard_condition(context); });
}

rmw_ret_t rmw_destroy_guard_condition(rmw_guard_condition_t* guard_condition) {
  SITU_CHECK_HANDLE(guard_condition);
  destroy_guard_condition(guard_condition);
  return RMW_RET_OK;
}

rmw_ret_t rmw_trigger_guard_condition(const rmw_guard_condition_t* guard_condition) {
  SITU_CHECK_HANDLE(guard_condition);
  static_cast<GuardCondition*>(guard_condition->data)->trigger();
  return RMW_RET_OK;
}

}  // extern "C"
