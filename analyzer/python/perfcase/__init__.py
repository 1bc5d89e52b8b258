"""perfcase: an offline Linux performance analyzer.

A capture (``x.perfcase``, a bare ``perf.data`` or ``trace.dat``, a recorder's folder) is imported once into
plain Parquet tables; every answer is a SQL view over them.
"""

__version__ = "0.1.0"
