"""How the network cuts the bytes changes nothing (B7)."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentmail.mail.smtp.framing import Framing

# Nearly every byte matters to framing.
texts = st.lists(st.sampled_from([b"\r\n", b"\r", b"\n", b".", b"..", b"a", b"\0", b"\xff"])).map(
    b"".join
)


@st.composite
def cuts(draw, wire):
    places = sorted(draw(st.sets(st.integers(1, max(1, len(wire) - 1)))))
    edges = [0, *(place for place in places if place < len(wire)), len(wire)]
    return [wire[start:end] for start, end in pairwise(edges)]


def stuffed(mail):
    return (b"\r\n" + mail).replace(b"\r\n.", b"\r\n..")[2:]


@given(st.data(), st.lists(texts, min_size=1, max_size=4))
def test_every_mail_comes_back_as_it_was_sent(data, mails):
    """What a client stuffs, whatever it says, comes back byte for byte, and the next line too."""
    mails = [mail + b"\r\n" for mail in mails]
    wire = b"".join(stuffed(mail) + b".\r\nNOOP\r\n" for mail in mails)
    framing, got, ask = Framing(10_000), [], "mail"
    for piece in data.draw(cuts(wire)):
        framing.feed(piece)
        while (item := getattr(framing, ask)()) is not None:
            got.append(item)
            ask = "line" if ask == "mail" else "mail"
    assert got == [item for mail in mails for item in (mail, b"NOOP")]
    # Asked for the next mail, it has put the line end of a DATA command before it.
    assert len(framing) == 2


@given(st.data(), texts)
def test_lines_are_the_same_however_they_are_cut(data, wire):
    framing, got = Framing(10), []
    for piece in data.draw(cuts(wire)):
        framing.feed(piece)
        while (line := framing.line()) is not None:
            got.append(line)
    assert got == [line.rstrip(b"\r\n") for line in wire.split(b"\n")[:-1]]


@given(st.data(), texts)
def test_only_crlf_dot_crlf_ends_a_mail(data, mail):
    framing, got = Framing(10_000), []
    for piece in data.draw(cuts(mail)):
        framing.feed(piece)
        got.append(framing.mail())
        if got[-1] is not None:
            break
    ended = any(item is not None for item in got)
    assert ended == (b"\r\n.\r\n" in b"\r\n" + mail)
