#include "cli/command_line.h"

int main(int argc, char** argv) { return sluice::cli::run_command_line({argv + 1, argv + argc}); }
