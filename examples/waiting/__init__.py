"""Agents that wait for two minutes, and tests that do not."""
