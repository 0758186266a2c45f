#include "key_pass_launch.h"

namespace switchyard::flash {
template void launch_key_pass<64>(Storage, const Params&, const Launch&, void*);
}
