"""Signals: one expected mail each, with a contract, an expiry, a budget and evidence."""
