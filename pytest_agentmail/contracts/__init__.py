"""Test classes to subclass: they hold a store, or a provider, of your own to ours' contract."""

from pytest_agentmail.contracts.ledger_store import LedgerStoreContract

__all__ = ["LedgerStoreContract"]
