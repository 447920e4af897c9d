"""Where runs are kept: one protocol, and three stores that keep to it."""
