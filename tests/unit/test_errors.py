"""Errors say what is the matter, and cross from one process to another."""

from __future__ import annotations

import inspect
import pickle

import pytest

from pytest_agentmail import errors

MADE = {
    "StaleVersion": errors.StaleVersion(3, 5),
    "IllegalTransition": errors.IllegalTransition("leased", "code_verified", ["lease_expired"]),
    "AmbiguousMail": errors.AmbiguousMail("code", ["1234", "9876"]),
    "ProviderError": errors.ProviderError("429", 2.0, "slow down"),
}


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_survives_pickle(name):
    error = MADE.get(name) or getattr(errors, name)("a text")

    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))


def test_all_lists_every_error():
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    }
    assert set(errors.__all__) == defined
    assert errors.__all__ == sorted(errors.__all__)


@pytest.mark.parametrize("name", errors.__all__)
def test_the_tree_in_the_docstring_has_every_error(name):
    assert f"── {name}" in errors.__doc__ or f"\n{name}" in errors.__doc__


def test_agent_killed_passes_except_exception():
    assert not issubclass(errors.AgentKilled, Exception)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            MADE["StaleVersion"],
            "expected version 3, but the current one is 5; read the state again and decide anew",
        ),
        (
            MADE["IllegalTransition"],
            "'code_verified' cannot happen in state 'leased'; allowed: lease_expired",
        ),
        (
            errors.IllegalTransition("verified", "lease_expired"),
            "'lease_expired' cannot happen in state 'verified'; allowed: nothing more",
        ),
        (
            MADE["AmbiguousMail"],
            "the mail holds 2 equally good codes: '1234', '9876'; "
            "`message.codes` gives them all, best first",
        ),
        (
            MADE["ProviderError"],
            "the mail provider failed with 429, asks to wait 2 s, says 'slow down'",
        ),
        (errors.ProviderError("503"), "the mail provider failed with 503"),
    ],
)
def test_texts(error, text):
    assert str(error) == text
