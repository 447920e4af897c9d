"""The words by which people tell a code from other numbers, and the right link from others.

Words are separated by `|`. A `*` at an end stands for any letters (inflections, compounds). A blank
stands for blanks or hyphens. Case, zero-width characters and half-width forms do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Language"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The words of one language.

    Attributes:
        code: Names of what is wanted ("verification code").
        figures: What it is made of ("digits"); a weaker sign than its name.
        act: What one does with it ("enter").
        fresh: Says that a code is the one that counts now ("new code").
        old: Stands before a code that no longer counts ("previous code").
        over: Stands after a code that no longer counts ("has expired").
        other: Codes of another sort ("error code", "postcode").
        promo: Codes that buy something ("voucher").
        phone: Stands by a telephone number.
        order: Stands by the number of an order, bill, parcel or booking.
        reference: Stands by any other number ("customer number", "case").
        price: Stands by an amount.
        place: Stands by a number of an address.
        unit: Stands after a number that counts something ("minutes").
        confirm: What a link says that goes on ("confirm").
        deny: What a link says that stops or undoes it ("this was not me").
        leave: What a link says that ends or changes a subscription.
        aside: What other links say (help, terms, contact, shop).
        watchword: Names of a password that a mail may give.
        wrote: Ends the line above a quoted mail ("wrote").
        original: Stands between lines above a quoted mail ("original message").
        forwarded: Stands above a mail that is passed on, or begins its subject ("fwd").
        reply: Begins the subject of an answer ("re").
        sent_by: Begins the line that names who a quoted mail is from ("from").
        about: Begins the line with the subject of a quoted mail ("subject").
    """

    code: str
    figures: str = ""
    act: str = ""
    fresh: str = ""
    old: str = ""
    over: str = ""
    other: str = ""
    promo: str = ""
    phone: str = ""
    order: str = ""
    reference: str = ""
    price: str = ""
    place: str = ""
    unit: str = ""
    confirm: str = ""
    deny: str = ""
    leave: str = ""
    aside: str = ""
    watchword: str = ""
    wrote: str = ""
    original: str = ""
    forwarded: str = ""
    reply: str = ""
    sent_by: str = ""
    about: str = ""
