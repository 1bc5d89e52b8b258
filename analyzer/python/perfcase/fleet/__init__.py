"""Many captures beside each other: the same figure of each, in the order of time, and what is unusual about it."""
