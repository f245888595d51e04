"""Checkpoints in the sizes that users reported."""
from restore_cases import kill_in_checkpoints
from world import case


@case("restore_long", "RS-01-200MB", "killed 50 times in the middle of checkpoints of 200 MB, it goes on from the last complete one")
def rs01(w):
    kill_in_checkpoints(w, users=1_000_000, least_bytes=200_000_000, kills=50)
