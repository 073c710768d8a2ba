// Bulk fields hold plain elements only.
// EXPECT: a bulk field holds plain elements
#include <string>

#include "situ/layout/bulk.hpp"

#ifdef SITU_RIGHT
situ::bulk_ref<float> field;
#else
situ::bulk_ref<std::string> field;
#endif
