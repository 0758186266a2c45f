#include "query_pass_launch.h"

namespace switchyard::flash {
template void launch_query_pass<128>(Storage, const Params&, const Launch&, void*);
}
