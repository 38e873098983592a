// A target of C needs a source.
#include "TapLinux.h"
