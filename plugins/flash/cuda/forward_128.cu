#include "forward_launch.h"

namespace switchyard::flash {
template void launch_forward<128>(Storage, const Params&, const Launch&, void*);
}
