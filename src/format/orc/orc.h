/* format/orc/orc.h - everything callers need of the ORC reader and writer. Read tail.h, reader.h and writer.h, in this order. */
#pragma once

#include "format/orc/reader.h"
#include "format/orc/tail.h"
#include "format/orc/writer.h"
