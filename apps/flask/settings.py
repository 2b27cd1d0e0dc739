"""What the environment says, checked once."""

import os
import re

MAX_ALLOC_MB = 4096


def alloc_mb():
    """ALLOC_MB as an int (0 when unset); ValueError carries one sentence."""
    text = os.environ.get("ALLOC_MB", "0")
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) > MAX_ALLOC_MB:
        raise ValueError(
            f'ALLOC_MB must be a whole number of megabytes from 0 to {MAX_ALLOC_MB}, not "{text}"'
        )
    return int(text)
