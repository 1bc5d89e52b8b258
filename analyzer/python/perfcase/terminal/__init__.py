"""Rows as text, bars and files."""
