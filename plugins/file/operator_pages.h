// The operators' pages, in Markdown.
#pragma once

namespace sluice::file {

inline constexpr char kFileSourceDoc[] = R"md(
Each line of the file is a row; the payload is the line without its newline (`\n` or `\r\n`). A byte order mark at the start of
the file is skipped. Empty lines are skipped and counted (`empty_lines`). The line `null` is passed on as it is.

`path` names one file, a folder (all files in it; not its sub-folders, not hidden files) or a pattern (`data/2026-*.jsonl`,
`{a,b}.jsonl`). Each file is a split: its rows keep their order, and with several lanes the files are spread over them.

**Whole files** (`follow: false`): the files that are there at start are read to their end; then the source ends. The last line
needs no newline. A missing file, a pattern without match and an empty folder stop the job at once.

**Followed** (`follow: true`): the source never ends. New bytes, and with a folder or a pattern new files, are seen within 100 ms
or at the host's next look for splits. A last line without newline waits until it is complete. A file that is not there yet is
waited for; one that is deleted after it was read to its end is done with. When the file is renamed and a new one gets its name (log rotation), the old one is read to its end first, then the
new one from its beginning; this also works when it happened once while the job was down, as long as the old file is still in
the same folder. Files in between, from further rotations while the job was down, are not read; a warning names them. A folder or pattern must not match the names of rotated files, or their rows come twice.

**Going on after a restart.** A position holds the byte and line, the file's inode and a hash of its first bytes. When the
file was truncated, written anew or replaced, the job stops and says so (`on_gap: fail`), or reads what is there now from
its beginning (`on_gap: restart`). A copy of the file with the same content is accepted.

**Long lines.** A line longer than `max_line` is never held in memory as a whole: its first `max_line` bytes and one byte that
is not UTF-8 go on as a row which cannot be valid and so becomes a bad record, the rest is skipped (`lines_too_long`).

Counters: `empty_lines`, `lines_too_long`, `rotations`, `gaps`.
)md";

inline constexpr char kFileSinkDoc[] = R"md(
Writes each row as one line of JSON, numbers with the digits they came with. The rows between two checkpoints go to one file:

    <dir>/<prefix>-<lane>-<checkpoint>.jsonl          out/orders-00-0000000017.jsonl

A file appears under its name when its checkpoint is complete, whole and never to be changed again: whoever reads the folder sees
each row exactly once, also after crashes. A checkpoint without rows makes no file. How soon rows can be seen is the
pipeline's checkpoint interval.

Names that begin with a dot are the sink's own: `.<file>.….tmp` is being written, `.sluice-<id>-<lane>.json` says up to which
checkpoint the files are complete. Keep the latter beside the files. Without it, and after `--from` or with a new checkpoint
store, the sink refuses to write over files that are there: move them away, or choose another `dir` or `prefix`.
)md";

}  // namespace sluice::file
