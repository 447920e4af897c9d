"""Test classes to subclass: they hold a store, or a provider, of your own to our contract."""

from pytest_agentmail.contracts.ledger_store import LedgerStoreContract
from pytest_agentmail.contracts.mail_provider import MailProviderContract

__all__ = ["LedgerStoreContract", "MailProviderContract"]
