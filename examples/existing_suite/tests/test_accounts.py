"""The suite as it was."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

pytestmark = pytest.mark.django_db


def test_signing_up_makes_an_inactive_user(client):
    reply = client.post(reverse("sign-up"), {"email": "ada@example.org"})

    assert reply.status_code == 202
    assert not User.objects.get(email="ada@example.org").is_active


def test_signing_up_sends_a_mail(client, mailoutbox):
    client.post(reverse("sign-up"), {"email": "ada@example.org"})

    [mail] = mailoutbox
    assert mail.subject == "Confirm your account"
    assert mail.to == ["ada@example.org"]


def test_a_forged_link_is_refused(client):
    assert client.get(reverse("confirm", args=["forged"])).status_code == 400
