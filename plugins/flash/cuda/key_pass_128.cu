#include "key_pass_launch.h"

namespace switchyard::flash_cuda {
template void launch_key_pass<128>(Storage, const Params&, const Launch&, void*);
}
