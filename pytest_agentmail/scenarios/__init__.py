"""Scenarios: what the world does in a run, and what should come of it."""
