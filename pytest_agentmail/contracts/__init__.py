"""Test classes to subclass: they hold a store, or a provider, of your own to our contract."""

import pytest

# Here, since suites may use them without the plugin; and before they are imported.
_CLAUSES = ("ledger_store", "mail_provider", "signal_clauses", "survival_clauses")
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _CLAUSES))

from pytest_agentmail.contracts.ledger_store import LedgerStoreContract  # noqa: E402
from pytest_agentmail.contracts.mail_provider import MailProviderContract  # noqa: E402

__all__ = ["LedgerStoreContract", "MailProviderContract"]
