"""New: the mail is sent, received, and its link followed. Two fixtures are all it takes."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("agentmail_django")]


def test_the_mailed_link_activates_the_user(client, mailbox):
    client.post(reverse("sign-up"), {"email": mailbox.address})

    message = mailbox.wait(subject="Confirm your account")
    print(f"found: {message.subject!r} from {message.sender}, link {message.link}")

    assert client.get(message.link).content == b"confirmed"
    assert User.objects.get(email=mailbox.address).is_active
