#include "file_sink.h"
#include "file_source.h"

SLUICE_MODULE("sluice-file", SLUICE_PLUGIN_VERSION, sluice::file::FileSource, sluice::file::FileSink)
