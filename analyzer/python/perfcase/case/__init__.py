"""An imported capture: its folder, its database, and what is asked of it."""
