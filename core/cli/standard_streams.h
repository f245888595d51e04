// Standard input, output and error: what the command needs of them before its first and after its last word.
#pragma once

namespace sluice::cli {

// Called first of all. A file that is opened while one of the descriptors 0 to 2 is closed gets its number, and then what
// is printed would be written into that file. So /dev/null is opened for each that is closed; for standard output only to
// be read, so that whoever writes rows there is told. False: that is not possible; reported.
bool open_closed_streams();

// Called last of all, with the exit status of the command. What was printed on standard output and did not get there is
// reported; then a command is not a success.
int end_output(int exit_status);

}  // namespace sluice::cli
