"""Runs: a versioned ledger of what happened, and the small snapshot that follows from it.

The rules are pure: `events` (what can be said), `transitions` (what may follow what), `snapshot`,
`replay` (how one follows from the other), `planner` (what to do next). `ledger` joins them to a
store, `effects`, `once` and `reconciling` keep the outside world from being changed twice.
"""
