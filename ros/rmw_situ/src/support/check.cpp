// How failures of Situ are told to callers of rmw.
#include "check.hpp"

namespace rmw_situ {

rmw_ret_t failed(const char* what, const char* name, const situ_error& error) {
  RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("%s '%s': %s", what, name, error.text);
  switch (error.status) {
    case SITU_ERROR_INVALID_ARGUMENT:
      return RMW_RET_INVALID_ARGUMENT;
    case SITU_ERROR_FULL:
    case SITU_ERROR_DEADLINE:
      return RMW_RET_TIMEOUT;
    default:
      return RMW_RET_ERROR;
  }
}

}  // namespace rmw_situ
