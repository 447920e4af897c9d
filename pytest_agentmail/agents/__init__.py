"""Agents: the run an agent works in, and how it is driven."""
