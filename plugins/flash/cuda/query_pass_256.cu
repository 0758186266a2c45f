#include "query_pass_launch.h"

namespace switchyard::flash {
template void launch_query_pass<256>(Storage, const Params&, const Launch&, void*);
}
