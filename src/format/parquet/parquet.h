/* format/parquet/parquet.h - everything callers need of the Parquet reader and writer. Read footer.h, reader.h and
 * writer.h, in this order. */
#pragma once

#include "format/parquet/footer.h"
#include "format/parquet/reader.h"
#include "format/parquet/writer.h"
