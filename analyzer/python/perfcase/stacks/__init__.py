"""Callchains with their weights, and the pictures of them."""
