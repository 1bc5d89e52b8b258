# What the lazily loaded modules are, to type checkers and editors.
import capstone as capstone
import duckdb as duckdb
import rich as rich
