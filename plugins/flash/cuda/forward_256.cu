#include "forward_launch.h"

namespace switchyard::flash {
template void launch_forward<256>(Storage, const Params&, const Launch&, void*);
}
