#include "key_pass_launch.h"

namespace switchyard::flash_cuda {
template void launch_key_pass<64>(Storage, const Params&, const Launch&, void*);
}
