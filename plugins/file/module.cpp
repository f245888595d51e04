#include "file_sink.h"
#include "file_source.h"

SLUICE_MODULE("sluice-file", "0.1.0", sluice::file::FileSource, sluice::file::FileSink)
