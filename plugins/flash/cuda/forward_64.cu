#include "forward_launch.h"

namespace switchyard::flash_cuda {
template void launch_forward<64>(Storage, const Params&, const Launch&, void*);
}
