"""Two captures, or two parts of one, side by side: what differs, by how much, and whether that is more than chance."""
