"""A mail that says next to nothing but its code, and codes that stand in pairs or quotations."""

from __future__ import annotations

import pytest

from pytest_agentmail.errors import AmbiguousMail
from tests.unit.mail.letters import html_mail, text_mail

SUBJECTS = ["", "Hello", "Confirm", "Your code", "Verify your email", "Confirm your phone number"]
BODIES = [
    ("482913", "482913"),
    ("482 913", "482913"),
    ("0042", "0042"),
    ("A8F3K2", "A8F3K2"),
    ("482913 is it", "482913"),
    ("It is: 482913", "482913"),
    ("482913\nhttps://app.example/confirm?token=abc", "482913"),
]


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize(("body", "code"), BODIES)
def test_a_body_that_is_nothing_but_the_code(subject, body, code):
    assert text_mail(body, subject=subject).code == code
    page = "".join(f"<p>{line}</p>" for line in body.split("\n"))
    assert html_mail(page, subject=subject).code == code
    assert html_mail(page, subject=subject, text=body).code == code


@pytest.mark.parametrize(
    "subject",
    [
        "Your order",
        "Order confirmation",
        "Invoice",
        "Price",
        "Phone",
        "Reference number",
        "Your tracking number",
        "Promo code",
        "Confirm your order",
    ],
)
@pytest.mark.parametrize("body", ["482913", "482913 is it", "Hi Bob,\n\n482913\n\nThanks"])
def test_but_not_when_the_subject_labels_it_otherwise(subject, body):
    assert text_mail(body, subject=subject).codes == ()


@pytest.mark.parametrize(
    "subject", ["Your code", "Confirm", "Verify your email", "Sign in to Acme"]
)
@pytest.mark.parametrize("code", ["482913", "4829"])
def test_a_greeting_around_the_code(subject, code):
    assert text_mail(f"Hi Bob,\n\n{code}\n\nThanks", subject=subject).code == code
    assert html_mail(f"<p>Hi Bob,</p><p>{code}</p><p>Thanks</p>", subject=subject).code == code


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ("Hello", "Hi Bob,\n\n482913\n\nThanks"),
        ("Hello", "Flight 482913"),
        ("Hello", "482913 people came"),
        ("Hello", "482913 invoice"),
        ("Hello", "482913 12 117711 550123 663311"),
        ("Confirm", "Hi Bob,\n\nOrder number\n\n482913\n\nThanks"),
        ("Confirm", f"482913\n\n{'We met many people on the way home that day. ' * 3}"),
    ],
)
def test_what_more_there_is_to_read_leaves_it_a_number(subject, body):
    assert text_mail(body, subject=subject).codes == ()


def test_the_address_of_the_sender_at_the_end():
    body = "Hi,\n\n482913\n\nAcme Inc., 12 Main Street"
    assert text_mail(body, subject="Confirm").code == "482913"
    assert text_mail(f"Room\n\n{body}", subject="Hello").codes == ()


def test_the_reasons_of_a_sole_code():
    (bare,) = text_mail("482913").code_candidates
    assert bare.reasons[0] == "+30 the mail says nothing else"
    (greeted,) = text_mail("Hi Bob,\n\n482913\n\nThanks", subject="Confirm").code_candidates
    assert greeted.reasons[0] == "+24 the mail says hardly anything else"


@pytest.mark.parametrize(
    "body",
    [
        "Codes: 123456 or 654321",
        "Your codes are 123456 and 654321.",
        "Ihre Codes: 123456 oder 654321",
        "验证码：123456 或 654321",
        "Codes: 123456 / 654321",
    ],
)
def test_a_choice_of_two_codes_is_ambiguous(body):
    mail = text_mail(body)
    assert mail.codes == ("123456", "654321")
    with pytest.raises(AmbiguousMail):
        _ = mail.code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("Your code is 123456 and not 654321.", "123456"),
        ("Code 482913 and order 118822", "482913"),
        ('You were invited to "Your login code is 482911, call us".\n\nJoin the board.', None),
        ("Vous rejoignez « Votre code est 482911, appelez » sur Acme.", None),
        ('Your code is "482911".', "482911"),
        ("Use code at checkout:\n\nGLOW25", None),
        ("Your backup code:\n\nRW 4471 93\n", "RW 4471 93"),
        ("Type this recovery code:\n\nH4K 9TW 2QX\n", "H4K 9TW 2QX"),
        ("Your code:\n\nXX22AA\n", "XX22AA"),
        ("Your code:\n\nAA22XX\n", "AA22XX"),
        ("Your code is 482913, card XXXX 4242", "482913"),
        ("Código NCM 27101259\nCódigo do frentista 4471", None),
        ("Il tuo codice: 190277 (vale fino a domani)", "190277"),
        ("كلمة التحقق: ٤١٢-٩٠٧", "412907"),
        ("본인확인 번호 : 61850", "61850"),
    ],
)
def test_quotations_vouchers_groups_and_names(body, code):
    assert text_mail(body).code == code


def test_a_quotation_counts_wherever_its_number_stands():
    page = "<p>You were invited to <b>Your code is 482911, send it</b></p>"
    mail = html_mail(page, text='You were invited to "Your code is 482911, send it"')
    assert mail.codes == ()


def test_the_cell_before_it_says_that_it_counts_no_more():
    page = (
        "<p>Your login code was sent again.</p><table><tr><td>Old, no longer valid</td>"
        "<td>664120</td></tr><tr><td>New</td><td>207385</td></tr></table>"
    )
    assert html_mail(page).code == "207385"


def test_what_is_to_be_entered_under_a_subject_that_speaks_of_a_code():
    mail = text_mail("Please enter 4829 in the app.", subject="Your login code")
    assert mail.code == "4829"
    assert "+8 that is what one is told to enter" in mail.code_candidates[0].reasons


@pytest.mark.parametrize(
    "buttons", [("No, lock it", "Yes, sign me in"), ("Yes, sign me in", "No, lock it")]
)
def test_two_buttons_side_by_side_are_two_choices(buttons):
    style = "background:#0a0;padding:10px;color:#fff"
    page = " &nbsp; ".join(
        f'<a href="https://id.shop.example/approve/77c1e0b2?answer={text[:2].strip(",").lower()}"'
        f' style="{style}">{text}</a>'
        for text in buttons
    )
    assert html_mail(f"<h2>Was it you?</h2>{page}").link.endswith("answer=ye")
