"""Captures in the formats of other tools.

Every format is a module with ``EXTENSION``, ``KEEPS_NOT`` (what the format has no place for, in words) and
``write(samples, file)``; those that take more than samples say so in FORMATS. What a capture loses by the way is said, never
dropped in silence: ``Lost`` collects it.
"""
