"""Captures in the formats of other tools.

For samples, every format is a module with ``UNSUPPORTED`` (what the format has no place for, in words) and
``write(samples, file)``; ``tables`` writes tables and views. What a capture loses by the way is said, never dropped in
silence: ``Lost`` collects it.
"""
