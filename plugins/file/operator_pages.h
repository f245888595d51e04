// The operators' pages, in Markdown.
#pragma once

namespace sluice::file {

inline constexpr char kFileSourceDoc[] = R"md(
Each line of the file is a row; the payload is the line without its newline (`\n` or `\r\n`). A byte order mark at the start of
the file is skipped. Empty lines are skipped and counted (`empty_lines`). A line that is no JSON object, `null` among
them, goes on as it is, and becomes a dead letter where an operator reads it.

`path` names one file, a folder (all files in it; not its sub-folders, not hidden files) or a pattern (`data/2026-*.jsonl`,
`{a,b}.jsonl`). Each file is a split: its rows keep their order, and with several lanes the files are spread over them. A file is known by its path as it is
given (`./in/a` is `in/a`): by another one, absolute instead of relative, by a link or after a move, it is another file and is read from its beginning.

**Whole files** (`follow: false`): the files that are there at start are read to their end; then the source ends. The last line
needs no newline. The next run from the checkpoint looks at them again: it reads the lines that were added since, and new
files. A file that was read to its end and is not in the folder any more is done with. A missing file, a pattern without
match and an empty folder stop the job at once.

**Followed** (`follow: true`): the source never ends. New bytes, and with a folder or a pattern new files, are seen within 100 ms
or at the host's next look for splits. A last line without newline waits until it is complete. A file that is not there yet is
waited for; one that is deleted after it was read to its end is done with. When the file is renamed and a new one gets its name (log rotation), the old one is read to its end first, then the
new one from its beginning; this also works when it happened while the job was down, as long as the old file is still in
the same folder. Files in between, when it was rotated more than once at a time or while the job was down, are read one after the other
when their names say that they are of the same rotation as the old file's: a count (`app.log.2`, `app.log.1`: smaller is newer) or a
date (`app.log-20220601`, `app.2022-06-01.log`) put in at the same place. Any other file in the folder whose name begins like
this one (up to its first dot) and that is younger than the one that was read may be of the rotation too, or not: it is not read, a warning names it, and `files_skipped`
counts it. What cannot be seen at all: files in between that were moved to another folder, renamed altogether, compressed with the time of
the file that was read, or deleted; and those of rotations after a file that was read to its end and then deleted. A folder or pattern must not match the
names of rotated files, or their rows come twice.

**Going on after a restart.** A position holds the byte and line, the file's inode and a hash of its first bytes. When the
file was truncated, written anew or replaced, or its last line, which had no newline, has become longer, the job stops and
says so (`on_gap: fail`), or reads what is there now from its beginning (`on_gap: restart`). A copy of the file with the same content is accepted.

**Long lines.** A line longer than `max_line` is never held in memory as a whole: its first `max_line` bytes and one byte that
is not UTF-8 go on as a row which cannot be valid and so becomes a bad record, the rest is skipped (`lines_too_long`).

Counters: `empty_lines`, `lines_too_long`, `rotations`, `files_skipped`, `gaps`.
)md";

inline constexpr char kFileSinkDoc[] = R"md(
Writes each row as one line of JSON, numbers with the digits they came with. The rows between two checkpoints go to one file:

    <dir>/<prefix>-<lane>-<checkpoint>.jsonl          out/orders-00-0000000017.jsonl

A file appears under its name when its checkpoint is complete, whole and never to be changed again: whoever reads the folder sees
each row exactly once, also after crashes. A checkpoint without rows makes no file. How soon rows can be seen is the
pipeline's checkpoint interval.

A row that is marked as deleted is a line like any other, and nothing but the row itself can say that it is gone, as change data
from a database does. `on_delete` says what is wanted; counters: `deletes_written`, `deletes_ignored`.

Names that begin with a dot are the sink's own: `.<file>.….tmp` is being written, `.sluice-<id>-<lane>.json` says up to which
checkpoint the files are complete. Keep the latter beside the files. Without it, and after `--from` or with a new checkpoint
store, the sink refuses to write over files that are there: move them away, or choose another `dir` or `prefix`.
)md";

}  // namespace sluice::file
