#include "forward_launch.h"

namespace switchyard::flash_cuda {
template void launch_forward<256>(Storage, const Params&, const Launch&, void*);
}
