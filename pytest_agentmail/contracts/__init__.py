"""Test classes to subclass: they hold a provider of your own to the contract of ours."""

from pytest_agentmail.contracts.mail_provider import MailProviderContract

__all__ = ["MailProviderContract"]
