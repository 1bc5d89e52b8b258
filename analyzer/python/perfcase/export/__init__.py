"""Captures in the formats of other tools.

``formats`` has the formats of samples, ``source`` gives them the samples, ``tables`` writes tables and views. Everything that an export
loses is reported: ``Samples.lost`` and the ``UNSUPPORTED`` of a format.
"""
